"""Logistic regression for the worst group of rows, with differential privacy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.errors import discreetly
from dpsk._data.labels import encoded_rows, labels_fact
from dpsk._data.source import Rows
from dpsk._data.structure import refuse_masked
from dpsk._data.validation import is_dask
from dpsk._defaults.saddle import group_bounds
from dpsk._docs import documented
from dpsk._objective.losses import Logistic
from dpsk._objective.saddle import GroupRisk
from dpsk._parameters import check_real
from dpsk._problem import Budget
from dpsk._solvers import SADDLE_SOLVERS
from dpsk._stages import Counting
from dpsk.linear_model._scorer import LinearScorer

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["DPGroupDROClassifier"]


@documented
class DPGroupDROClassifier(LinearScorer):
    r"""Group DRO: minimize the worst group's risk, with differential privacy.

    It solves, under noise,

    .. math:: \min_{w, b} \max_{\lambda \in \Delta} \sum_g \lambda_g \frac{1}{n_g}
              \sum_{i \in g} \ell(y_i, \bar x_i^\top w + b)
              - \frac{c}{2} \|\lambda - 1/K\|^2 + \alpha\, r(w),
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with the logistic loss, the simplex :math:`\Delta` of weights of the K groups, and `R` the
    public `data_norm`. Groups are known in training only; prediction does not ask for them. At a
    finite epsilon losses and their gradients are clipped before the weights, and no row weighs
    more than a bound that grows with n and epsilon.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    group_labels : array-like or None, default=None
        The public set of groups. None: the groups that occur in `groups`, which are then *assumed
        to be public*, as the certificate states.
    group_shares : dict or None, default=None
        Public proportions of the groups among the rows. None: a hundredth of the budget goes to
        noisy counts; proportions below 1 % then count as 1 %.
    group_penalty : float, default=0.3
        The c in the objective, which keeps weights near uniform.
    %(alpha)s %(penalty)s %(l1_ratio)s %(radius)s
    solver : {"auto", "sgda", "privatediff"}, default="auto"
        "auto" takes "sgda".
    %(precondition_scores)s %(max_iter)s
        `clip_norm` bounds the gradient of a row's loss before its group's weight; rows of all
        groups are clipped alike. Large ones clip nothing, as the loss's slope is at most 1.
    %(data_norm)s %(data_norm_inf)s %(fit_intercept)s %(class_weight)s %(classes)s
    %(solver_options)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coef__classes)s %(intercept__classes)s %(center__linear)s %(feature_scales_)s
    %(data_norm_)s %(preconditioner_)s
    %(preconditioner_scales_)s
    group_weights_ : ndarray of shape (n_groups,)
        The weights :math:`\lambda`, larger for groups of larger risk, up to noise.
    group_shares_ : ndarray of shape (n_groups,)
        The proportions used, declared or noisy.
    groups_ : ndarray of shape (n_groups,)
        Labels of the groups, in the order of `group_weights_` and `group_shares_`.
    %(classes_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPLogisticRegression : Minimizes the mean risk.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label and
    its group included, the fitted attributes are (epsilon, delta)-differentially private.
    Released: learned bounds and scales of rows, noisy means if they are subtracted, a noisy second
    moment if rows are whitened, noisy counts of the groups unless proportions are declared, then
    noisy gradients in coefficients and weights, and values computed from them. No risk of a group
    is ever released without noise. The number of rows and features, the sets of labels and of
    groups, and all parameters are public.

    A group may depend on the label, such as "sex x label". Only the set of groups is public,
    never the group of a row.

    In pipelines and searches groups are passed by metadata routing, after
    ``set_fit_request(groups=True)``. There is no `predict_proba`: with groups weighted by their
    risk, scores are not log odds.

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

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 group_labels: ArrayLike | None = None,
                 group_shares: dict[Any, float] | None = None, group_penalty: float = 0.3,
                 alpha: float = 0.0, penalty: str | None = "l2", l1_ratio: float = 0.5,
                 radius: float | None = None, solver: str = "auto",
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
        self.group_labels = group_labels
        self.group_shares = group_shares
        self.group_penalty = group_penalty

    @private_fit
    def fit(self, X: Table, y: Table | None = None, sample_weight: ArrayLike | None = None, *,
            groups: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X)s
        y : array-like of shape (n,)
            Labels of two classes, numbers or strings.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the losses in any unit, private like the rows. Each gradient is clipped
            after this weight. The proportions of the groups use unweighted counts.
        groups : array-like of shape (n,) or None, default=None
            The groups of the risk, not of privacy: rows are protected. Numbers or strings; None:
            the class of every row. A search or pipeline passes them on only if metadata routing
            is enabled, after ``set_fit_request(groups=True)``.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        rows, classes, settings = self._labeled(X, y, sample_weight)
        rows, labels, fact = self._grouped(rows, X, groups, classes)
        shares = _public_shares(self.group_shares, labels)
        budget = Budget(len(rows), rows.n_features + self.fit_intercept,
                        *self._budget(len(rows)))
        heaviest, measured = group_bounds(budget)
        make_loss = partial(GroupRisk, Logistic(), curvature=float(self.group_penalty),
                            heaviest=heaviest, measured=measured)
        counting = Counting(len(labels), make_loss, "group_shares_", np.array)
        coef, intercept, rest = self._fit_with_rest(
            rows, make_loss(shares or _even(len(labels))), None,
            stages=[counting] if shares is None else [],
            **{**settings, "public": [*settings["public"], fact]},
            released=["group_weights_"])
        self.classes_, self.groups_ = classes, labels
        self.coef_, self.intercept_ = np.atleast_2d(coef), np.atleast_1d(intercept)
        self.group_weights_ = rest
        if shares is not None:
            self.group_shares_ = np.array(shares)
        return self

    # The solvers may use small batches.
    _auto_is_gaussian = False

    def _auto_solver(self, problem):
        return "sgda"

    def _grouped(self, rows, X, groups, classes):
        """Return rows with class and group as targets, the groups, and their public fact."""
        if groups is None and self.group_labels is None:
            return rows.with_targets(_twice), classes, labels_fact(classes, self.classes, "group")
        if groups is None:
            declared = np.ravel(np.asarray(self.group_labels, dtype=object)).tolist()
            if not all(label in declared for label in classes.tolist()):
                raise ValueError(
                    f"group_labels={self.group_labels!r}: must be the classes where groups=None; "
                    "pass groups= to fit, in pipelines and searches after "
                    "set_fit_request(groups=True).")
            members = rows.with_targets(partial(np.take, classes))
        elif is_dask(X):
            members = self._read_rows(X, groups, None)
        else:
            members = Rows(np.empty((len(rows), 0)), _check_groups(groups, len(rows)))
        labels, members = encoded_rows(members, self.group_labels, type(self).__name__, "groups",
                                       "group_labels")
        fact = labels_fact(labels, self.group_labels, "group", "groups")
        return rows.with_more_targets(members), labels, fact


def _twice(codes):
    return np.column_stack([codes, codes])


def _even(n_groups):
    """Return equal shares, as placeholders for shares that are not yet released."""
    return (1.0 / n_groups,) * n_groups


def _check_groups(groups, n_samples):
    """Return the group of every row as an array; raise a ValueError for a wrong shape."""
    refuse_masked("groups", groups)
    groups = discreetly("groups", np.asarray, groups)
    if groups.ndim == 2 and groups.shape[1] == 1:
        groups = groups[:, 0]
    if groups.ndim != 1:
        raise ValueError(f"groups of shape {groups.shape}: must be one label for each row, in one "
                         "dimension.")
    if groups.dtype.kind == "f" and not np.isfinite(groups).all():
        raise ValueError("groups contains NaN or infinity; give those rows a label of their own, "
                         "such as -1.")
    if len(groups) != n_samples:
        raise ValueError(f"groups of length {len(groups)}: must be one label for each of the "
                         f"{n_samples} rows.")
    return groups


def _public_shares(group_shares, labels):
    """Return declared group shares in the order of `labels`, of sum 1, or None."""
    if group_shares is None:
        return None
    if not isinstance(group_shares, dict):
        raise ValueError(f"group_shares={group_shares!r}: must be None, to count the groups "
                         "under noise, or a dict of public shares by group.")
    known = labels.tolist()
    if set(group_shares) != set(known):
        raise ValueError(f"group_shares={group_shares!r}: must hold one share for every group; "
                         "declare the groups in group_labels=.")
    shares = [check_real("group_shares", group_shares[label], low=1e-6, high=1.0,
                         remedy="a dict of numbers in [1e-6, 1]") for label in known]
    return tuple(share / sum(shares) for share in shares)
