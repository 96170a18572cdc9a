"""Scores that rank rows of two classes, with differential privacy."""

from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.labels import labels_fact
from dpsk._data.weights import class_weighted
from dpsk._models.mlp import ACTIVATIONS
from dpsk._objective.losses import Logistic, RankingLogistic
from dpsk._objective.saddle import AUCSquare
from dpsk._parameters import check_choice, check_real
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._solvers import SADDLE_SOLVERS, SOLVERS
from dpsk._stages import Counting
from dpsk.linear_model._scorer import LinearScorer
from dpsk.neural_network._scorer import NetworkScorer

__all__ = ["DPAUCMaximizer"]

#: Stands for a ratio that is to be released.
_EVEN = 0.5
#: Unit of the mean scores of the classes beside a network's parameters.
_NETWORK_MEAN_UNIT = 0.1


class DPAUCMaximizer(NetworkScorer, LinearScorer):
    r"""Score of rows of two classes for a large area under the ROC curve, with privacy.

    With ``loss="auc"`` solves, under noise, for a score `h`, linear or of a network,

    .. math:: \min_{h} \frac{1}{n_+ n_-} \sum_{i: y_i = 1} \sum_{j: y_j = 0}
              \bigl(1 - h(\bar x_i) + h(\bar x_j)\bigr)^2,
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with `R` the public `data_norm`, as a saddle problem whose objective is a sum over rows.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee, > 0. None: ``1 / n**2``.
    loss : {"auto", "auc", "logistic"}, default="auto"
        "auc" is the mean square over pairs above. "auto" follows the solver where one is named,
        and takes "logistic" elsewhere, which ranks as well or better at equal budgets: see Notes.
    positive_ratio : float or None, default=None
        Public share of the second class, for ``loss="auc"``. None: a hundredth of the budget
        goes to a noisy count.
    hidden_layer_sizes : int or sequence of int, default=()
        Widths of the hidden layers; none for a linear score.
    activation : {"relu", "tanh"}, default="relu"
        Of the hidden layers.
    alpha : float, default=0.0
        Strength of the penalty on the coefficients, or on the weights of a network.
    penalty : {"l2", "l1", "elasticnet", "l2_ball", "l1_ball", "box", "simplex"}, default="l2"
        The last four are sets, for linear scores, and ignore `alpha`: coefficients have norm, or
        size each, at most `radius`, or are not negative and sum to it.
    l1_ratio : float in [0, 1], default=0.5
        Share of l1 in ``penalty="elasticnet"``.
    radius : float or None, default=None
        Radius of a set; needed exactly there.
    solver : {"auto", "gd", "sgd", "sgda", "privatediff"}, default="auto"
        "auto" takes "sgda" for ``loss="auc"``; for ``loss="logistic"`` "gd", and "sgd" for a
        network.
    precondition : {"auto", True, False}, default="auto"
        For a linear score, whether a fifth of ``mu**2`` goes to a noisy second moment of the
        rows, which then whitens them. "auto": for dense rows of at most 2000 features without a
        penalty, and where ``n_features + 1 < n mu``. For a network, whether 3 % go to a noisy
        mean of the rows, which is then subtracted from them. "auto": where its noise is small
        beside the bound on rows.
    max_iter, learning_rate, batch_size, clip_norm : number or None, default=None
        None: chosen by a rule that looks at public numbers only, given with each solver.
    data_norm : float, default=1.0
        Rows of greater l2 norm are scaled down to it, in training and in prediction.
    data_norm_inf : float or None, default=None
        Bound on the entries of rows; larger ones are lowered to it. None: `data_norm`.
    fit_intercept : bool, default=True
        Of a linear score. A network always has biases.
    class_weight : dict or None, default=None
        Public weights of the classes' losses. "balanced" is refused: class counts are data.
    classes : array-like or None, default=None
        The two labels, public. None: the labels that occur in `y`, which are then *taken as
        public*, as the certificate says.
    solver_options : dict or None, default=None
        Further options of the solver, its dataclass fields.
    random_state : int or None, default=None
        None: operating-system entropy, fresh in every fit. An int repeats the same noise for
        the same data and parameters, for tests; the guarantee is void if it can be guessed.
    verbose : int, default=0
        1 prints the plan, which is public.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Of a linear score.
    intercept_ : ndarray of shape (1,)
        Of a linear score.
    coefs_, intercepts_ : list of ndarray
        Of a network: weights of shape (inputs, outputs) and biases of every layer.
    center_ : ndarray of shape (n_features,) or None
        Of a network: the released mean of rows, already part of ``intercepts_[0]``. None where
        rows were not centred.
    preconditioner_ : ndarray or None
        The released matrix P of shape (n_features + 1, n_features + 1), the last row for the
        constant; one less without intercept. None where rows were not whitened.
    offset_ : float
        Subtracted from scores: midway between the noisy mean scores of the classes, and 0 for
        ``loss="logistic"``.
    positive_ratio_ : float or None
        The ratio that was used, declared or noisy; None for ``loss="logistic"``.
    classes_ : ndarray of shape (2,)
    n_iter_ : int
        The planned number of steps, with a random iterate the drawn one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    privacy_ : Certificate
        The guarantee, and everything it rests on.

    Raises
    ------
    ValueError
        For a parameter out of range, a solver that does not take the loss, more than two
        classes, a single class when classes are inferred, or rows that are not finite; always
        before any noise is drawn.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: a noisy second moment where
    rows are whitened or a noisy mean where it is subtracted, a noisy count of the second class
    where a ratio is needed and none is declared, then noisy gradients, and what follows from
    them. The number of rows and features, the labels and all parameters are public.

    *Loss.* The square over pairs weights a row by the inverse of its class's share, which makes
    rows of the rare class the ones that noise must cover, and goes on pulling at rows that are
    ranked well. The logistic loss gives much the same order at less noise:
    ``docs/results/auc_linear.md`` and ``docs/results/auc_networks.md``.

    `score` is the accuracy, as of any classifier: search with ``scoring="roc_auc"``. There is no
    `predict_proba`: scores are fitted to rank rows, and not to be probabilities. A noisy ratio
    below 1 % counts as 1 %.

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

    _solvers: ClassVar[dict] = {"gd": SOLVERS["gd"], "sgd": SOLVERS["sgd"], **SADDLE_SOLVERS}

    def __init__(self, epsilon=1.0, *, delta=None, loss="auto", positive_ratio=None,
                 hidden_layer_sizes=(), activation="relu", alpha=0.0, penalty="l2",
                 l1_ratio=0.5, radius=None, solver="auto", precondition="auto", max_iter=None,
                 learning_rate=None, batch_size=None, clip_norm=None, data_norm=1.0,
                 data_norm_inf=None, fit_intercept=True, class_weight=None, classes=None,
                 solver_options=None, random_state=None, verbose=0):
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.positive_ratio = positive_ratio
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.radius = radius
        self.solver = solver
        self.precondition = precondition
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.data_norm = data_norm
        self.data_norm_inf = data_norm_inf
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.classes = classes
        self.solver_options = solver_options
        self.random_state = random_state
        self.verbose = verbose

    def _check_params(self):
        super()._check_params()
        check_choice("loss", self.loss, ["auto", "auc", "logistic"])
        if self.positive_ratio is not None:
            check_real("positive_ratio", self.positive_ratio, low=1e-4, high=1 - 1e-4,
                       remedy="None, or a number in [0.0001, 0.9999]")
        self._layer_sizes()
        if self.positive_ratio is not None and self._loss_name() == "logistic":
            raise ValueError(f"positive_ratio={self.positive_ratio!r}: loss='logistic', which "
                             "\"auto\" takes, has no use for it; leave positive_ratio=None, or "
                             "set loss='auc'.")
        check_choice("activation", self.activation, ACTIVATIONS)

    @np.errstate(all="ignore")  # a warning of NumPy's would depend on the rows
    def fit(self, X, y, sample_weight=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Finite numbers; float32 stays float32. Dense for a network.
        y : array-like of shape (n,)
            Labels of two classes, numbers or strings; the second in sorted order is to score
            higher.
        sample_weight : array-like of shape (n,) or None, default=None
            Factors of the rows' losses, part of the rows: each gradient is clipped after
            weighting. The ratio of the classes is one of counts, without weights.

        Returns
        -------
        self : object
        """
        self._check_params()
        X, y = self._check_rows(X, y)
        weights = self._check_weights(sample_weight, X)
        classes, codes = self._encode_two(y)
        weights, bound = class_weighted(weights, self.class_weight, classes, codes, X.dtype)
        loss, ratio = self._binary_loss(), self.positive_ratio
        if not loss.minimax:
            loss = self._ranking_logistic(*X.shape)
        counting = Counting(codes, 2, lambda shares: self._auc_loss(shares[1]))
        counts = loss.minimax and ratio is None
        fit, other = self._fit_linear_score, ("coefs_", "intercepts_", "center_")
        if self._layer_sizes():
            fit, other = self._fit_network, ("coef_", "intercept_")
        rest = fit(X, codes.astype(np.int8), loss, weights=weights, weight_bound=bound,
                   free_weights=sample_weight is not None, stages=[counting] if counts else [],
                   public=[labels_fact(classes, self.classes),
                           *self._weight_facts(sample_weight)],
                   released=[*(["offset_"] if loss.minimax else []),
                             *(["positive_ratio_"] if counts else [])])
        # What an earlier fit released is not what this certificate is of.
        for name in other:
            vars(self).pop(name, None)
        self.classes_ = classes
        self.offset_ = float(self._mean_unit() * rest[:2].mean()) if loss.minimax else 0.0
        self.positive_ratio_ = None
        if loss.minimax:
            self.positive_ratio_ = float(counting.shares[1] if counts else ratio)
        return self

    def decision_function(self, X):
        """Return scores of samples, positive where the second class is predicted.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        scores : ndarray of shape (n,)
        """
        check_is_fitted(self, "privacy_")
        raw = self._predict_network(X) if hasattr(self, "coefs_") else self._predict_raw(X)
        return raw - np.asarray(self.offset_, dtype=raw.dtype)

    def _fit_linear_score(self, X, codes, loss, **settings):
        """Set the coefficients and the intercept; return the rest of the solution."""
        coef, intercept, rest = self._fit_with_rest(X, codes, loss, None, **settings)
        self.coef_, self.intercept_ = np.atleast_2d(coef), np.atleast_1d(intercept)
        return rest

    def _loss_name(self):
        """Return "auc" or "logistic"."""
        if self.loss != "auto":
            return self.loss
        named = self._solvers.get(self.solver)
        return "auc" if named is not None and named.minimax else "logistic"

    def _auto_solver(self, problem):
        if problem.loss.minimax:
            return "sgda"
        return "sgd" if self._layer_sizes() else "gd"

    def _auc_loss(self, positive_ratio):
        # The greatest weight of a row is then 1, in the unit of the default clips.
        scale = min(positive_ratio, 1.0 - positive_ratio)
        return AUCSquare(float(positive_ratio), scale, self._mean_unit())

    def _mean_unit(self):
        return _NETWORK_MEAN_UNIT if self._layer_sizes() else 1.0

    def _ranking_logistic(self, n_samples, n_features):
        """Return the logistic loss with the clip that ranks best, a rule of public numbers."""
        epsilon, delta = self._budget(n_samples)
        if delta == 0 or self._layer_sizes():
            return Logistic()
        signal = n_samples * gaussian_mu(epsilon, delta) / (n_features + 1)
        return RankingLogistic(0.3 * float(np.clip(np.sqrt(signal / 50.0), 1.0, 2.0)))

    def _binary_loss(self):
        if self._loss_name() == "logistic":
            return Logistic()
        return self._auc_loss(_EVEN if self.positive_ratio is None else self.positive_ratio)
