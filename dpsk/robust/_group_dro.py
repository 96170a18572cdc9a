"""Logistic regression for the worst group of rows, with differential privacy."""

from typing import ClassVar

import numpy as np

from dpsk._data.labels import labels_fact
from dpsk._data.weights import class_weighted
from dpsk._objective.losses import Logistic
from dpsk._objective.saddle import GroupRisk
from dpsk._solvers import SADDLE_SOLVERS
from dpsk._stages import Counting
from dpsk.linear_model._scorer import LinearScorer
from dpsk.robust._groups import encode_groups, public_shares

__all__ = ["DPGroupDROClassifier"]

#: A row's loss counts as at most this much in the gradient of the weights.
_LARGEST_LOSS = 3.0


class DPGroupDROClassifier(LinearScorer):
    r"""Logistic regression that minimises the worst group's risk, with differential privacy.

    Solves, under noise,

    .. math:: \min_{w, b} \max_{\lambda \in \Delta} \sum_g \lambda_g \frac{1}{n_g}
              \sum_{i \in g} \ell(y_i, \bar x_i^\top w + b)
              - \frac{c}{2} \|\lambda - 1/K\|^2 + \alpha\, r(w),
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with the logistic loss, the simplex :math:`\Delta` of weights of the K groups, and `R` the
    public `data_norm`. Groups are known in training only; prediction does not ask for them.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee, > 0. None: ``1 / n**2``.
    group_labels : array-like or None, default=None
        The set of groups, public. None: the groups that occur in `groups`, which are then *taken
        as public*, as the certificate says.
    group_shares : dict or None, default=None
        Public shares of the groups among the rows. None: a hundredth of the budget goes to
        noisy counts; shares below 1 % then count as 1 %.
    group_penalty : float, default=0.3
        The c that keeps weights near uniform.
    alpha : float, default=0.0
        Strength of the penalty on the coefficients.
    penalty : {"l2", "l1", "elasticnet", "l2_ball", "l1_ball", "box", "simplex"}, default="l2"
        The last four are sets and ignore `alpha`: coefficients have norm, or size each, at most
        `radius`, or are not negative and sum to it.
    l1_ratio : float in [0, 1], default=0.5
        Share of l1 in ``penalty="elasticnet"``.
    radius : float or None, default=None
        Radius of a set; needed exactly there.
    solver : {"auto", "sgda", "privatediff"}, default="auto"
        "auto" takes "sgda".
    precondition : {"auto", True, False}, default="auto"
        Whether a fifth of the budget goes to a noisy second moment of the rows, which then
        whitens them. "auto": for dense rows of at most 2000 features without a penalty, and
        where ``n_features + 1 < n mu``.
    max_iter, learning_rate, batch_size, clip_norm : number or None, default=None
        None: chosen by a rule that looks at public numbers only, given with each solver.
        `clip_norm` bounds a row's gradient in the coefficients; it must be finite.
    data_norm : float, default=1.0
        Rows of greater l2 norm are scaled down to it, in training and in prediction.
    data_norm_inf : float or None, default=None
        Bound on the entries of rows; larger ones are lowered to it. None: `data_norm`.
    fit_intercept : bool, default=True
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
    intercept_ : ndarray of shape (1,)
    preconditioner_ : ndarray or None
        The released matrix P of shape (n_features + 1, n_features + 1), the last row for the
        constant; one less without intercept. None where rows were not whitened.
    group_weights_ : ndarray of shape (n_groups,)
        The weights :math:`\lambda`, larger where the risk is, as far as noise lets them tell.
    group_shares_ : ndarray of shape (n_groups,)
        The shares that were used, declared or noisy.
    groups_ : ndarray of shape (n_groups,)
        Labels of the groups, in the order of the two above.
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
        For a parameter out of range, more than two classes, a single class or group where these
        are inferred, or rows that are not finite; always before any noise is drawn.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label and
    its group included, the fitted attributes are (epsilon, delta)-indistinguishable. Released: a
    noisy second moment where rows are whitened, noisy counts of the groups unless shares are
    declared, then noisy gradients in coefficients and weights, and what follows from them. No
    risk of a group is ever released without noise. The number of rows and features, the labels,
    the groups and all parameters are public.

    A group that depends on the label, such as "sex x label", makes the label part of the group:
    only its set of values is public, never which row has which.

    In pipelines and searches groups travel by metadata routing, once they are asked for with
    ``set_fit_request(groups=True)``. There is no `predict_proba`: weighting groups by their risk
    leaves scores that are no log odds.

    References
    ----------
    Sagawa, Koh, Hashimoto, Liang (2020), Algorithm 1; Zhang, Lei, Ding, Xiang, Xu, Wang (2025),
    Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPGroupDROClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> groups = X[:, 0] > 14
    >>> model = DPGroupDROClassifier(epsilon=1.0, random_state=0, group_labels=[False, True])
    >>> model.fit(X / 1000.0, y, groups=groups).group_weights_.shape
    (2,)
    """

    _solvers: ClassVar[dict] = SADDLE_SOLVERS

    def __init__(self, epsilon=1.0, *, delta=None, group_labels=None, group_shares=None,
                 group_penalty=0.3, alpha=0.0, penalty="l2", l1_ratio=0.5, radius=None,
                 solver="auto", precondition="auto", max_iter=None, learning_rate=None,
                 batch_size=None, clip_norm=None, data_norm=1.0,
                 data_norm_inf=None, fit_intercept=True,
                 class_weight=None, classes=None, solver_options=None, random_state=None,
                 verbose=0):
        self._store(locals())

    @np.errstate(all="ignore")  # a warning of NumPy's would depend on the rows
    def fit(self, X, y, sample_weight=None, *, groups=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Finite numbers; float32 stays float32.
        y : array-like of shape (n,)
            Labels of two classes, numbers or strings.
        sample_weight : array-like of shape (n,) or None, default=None
            Factors of the rows' losses, part of the rows: each gradient is clipped after
            weighting. The groups' shares are counts of rows, without weights.
        groups : array-like of shape (n,) or None, default=None
            The group of every row, numbers or strings. None: its class. A search or pipeline
            hands them on only where metadata routing is enabled, after
            ``set_fit_request(groups=True)``.

        Returns
        -------
        self : object
        """
        self._check_params()
        X, y = self._check_rows(X, y)
        weights = self._check_weights(sample_weight, X)
        classes, codes = self._encode_two(y)
        weights, bound = class_weighted(weights, self.class_weight, classes, codes, X.dtype)
        labels, members, fact = self._encode_groups(groups, classes, codes)
        shares = public_shares(self.group_shares, labels)
        counting = Counting(members, len(labels), self._group_loss)
        coef, intercept, rest = self._fit_with_rest(
            X, np.column_stack([codes, members]),
            self._group_loss(shares or _even(len(labels))), None, weights=weights,
            weight_bound=bound, free_weights=sample_weight is not None,
            stages=[counting] if shares is None else [],
            public=[labels_fact(classes, self.classes), fact, *self._weight_facts(sample_weight)],
            released=["group_weights_", *(["group_shares_"] if shares is None else [])])
        self.classes_, self.groups_ = classes, labels
        self.coef_, self.intercept_ = np.atleast_2d(coef), np.atleast_1d(intercept)
        self.group_weights_ = rest
        self.group_shares_ = np.array(shares or counting.shares)
        return self

    def _group_loss(self, shares):
        return GroupRisk(Logistic(), shares, float(self.group_penalty), _LARGEST_LOSS)

    def _auto_solver(self, problem):
        return "sgda"

    def _encode_groups(self, groups, classes, codes):
        """Return the groups, the index of every row's, and what is public of them."""
        if groups is None and self.group_labels is None:
            return classes, codes, labels_fact(classes, self.classes, "group")
        if groups is None:
            declared = np.ravel(np.asarray(self.group_labels, dtype=object)).tolist()
            if not all(label in declared for label in classes.tolist()):
                raise ValueError(
                    f"group_labels={self.group_labels!r}: must be the classes where groups=None; "
                    "pass groups= to fit, in pipelines and searches after "
                    "set_fit_request(groups=True).")
            groups = classes[codes]
        labels, members = encode_groups(groups, self.group_labels, len(codes),
                                        type(self).__name__)
        return labels, members, labels_fact(labels, self.group_labels, "group", "groups")


def _even(n_groups):
    """Return equal shares, which stand for those to be released."""
    return (1.0 / n_groups,) * n_groups
