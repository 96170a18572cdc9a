"""Regression by a multilayer perceptron with differential privacy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.targets import centered, clipped_targets, middle_of
from dpsk._defaults.budgets import FEW_ROWS_FACTOR
from dpsk._docs import documented
from dpsk._mixins import LEARNT_TARGETS, BoundedRegressor
from dpsk._objective.losses import Huber, Squared
from dpsk._parameters import choice
from dpsk._problem import Budget
from dpsk._stages import TargetMean, TargetScaling
from dpsk._stages.bounds_about_mean import BoundsAboutMean
from dpsk.neural_network._base import NetworkEstimator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["DPMLPRegressor"]


@documented
class DPMLPRegressor(BoundedRegressor, NetworkEstimator):
    r"""Multilayer perceptron regressor trained with differential privacy.

    Minimizes, under noise,

    .. math:: \frac1n \sum_i \ell(\tilde y_i, f_\theta(x_i)) + \frac{\alpha}{2} \|W\|_2^2

    with targets clipped to bounds and mapped to [-1, 1]; `f` are fully connected layers
    with weights `W`. Every row's gradient is clipped, so rows need no bound.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s %(target_bounds_network)s %(hidden_layer_sizes)s %(activation)s
    loss : {"squared_error", "huber"}, default="squared_error"
    threshold : float, default=0.1
        Threshold of the Huber loss, on mapped targets.
    %(alpha)s
        Strength of an l2 penalty on the weights.
    %(solver_network)s %(precondition_network)s %(max_iter)s
        See Notes.
    %(data_norm_network)s
    %(solver_options_network)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coefs_)s %(intercepts_)s %(linear_coef_)s %(center_)s %(feature_scales_)s
    %(preconditioner__network)s
    %(data_norm__network)s
    %(target_bounds_)s
    offset_ : float
        Midpoint of `target_bounds_`. A prediction is the raw prediction, clipped to [-1, 1], times
        `scale_`, plus `offset_`.
    scale_ : float
        Half the width of `target_bounds_`.
    %(n_layers_)s %(n_outputs_)s %(out_activation_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    DPMLPClassifier : For classes.
    DPRidge : Linear predictions, which need fewer rows.
    sklearn.neural_network.MLPRegressor : Without privacy.

    Notes
    -----
    %(privacy_network)s

    *Defaults.* As for `DPMLPClassifier`, with a learning rate of 1 over the clip norm. On whitened
    rows the sum of learning rates is ``300 (n mu / 6000)**1.5`` over the clip norm, in as many
    steps. Most gradients are clipped, so the squared loss acts like one with linear tails. Few
    rows are scaled down as there, and predictions about the noisy mean of targets are multiplied
    by 0.25 if n mu is below 10.

    References
    ----------
    Abadi et al. (2016), Algorithm 1; Goodfellow (2015) for the norms of per-sample gradients.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPMLPRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPMLPRegressor(epsilon=8.0, target_bounds=(25, 350), random_state=0)
    >>> model.fit(10 * X, y).predict(10 * X[:3]).shape
    (3,)
    >>> model.privacy_.delta == 1 / len(y)**2
    True
    """

    _constraints: ClassVar[dict] = {**NetworkEstimator._constraints, **LEARNT_TARGETS,
                                    "loss": choice("squared_error", "huber")}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto",
                 hidden_layer_sizes: int | Sequence[int] = (128,), activation: str = "relu",
                 loss: str = "squared_error", threshold: float = 0.1, alpha: float = 0.0,
                 solver: str = "auto", precondition: str | bool = "auto",
                 max_iter: int | None = None, learning_rate: float | None = None,
                 batch_size: float | None = None, clip_norm: float | None = None,
                 data_norm: float | str | None = None,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.loss = loss
        self.threshold = threshold
        self.alpha = alpha
        self.solver = solver
        self.precondition = precondition
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.data_norm = data_norm
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Table, y: Table | None = None, sample_weight: ArrayLike | None = None, *,
            groups: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_network)s %(y_targets)s %(sample_weight)s %(groups)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows = self._read_rows(X, y, sample_weight, groups)
        bounds = self._declared_bounds(rows)
        # Learnt bounds are already tight, so they need no TargetScaling; its quantiles are
        # row-level, so it is not used with groups.
        learning = [] if bounds else [BoundsAboutMean(centered, np.float32)]
        scaling = [TargetScaling()] if bounds and rows.groups is None else []
        # With few rows the bounds leave too little budget for other releases.
        facts = self._facts(rows)
        rest = facts.delta == 0 or all(stage.leaves_rest(facts) for stage in learning)
        if bounds:
            rows = rows.with_targets(partial(clipped_targets, centered, bounds, np.float32))
        self._fit_layers(rows, self._loss(), None, free_weights=rows.is_weighted,
                         first=learning, maps_rows=rest, stages=[*scaling, TargetMean()],
                         factor=1.0 if rest else FEW_ROWS_FACTOR**2,
                         enforced=[self._target_bound(bounds)] if bounds else [],
                         public=self._weight_facts(sample_weight))
        if bounds:
            self.target_bounds_ = bounds
        self.offset_, self.scale_ = middle_of(*self.target_bounds_)
        self.out_activation_ = "identity"
        return self

    def _facts(self, rows):
        return Budget(rows.n_units, rows.n_features + 1, *self._budget(rows.n_units))

    @blockwise
    @quietly
    def predict(self, X: Table) -> AnyArray:
        """Return predicted targets.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        targets : ndarray of shape (n,)
            Within `target_bounds_`.
        """
        raw = self._predict_raw(X)
        found = np.clip(raw, -1.0, 1.0, dtype=np.float64) * self.scale_ + self.offset_
        return found.astype(raw.dtype, copy=False)

    def _loss(self):
        return Huber(float(self.threshold)) if self.loss == "huber" else Squared()
