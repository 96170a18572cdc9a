"""Poisson regression with differential privacy."""

from typing import ClassVar

import numpy as np

from dpsk._data.targets import check_target_bounds
from dpsk._objective.losses import CappedPoisson
from dpsk.linear_model._regressor import LinearRegressor

__all__ = ["DPPoissonRegressor"]


class DPPoissonRegressor(LinearRegressor):
    r"""Poisson regression with a log link, trained with differential privacy.

    Targets are clipped to public bounds and divided by the upper one, `B`; it minimises half
    the Poisson deviance of ``exp(x' w + b)``, made linear once the prediction exceeds the target
    by `B`, under noise. Predictions are on the scale of the targets.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee. None: ``1 / n**2``. 0 asks for pure epsilon.
    target_bounds : (float, float), default=(0.0, 1.0)
        Public bounds of the targets, which are clipped to them. A constant by default,
        never read from the data; the lower one at least 0.
    alpha : float, default=0.0
        Strength of the penalty beside the **mean** loss.
    penalty : {"l2", "l1", "elasticnet", "l2_ball", "l1_ball", "box", "simplex"}, default="l2"
        The last four are sets and ignore `alpha`: coefficients have norm, or size each, at most
        `radius`, or are not negative and sum to it.
    l1_ratio : float in [0, 1], default=0.5
        Share of l1 in ``penalty="elasticnet"``.
    radius : float or None, default=None
        Radius of a ball; needed exactly there.
    solver : {"auto", "gd", "sgd", "svrg", "svrgpp", "accmd", "frank_wolfe", "rrpsgd", "stgd",
            "minibatch_stgd", "last_iterate", "output_perturbation", "objective_perturbation"},
            default="auto"
        "auto" takes the one whose excess risk, predicted from public numbers, is least: "gd"
        without a penalty; with an l2 penalty one of "last_iterate" and the perturbations, or
        "gd" under heavy noise; inside a set "gd", or "frank_wolfe" on an l1 ball; and at
        ``delta=0`` outside of sets "objective_perturbation".
    precondition : {"auto", True, False}, default="auto"
        Whether a fifth of the budget goes to a noisy second moment of the rows, which then
        whitens them. "auto": for dense rows of at most 2000 features, delta > 0, and no
        penalty, as `alpha` and sets speak of the coefficients of the rows as they are; and
        where ``n_features + 1 < n mu``.
    max_iter, learning_rate, batch_size, clip_norm : number or None, default=None
        None: chosen by a rule that looks at public numbers only, given with each solver.
        ``clip_norm=inf`` clips nothing, as the loss itself bounds the gradient.
    data_norm : float, default=1.0
        Rows of greater l2 norm are scaled down to it, in training and in prediction.
    data_norm_inf : float or None, default=None
        Entries of the scaled rows beyond +- it are clipped, in training and in prediction.
        Solvers "accmd" and "frank_wolfe" gain from a small bound. None: `data_norm`.
    fit_intercept : bool, default=True
    solver_options : dict or None, default=None
        Further options of the solver, its dataclass fields: for "gd" ``accelerate`` and
        ``iterate``.
    random_state : int or None, default=None
        None: operating-system entropy, fresh in every fit. An int repeats the same noise for
        the same data and parameters, for tests; the guarantee is void if it can be guessed.
    verbose : int, default=0
        1 prints the plan, which is public.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    offset_ : float
        Logarithm of the upper target bound where rows were whitened, added last to the raw
        prediction; else 0, as the intercept holds it.
    preconditioner_ : ndarray or None
        The released matrix P of shape (n_features + 1, n_features + 1), the last row for the
        constant; one less without intercept. None where rows were not whitened.
    n_iter_ : int
        The planned number of steps, with random rounds or a random iterate the drawn one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    privacy_ : Certificate
        The guarantee, and everything it rests on.

    Raises
    ------
    ValueError
        For a parameter out of range, a solver whose needs are not met, or rows that are not
        finite; always before any noise is drawn.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: a noisy second moment where
    rows are whitened, then what the solver's plan holds: noisy gradients, differences or moments,
    noisy coefficients, or choices made under noise; and what follows from them. The
    number of rows and features and all parameters are public.

    The logarithm of ``predict(X)`` is linear in the rows *after* they are scaled to
    `data_norm`: with ``r`` the scaled row, its value is ``r' coef_ + intercept_``, divided by
    ``max(1, ||P (r, 1)||)`` where ``preconditioner_`` is a matrix P, plus ``offset_``.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Zhang, Zheng, Mou, Wang (2017), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPPoissonRegressor
    >>> X = np.linspace(-1, 1, 500)[:, None]
    >>> y = np.round(np.exp(1 + X[:, 0]))
    >>> model = DPPoissonRegressor(epsilon=2.0, target_bounds=(0, 20), random_state=0)
    >>> bool((model.fit(X, y).predict(X) > 0).all())
    True
    """

    _default_bounds = (0.0, 1.0)
    _constraints: ClassVar[dict] = {
        **LinearRegressor._constraints,
        "target_bounds": lambda name, value: check_target_bounds(value, (0.0, 1.0), 0.0)}

    def __init__(self, epsilon=1.0, *, delta=None, target_bounds=(0.0, 1.0),
                 alpha=0.0, penalty="l2", l1_ratio=0.5, radius=None, solver="auto",
                 precondition="auto", max_iter=None, learning_rate=None, batch_size=None,
                 clip_norm=None, data_norm=1.0, data_norm_inf=None, fit_intercept=True,
                 solver_options=None, random_state=None, verbose=0):
        self._store(locals())

    def _loss(self):
        return CappedPoisson()

    def _mapped(self, y, low, high):
        return y / high

    def _unmapped(self, coef, intercept, low, high):
        return coef, float(intercept), float(np.log(high))

    def predict(self, X):
        """Return predicted means of the targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        means : ndarray of shape (n,)
        """
        return np.exp(super().predict(X))
