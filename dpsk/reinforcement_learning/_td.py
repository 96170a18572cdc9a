"""Policy evaluation by temporal differences, with differential privacy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.norms import row_norms
from dpsk._data.source import Rows
from dpsk._data.validation import check_prediction_rows
from dpsk._defaults.values import BANDWIDTH, feature_count, values_solver
from dpsk._docs import documented
from dpsk._estimator import DPEstimator
from dpsk._models.states import LinearValues, NetworkValues
from dpsk._objective.penalties import PENALTIES
from dpsk._objective.saddle.projected_bellman import ProjectedBellman
from dpsk._parameters import (
    PARAMETER_CONSTRAINTS,
    check_integer,
    check_layers,
    check_learnt,
    choice,
    number,
    optional,
)
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.noise.public import public_normals
from dpsk._problem import Problem
from dpsk._solvers import VALUE_SOLVERS
from dpsk._stages.bounds import StateNormBound, can_learn, norm_rule
from dpsk.reinforcement_learning._distillation import distilled
from dpsk.reinforcement_learning._statements import public_lines, state_lines
from dpsk.reinforcement_learning._transitions import (
    check_reward_bounds,
    check_state_bounds,
    check_transitions,
    column_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray

__all__ = ["DPTDRegressor"]

#: Bound on state norms if it cannot be learnt.
_PLAIN_NORM = 1.0


def check_one_layer(name, value):
    """Return the width of the single hidden layer, or raise a ValueError."""
    sizes = check_layers(name, value)
    if len(sizes) != 1:
        raise ValueError(f"{name}={value!r}: must hold one width, such as (50,): values come from "
                         "one hidden layer.")
    return sizes[0]


@documented
class DPTDRegressor(RegressorMixin, DPEstimator):
    r"""Private policy evaluation from transitions, by temporal differences.

    Estimates, under noise, the expected discounted sum of rewards from a state,

    .. math:: V(s) = \mathrm{E}\Bigl[\sum_{t \ge 0} \gamma^t r_t \Bigm| s_0 = s\Bigr]
              = \mathrm{E}\bigl[r + \gamma V(s') \bigm| s\bigr],

    from transitions ``(s, r, s')`` of one policy, with `V` linear in fixed features of the
    bounded state, or a network.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    gamma : float in [0, 1), default=0.95
        Discount factor.
    reward_bounds : (float, float) or None, default=None
        Public bounds of the rewards, which are clipped to them. Required.
    state_bounds : array-like of shape (n_features, 2) or (2,), or None, default=None
        Public bounds (low, high) of every column, or of all columns; states are clipped to them.
        None: `data_norm` bounds states.
    data_norm : "auto", None or float, default="auto"
        States of greater l2 norm are scaled down to it, in training and in prediction; ignored
        with `state_bounds`. None: a fiftieth to a tenth of the budget goes to a private quantile
        of the joint norms of a state and its next state; a ValueError with `groups`, or with too
        few transitions. "auto": like None where that is possible, else 1, with a
        `dpsk.exceptions.PrivacyWarning`.
    features : {"fourier", "linear", "network"}, default="fourier"
        "fourier": cosines and sines of random public projections of the bounded state, norm 1.
        "linear": the bounded state itself. A constant is appended to both. "network": one hidden
        layer of tanh units; with "lstd" it is fitted to the values of "fourier" on random public
        states, which costs nothing.
    hidden_layer_sizes : int or sequence of one int, default=(50,)
        Number of units of the network.
    n_components : int or None, default=None
        Number of random features, rounded up to an even number. None: about ``sqrt(n mu)`` with
        the budget's mu, in [8, 512]; 256 without a budget.
    bandwidth : float, default=2.6
        Standard deviation of the random frequencies, for states in the unit ball; larger values
        resolve finer detail.
    solver : {"auto", "lstd", "td", "sgda", "privatediff"}, default="auto"
        "lstd" releases second moments once and solves for the fixed point. "td" takes noisy steps
        along temporal differences. The others solve a saddle-point problem. "auto": "lstd" with
        `groups`, for a network, without noise or for a `gamma` of at most 0.75, else "td".
    %(max_iter)s %(solver_options)s %(random_state)s
        An int also seeds the random features, which otherwise are the same in every fit.
    %(verbose)s

    Attributes
    ----------
    coef_ : ndarray of shape (n_components + 1,) or None
        Coefficients of the features, the constant last. None for a network.
    frequencies_ : ndarray of shape (n_features, n_components / 2) or None
        Public frequencies of the random features; None for linear features and networks.
    coefs_, intercepts_ : list of ndarray, or None
        The two layers of a network.
    %(data_norm_)s
        None with `state_bounds`.
    state_bounds_ : ndarray of shape (n_features, 2) or None
        The declared bounds of the columns.
    value_bounds_ : (float, float)
        Range of the discounted sums of bounded rewards, to which predictions are clipped.
    n_groups_ : int or None
        The public number of groups; None if single transitions are protected.
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    ValueError
        For a parameter out of range, missing `reward_bounds` or `next_states`, arrays of unequal
        lengths, or entries that are not finite; always before any noise is drawn.

    See Also
    --------
    DPRidge : For observed targets.

    Notes
    -----
    *Privacy.* For sets of n transitions that differ in one transition, changed arbitrarily
    (state, reward and next state), the fitted attributes are (epsilon, delta)-differentially
    private. With `groups`, neighbors are sets of G groups that differ in one group, of any length
    before and after, and the total contribution of a group is clipped. Released: a learnt norm,
    then noisy moments or noisy gradients, and values computed from them. The number of
    transitions (or of groups, if given), the number of columns, and all parameters are public.

    Consecutive transitions share a state, so use `groups` if one state or a whole episode can
    identify a person. In pipelines and searches ``next_states``, ``terminal`` and ``groups`` are
    passed by metadata routing, after
    ``set_fit_request(next_states=True, terminal=True, groups=True)``. Steps of a pipeline
    transform states but not next states, so use no step before this one that changes states.

    References
    ----------
    Bradtke and Barto (1996), section 5; Rahimi and Recht (2007); Zhang, Lei, Ding, Xiang, Xu, Wang
    (2025), section 9.3.

    Examples
    --------
    A walk on a line that ends at 1, where each step costs 1:

    >>> import numpy as np
    >>> from dpsk import DPTDRegressor
    >>> states = np.linspace(0.0, 1.0, 5000, endpoint=False)[:, None]
    >>> next_states = states + 0.2
    >>> model = DPTDRegressor(epsilon=1.0, gamma=0.9, reward_bounds=(-1, 0),
    ...                       state_bounds=(0, 1), random_state=0)
    >>> model = model.fit(states, -np.ones(5000), next_states=next_states,
    ...                   terminal=next_states[:, 0] > 1.0)
    >>> near, far = model.predict([[0.9], [0.1]])
    >>> bool(far < near < 0)
    True
    """

    _solvers: ClassVar[dict] = VALUE_SOLVERS
    _constraints: ClassVar[dict] = {
        **DPEstimator._constraints,
        "bandwidth": number("a number in [1e-3, 1e3]", low=1e-3, high=1e3),
        "data_norm": check_learnt(PARAMETER_CONSTRAINTS["data_norm"]),
        "features": choice("fourier", "linear", "network"),
        "gamma": number("a number in [0, 1)", low=0, high=1, open_high=True),
        "hidden_layer_sizes": check_one_layer,
        "n_components": optional(partial(check_integer, low=1, high=10_000,
                                         remedy="None, or an int in [1, 10000]")),
        "reward_bounds": check_reward_bounds,
        "state_bounds": check_state_bounds}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, gamma: float = 0.95,
                 reward_bounds: tuple[float, float] | None = None,
                 state_bounds: ArrayLike | None = None, data_norm: float | str = "auto",
                 features: str = "fourier", hidden_layer_sizes: int | Sequence[int] = (50,),
                 n_components: int | None = None, bandwidth: float = BANDWIDTH,
                 solver: str = "auto", max_iter: int | None = None,
                 learning_rate: float | None = None, batch_size: float | None = None,
                 clip_norm: float | None = None, solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.gamma = gamma
        self.reward_bounds = reward_bounds
        self.state_bounds = state_bounds
        self.data_norm = data_norm
        self.features = features
        self.hidden_layer_sizes = hidden_layer_sizes
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.solver = solver
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # It predicts values, not the rewards that it is fitted on.
        tags.regressor_tags.poor_score = True
        tags.input_tags.sparse = False
        return tags

    @private_fit
    def fit(self, states: Any, rewards: Any, *, next_states: Any = None,
            terminal: ArrayLike | None = None, groups: Any = None) -> Self:
        """Fit values under the declared budget.

        Parameters
        ----------
        states : array-like of shape (n, n_features)
            Finite numbers.
        rewards : array-like of shape (n,)
            Clipped to `reward_bounds`.
        next_states : array-like of shape (n, n_features)
            State after each transition; required. At the end of an episode any finite numbers.
        terminal : array-like of shape (n,) of bool or None, default=None
            Whether the episode ends with the transition, so that no value follows. None: never.
            A truncated episode has not ended.
        groups : array-like of shape (n,) or None, default=None
            The trajectory or person of every transition, which is then the unit of privacy. None:
            the unit of privacy is one transition.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        states, next_states, rewards, alive, groups = check_transitions(
            self, states, rewards, next_states, terminal, groups)
        low, high = check_reward_bounds("reward_bounds", self.reward_bounds)
        unit = max(abs(low), abs(high))
        targets = np.column_stack([np.clip(rewards, low, high) / unit, alive])
        n_groups = None if groups is None else groups.count
        problem = self._problem(states, next_states, n_groups)
        bound = [StateNormBound(problem.model)] if self._learns_norm(problem) else []
        theta, _ = self._solve(
            problem, self._solver_name(n_groups),
            Rows(np.hstack([states, next_states]), targets, groups=groups), stages=bound,
            enforced=[*state_lines(problem.model, self.data_norm, bool(bound)), Enforced(
                "reward_bounds", [low, high], "declared", "rewards outside are clipped")],
            public=public_lines(n_groups),
            released=["coefs_", "intercepts_"] if self.features == "network" else ["coef_"])
        if not bound:
            self.data_norm_ = None if self.state_bounds is not None else problem.model.data_norm
        self.state_bounds_, self.n_groups_ = problem.model.bounds, n_groups
        # After the end of an episode no reward follows.
        horizon = 1.0 / (1.0 - self.gamma)
        self.value_bounds_ = horizon * min(low, 0.0), horizon * max(high, 0.0)
        self._keep(problem.model, theta, unit)
        return self

    def _check_table(self, X, y):
        """Pass: a table alone holds no transitions, and `fit` says so."""

    def _keep(self, model, theta, unit):
        """Set the fitted attributes; `theta` is for rewards divided by `unit`."""
        self.coef_ = self.frequencies_ = self.coefs_ = self.intercepts_ = None
        if self.features != "network":
            self.coef_, self.frequencies_ = unit * theta, model.frequencies
            return
        network = model
        if model.is_linear:
            network = self._network(model.n_features, model.bounds, self.data_norm_)
            model = replace(model, unit=1.0, data_norm=self.data_norm_ or 1.0)
            theta = distilled(network, model, theta, self._public_seed())
        weights, biases, outer, constant = network.parts(theta)
        self.coefs_ = [weights.copy(), unit * outer[:, None] / np.sqrt(len(outer))]
        self.intercepts_ = [biases.copy(), unit * np.array([constant])]

    @quietly
    def predict(self, states: Any) -> AnyArray:
        """Return the state values, clipped to the range of possible returns.

        Parameters
        ----------
        states : array-like of shape (n, n_features)
            Finite numbers.

        Returns
        -------
        values : ndarray of shape (n,)
            State values, in units of the rewards.
        """
        return self._bounded_values(states)

    @blockwise
    def _bounded_values(self, states):
        check_is_fitted(self, "privacy_")
        states = check_prediction_rows(self, states, dtype=np.float64)
        return np.clip(self._fitted_values(states), *self.value_bounds_)

    def _fitted_values(self, states):
        """Return the values of validated states, without clipping."""
        facts = states.shape[1], self.state_bounds_, self.data_norm_ or 1.0
        if self.coefs_ is None:
            model = LinearValues(*facts, frequencies=self.frequencies_)
            return model.values(self.coef_, states)
        width = len(self.coefs_[1])
        theta = np.concatenate([np.ravel(part) for part in (
            self.coefs_[0], self.intercepts_[0], np.sqrt(width) * self.coefs_[1],
            self.intercepts_[1])])
        return NetworkValues(*facts, width=width).values(theta, states)

    def _solver_name(self, n_groups):
        if self.solver != "auto":
            return self.solver
        plain = n_groups is None and self.features != "network" and self.epsilon != np.inf
        return values_solver(self.gamma, plain)

    def _problem(self, states, next_states, n_groups):
        """Return the problem of these transitions; with noise it uses public facts only."""
        count, width = states.shape
        n_units = n_groups or count
        epsilon, delta = self._budget(n_units)
        norm = self.data_norm
        if norm in ("auto", None):
            norm = _PLAIN_NORM
            if epsilon == np.inf:
                # Without noise no bound is needed, so this one exceeds all states.
                norm = 1.001 * float(row_norms(np.hstack([states, next_states])).max() or 1.0)
        name = self._solver_name(n_groups)
        kind = self._solver_class(name)
        bounds = column_bounds(check_state_bounds("state_bounds", self.state_bounds), width)
        if self.features == "network" and kind.takes_networks:
            model = self._network(width, bounds, float(norm))
        else:
            mu = gaussian_mu(epsilon, delta) if delta > 0 else epsilon
            model = LinearValues(width, bounds, float(norm),
                                 frequencies=self._frequencies(width, n_units, mu))
        loss = ProjectedBellman(float(self.gamma), model.dimension, n_groups is not None,
                                kind.minimax)
        return Problem(n_samples=n_units, model=model, loss=loss, epsilon=epsilon, delta=delta,
                       penalty=PENALTIES["l2"](alpha=0.0, l1_ratio=0.0, radius=None,
                                               unpenalized=0))

    def _frequencies(self, width, n_units, mu):
        """Return public frequencies, or None for linear features."""
        if self.features == "linear":
            return None
        half = -(-(self.n_components or feature_count(n_units, mu)) // 2)
        return float(self.bandwidth) * public_normals("features", self._public_seed(),
                                                      (width, half))

    def _public_seed(self):
        """Return the seed of the public randomness."""
        seed = self.random_state
        return int(seed) if isinstance(seed, (int, np.integer)) else 0

    def _network(self, n_features, bounds, data_norm):
        """Return the network with one hidden layer."""
        width = check_one_layer("hidden_layer_sizes", self.hidden_layer_sizes)
        return NetworkValues(n_features, bounds, data_norm or 1.0, width=width)

    def _learns_norm(self, problem):
        """Return whether the bound on state norms is learnt, from public facts."""
        if self.state_bounds is not None or self.data_norm not in ("auto", None) or (
                not problem.is_private):
            return False

        def rule():
            if problem.loss.grouped:
                raise ValueError("data_norm: with groups a bound on states is not learnt; declare "
                                 "state_bounds, or data_norm, such as 1.0.")
            norm_rule(problem, problem.model)

        return can_learn("data_norm", self.data_norm, _PLAIN_NORM, rule)
