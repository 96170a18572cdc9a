"""AUC maximization for two classes, with differential privacy."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._docs import documented
from dpsk._objective.losses import Logistic, RankingLogistic
from dpsk._objective.saddle import AUCSquare
from dpsk._parameters import choice
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._solvers import SADDLE_SOLVERS, SOLVERS
from dpsk._stages import Counting
from dpsk.linear_model._scorer import LinearScorer
from dpsk.neural_network._scorer import NetworkScorer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import FloatArray, Table

__all__ = ["DPAUCMaximizer"]

#: Placeholder for a ratio that is not yet released.
_EVEN = 0.5
#: Unit of the mean scores of the classes, relative to a network's parameters.
_NETWORK_MEAN_UNIT = 0.1


@documented
class DPAUCMaximizer(NetworkScorer, LinearScorer):
    r"""Maximize the area under the ROC curve, with differential privacy.

    With ``loss="auc"`` and two classes it solves, under noise, for a score `h` that is linear or
    a network,

    .. math:: \min_{h} \frac{1}{n_+ n_-} \sum_{i: y_i = 1} \sum_{j: y_j = 0}
              \bigl(1 - h(\bar x_i) + h(\bar x_j)\bigr)^2,
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with `R` the public `data_norm`, as a saddle-point problem whose objective is a sum over rows.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    loss : {"auto", "auc", "logistic"}, default="auto"
        "auc" is the mean square over pairs above. "auto" is the loss of the named solver, else
        "logistic", which ranks as well or better at equal budgets: see Notes.
    positive_ratio : float or None, default=None
        Public proportion of the second class, for ``loss="auc"``. None: a hundredth of the budget
        goes to a noisy count.
    %(hidden_layer_sizes)s
        The score is then linear.
    %(activation)s %(alpha)s
        It applies to the coefficients, or to the weights of a network.
    %(penalty)s
        Constraint sets are for linear scores only.
    %(l1_ratio)s %(radius)s
    solver : {"auto", "gd", "sgd", "sgda", "privatediff"}, default="auto"
        "auto" takes "sgda" for ``loss="auc"``; for ``loss="logistic"`` "gd", and "sgd" for a
        network.
    %(precondition_scores)s
        For a network, True centers rows by a noisy mean, for 3 % of ``mu**2``, and "auto" is that
        of `DPMLPClassifier`. With ``loss="auc"`` "auto" is True if the noise on the mean is small
        relative to the norm bound.
    %(max_iter)s %(data_norm)s
        For a network, "auto" and None mean no bound, but 1 for ``loss="auc"`` at a finite epsilon,
        which then needs features of similar scale, and 1 if rows are too few for a network.
    %(data_norm_inf)s %(fit_intercept)s
        For a linear score; a network always has biases.
    %(class_weight)s %(classes)s
    %(solver_options)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coef__classes)s %(intercept__classes)s
        Both only for a linear score.
    %(coefs_)s %(intercepts_)s %(linear_coef_)s
        All three only for a network.
    center_ : ndarray of shape (n_features,) or None
        The released mean of rows, already part of the intercepts. None where rows were not
        centered.
    %(feature_scales_)s
    %(data_norm_)s
    %(preconditioner_)s
        For a network, that of `DPMLPClassifier`.
    %(preconditioner_scales_)s
    offset_ : float
        Offset subtracted from scores: midway between the noisy mean scores of the classes, and 0
        for ``loss="logistic"``.
    positive_ratio_ : float or None
        The ratio used, declared or noisy; None for ``loss="logistic"``.
    %(classes_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPLogisticRegression : With probabilities.
    dpsk.metrics.dp_roc_auc_score : The area under the curve, released privately.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: learned bounds and scales of
    rows, noisy means if they are subtracted, a noisy second moment if rows are whitened, a noisy
    count of the second class if a ratio is needed and not declared, then noisy gradients, and
    values computed from them. The number of rows and features, the labels and all parameters are
    public.

    *Loss.* The square over pairs weights a row by the inverse proportion of its class. Rows of
    the rare class then determine the noise, and well-ranked rows still have large gradients. The
    logistic loss gives nearly the same ranking with less noise:
    ``docs/results/auc_linear.md`` and ``docs/results/auc_networks.md``.

    `score` is the accuracy, as for any classifier: search with ``scoring="roc_auc"``. There is no
    `predict_proba`: scores rank rows, and are not fitted as probabilities. A noisy ratio below
    1 % counts as 1 %.

    References
    ----------
    Ying, Wen, Lyu (2016), theorem 1; Zhang, Lei, Ding, Xiang, Xu, Wang (2025), Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPAUCMaximizer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DPAUCMaximizer(epsilon=1.0, random_state=0).fit(X / 1000.0, y)
    >>> model.decision_function(X[:2] / 1000.0).shape
    (2,)
    """

    _constraints: ClassVar[dict] = {**NetworkScorer._constraints,
                                    "data_norm": LinearScorer._constraints["data_norm"],
                                    "precondition": LinearScorer._constraints["precondition"],
                                    "loss": choice("auto", "auc", "logistic")}
    _solvers: ClassVar[dict] = {"gd": SOLVERS["gd"], "sgd": SOLVERS["sgd"], **SADDLE_SOLVERS}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, loss: str = "auto",
                 positive_ratio: float | None = None, hidden_layer_sizes: int | Sequence[int] = (),
                 activation: str = "relu", alpha: float = 0.0, penalty: str | None = "l2",
                 l1_ratio: float = 0.5, radius: float | None = None, solver: str = "auto",
                 precondition: str | bool = "auto", max_iter: int | None = None,
                 learning_rate: float | None = None, batch_size: float | None = None,
                 clip_norm: float | None = None, data_norm: float | str = "auto",
                 data_norm_inf: float | None = None, fit_intercept: bool = True,
                 class_weight: dict[Any, float] | None = None, classes: ArrayLike | None = None,
                 solver_options: dict[str, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        super().__init__(epsilon, delta=delta, class_weight=class_weight, classes=classes,
                         alpha=alpha, penalty=penalty, l1_ratio=l1_ratio, radius=radius,
                         solver=solver, precondition=precondition, max_iter=max_iter,
                         learning_rate=learning_rate, batch_size=batch_size, clip_norm=clip_norm,
                         data_norm=data_norm, data_norm_inf=data_norm_inf,
                         fit_intercept=fit_intercept, solver_options=solver_options,
                         random_state=random_state, verbose=verbose)
        self.loss = loss
        self.positive_ratio = positive_ratio
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation

    def _check_combination(self):
        super()._check_combination()
        if self.positive_ratio is not None and self._loss_name() == "logistic":
            raise ValueError(f"positive_ratio={self.positive_ratio!r}: loss='logistic', which "
                             "\"auto\" takes, has no use for it; leave positive_ratio=None, or "
                             "set loss='auc'.")

        if self._layer_sizes() and self.precondition not in ("auto", True, False):
            raise ValueError(f"precondition={self.precondition!r}: names a map for linear scores; "
                             "leave precondition='auto' for a network.")

    @private_fit
    def fit(self, X: Table, y: Table | None = None,
            sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X)s
            Dense for a network.
        y : array-like of shape (n,)
            Labels of two classes, numbers or strings; the second in sorted order gets the higher
            scores.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the losses in any unit, private like the rows. Each gradient is clipped
            after weighting. The ratio of the classes uses unweighted counts.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows, classes, settings = self._labeled(X, y, sample_weight)
        loss, ratio = self._binary_loss(), self.positive_ratio
        if not loss.minimax:
            loss = self._ranking_logistic(len(rows), rows.n_features)
        counting = Counting(2, lambda shares: self._auc_loss(shares[1]), "positive_ratio_",
                            lambda shares: float(shares[1]))
        counts = loss.minimax and ratio is None
        fit = self._fit_network if self._layer_sizes() else self._fit_linear_score
        rest = fit(rows.with_targets(methodcaller("astype", np.int8)), loss,
                   stages=[counting] if counts else [], **settings,
                   released=["offset_"] if loss.minimax else [])
        self.classes_ = classes
        self.offset_ = float(self._mean_unit() * rest[:2].mean()) if loss.minimax else 0.0
        if not counts:
            self.positive_ratio_ = None if ratio is None else float(ratio)
        return self

    @blockwise
    @quietly
    def decision_function(self, X: Table) -> FloatArray:
        """Return scores of samples, positive if the second class is predicted.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n,)
            Scores, higher for the second class.
        """
        check_is_fitted(self, "privacy_")
        raw = self._predict_network(X) if hasattr(self, "coefs_") else self._predict_raw(X)
        return raw - np.asarray(self.offset_, dtype=raw.dtype)

    def _fit_linear_score(self, rows, loss, **settings):
        """Set the coefficients and the intercept; return the rest of the solution."""
        coef, intercept, rest = self._fit_with_rest(rows, loss, None, **settings)
        self.coef_, self.intercept_ = np.atleast_2d(coef), np.atleast_1d(intercept)
        return rest

    def _loss_name(self):
        """Return "auc" or "logistic"."""
        if self.loss != "auto":
            return self.loss
        named = self._solvers.get(self.solver)
        return "auc" if named is not None and named.minimax else "logistic"

    @property
    def _auto_is_gaussian(self):
        """bool : False if small batches are possible: "auc" loss or a network."""
        return self.loss != "auc" and not self._layer_sizes()

    def _auto_solver(self, problem):
        if problem.loss.minimax:
            return "sgda"
        return "sgd" if self._layer_sizes() else "gd"

    def _auc_loss(self, positive_ratio):
        # This scales the largest weight of a row to 1, which the default clip norms assume.
        scale = min(positive_ratio, 1.0 - positive_ratio)
        return AUCSquare(float(positive_ratio), scale, self._mean_unit())

    def _mean_unit(self):
        return _NETWORK_MEAN_UNIT if self._layer_sizes() else 1.0

    def _ranking_logistic(self, n_samples, n_features):
        """Return the logistic loss with the best clip norm, from public numbers."""
        epsilon, delta = self._budget(n_samples)
        if delta == 0 or self._layer_sizes():
            return Logistic()
        signal = n_samples * gaussian_mu(epsilon, delta) / (n_features + 1)
        return RankingLogistic(0.3 * float(np.clip(np.sqrt(signal / 50.0), 1.0, 2.0)))

    def _binary_loss(self):
        if self._loss_name() == "logistic":
            return Logistic()
        return self._auc_loss(_EVEN if self.positive_ratio is None else self.positive_ratio)
