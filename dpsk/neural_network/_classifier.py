"""Classification by a multilayer perceptron with differential privacy."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.weights import class_factors
from dpsk._defaults.networks import USUAL_FACTOR, weighted_clip
from dpsk._docs import documented
from dpsk._mixins import Probabilities, ScoreClassifier
from dpsk._objective.losses import Logistic, Multinomial
from dpsk._problem import Budget
from dpsk.neural_network._base import NetworkEstimator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["DPMLPClassifier"]


@documented
class DPMLPClassifier(Probabilities, ScoreClassifier, NetworkEstimator):
    r"""Multilayer perceptron classifier trained with differential privacy.

    Minimizes, under noise,

    .. math:: \frac1n \sum_i \ell(y_i, f_\theta(x_i)) + \frac{\alpha}{2} \|W\|_2^2

    with the logistic loss for two classes and the multinomial one for more; `f` are fully
    connected layers with weights `W`. Every row's gradient is clipped, so rows need no bound.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s %(hidden_layer_sizes)s %(activation)s %(alpha)s
        Strength of an l2 penalty on the weights.
    %(solver_network)s %(precondition_network)s %(max_iter)s
        See Notes.
    %(data_norm_network)s %(class_weight)s %(classes)s
    %(solver_options_network)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coefs_)s %(intercepts_)s %(linear_coef_)s %(center_)s %(feature_scales_)s
    %(preconditioner__network)s
    %(data_norm__network)s
    %(classes_)s %(n_layers_)s %(n_outputs_)s %(out_activation_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPMLPRegressor : For numbers.
    DPLogisticRegression : Linear scores, which need fewer rows.
    sklearn.neural_network.MLPClassifier : Without privacy.

    Notes
    -----
    %(privacy_network)s

    *Defaults.* Let d be the number of weights and mu the budget. The clip norm is 1. With
    `class_weight` it is n mu / 250 within 1 and 10, at most the ratio of weights. There are
    ``6 n mu / sqrt(d)`` steps, within [30, 2000], of learning rate 8 over the clip norm; the rate
    is lower with more steps than that, and with a strong `alpha`.
    "sgd" uses batches of n / 15 rows within [256, 8192], momentum 0.7 and a linearly decreasing
    learning rate; "gd" uses half that rate and "rrpsgd" a quarter. On whitened rows the sum of
    learning rates is ``1150 (n mu / 6000)**0.85`` over the clip norm, and up to six times that
    for small networks, in an eighth as many steps within [60, 1000]. There "sgd" uses batches of
    n / 4 rows, or smaller ones with more steps, and averages the last half of the iterates.
    Training is in single precision, prediction in double.

    *Linear path.* Whitened rows of p columns also enter the output directly, through their own
    weights. The output of the hidden layers is multiplied by
    ``min(1, n mu / min(20000, 20 (p + 1)^2))``, so the model is close to linear if hidden layers
    would learn only noise. `alpha` then penalizes the weights on whitened rows.

    *Class weights.* Logarithms of `class_weight` are added to the scores of the fit without
    weights, as clipped gradients would undo larger weights.

    *Probabilities.* Clipping makes scores overconfident. Scores of two classes are therefore
    multiplied by 0.65 if `clip_norm` has its default; decisions and ranks do not change.

    *Few rows.* If n mu is below ``n_features + 1``, or below 65 with more than 200 features, rows
    are not whitened and a network would mostly learn noise, the more so the longer the rows.
    Unless `precondition` or `data_norm` is given, rows are then scaled down to norm 1, in training
    and in prediction, and scores are multiplied by 0.25 if `clip_norm` is not given. The factor of
    0.25 also applies if n mu is below 40.

    *Layers.* In rectified layers of 16 or more units, the mean over the units is subtracted
    before the next layer, so the columns of its weights have mean 0.

    References
    ----------
    Abadi et al. (2016), Algorithm 1; Goodfellow (2015) for the norms of per-sample gradients.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPMLPClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPMLPClassifier(epsilon=8.0, classes=range(10), random_state=0)
    >>> model.fit(X / 16, y).predict_proba(X[:2] / 16).shape
    (2, 10)
    >>> model.privacy_.epsilon
    8.0
    """

    # Clipped gradients would undo the weight of a rare class.
    _moves_log_odds = True

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 hidden_layer_sizes: int | Sequence[int] = (128,), activation: str = "relu",
                 alpha: float = 0.0, solver: str = "auto", precondition: str | bool = "auto",
                 max_iter: int | None = None, learning_rate: float | None = None,
                 batch_size: float | None = None, clip_norm: float | None = None,
                 data_norm: float | str | None = None,
                 class_weight: dict[Any, float] | None = None, classes: ArrayLike | None = None,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.alpha = alpha
        self.solver = solver
        self.precondition = precondition
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.data_norm = data_norm
        self.class_weight = class_weight
        self.classes = classes
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Table, y: Table | None = None, sample_weight: ArrayLike | None = None, *,
            groups: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_network)s %(y_labels)s %(sample_weight)s %(groups)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows, classes, settings = self._labeled(X, y, sample_weight, groups)
        several = len(classes) > 2
        factors = np.ones(1) if self.class_weight is None else class_factors(
            self.class_weight, classes)
        # A short clip would leave the rare class too unlikely, and a long one adds noise.
        facts = Budget(rows.n_units, rows.n_features, *self._budget(rows.n_units))
        rows = rows.with_weight_bound(weighted_clip(facts, factors.max() / factors.min()))
        self._fit_layers(rows.with_targets(methodcaller("astype",
                                                        np.min_scalar_type(-len(classes)))),
                         Multinomial() if several else Logistic(),
                         len(classes) if several else None,
                         factor=1.0 if several else USUAL_FACTOR, **settings)
        if self.class_weight is not None:
            moves = np.log(factors if several else factors[1:] / factors[0])
            self.intercepts_[-1] = self.intercepts_[-1] + moves.astype(np.float32)
        self.classes_, self.out_activation_ = classes, "softmax" if several else "logistic"
        return self
