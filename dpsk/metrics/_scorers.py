"""Scorers: private metrics of fitted estimators, for scikit-learn's tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.evaluation import FLOOR
from dpsk._parameters import check_flag
from dpsk.metrics._binary import BinaryEvaluation
from dpsk.metrics._f1 import averaged_f1, check_average
from dpsk.metrics._inputs import check_floor, score_range_of
from dpsk.metrics._log_loss import LogLossEvaluation
from dpsk.metrics._multiclass import MulticlassEvaluation
from dpsk.metrics._regression import RegressionEvaluation, check_metric
from dpsk.metrics._scores import ScoreBins, require_probabilities
from dpsk.metrics._table import checked_budget

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._typing import Table
    from dpsk.metrics._estimate import Estimate

__all__ = ["SCORERS", "get_scorer", "get_scorer_names"]

#: By name: the evaluation, its metric (a method name or a function), and the sign that makes
#: larger values better.
SCORERS: dict[str, tuple[Any, Any, float]] = {
    "dp_accuracy": (MulticlassEvaluation, "accuracy", 1.0),
    "dp_average_precision": (BinaryEvaluation, "average_precision", 1.0),
    "dp_f1": (MulticlassEvaluation, averaged_f1, 1.0),
    "dp_f1_macro": (MulticlassEvaluation, partial(averaged_f1, average="macro"), 1.0),
    "dp_f1_micro": (MulticlassEvaluation, partial(averaged_f1, average="micro"), 1.0),
    "dp_f1_weighted": (MulticlassEvaluation, partial(averaged_f1, average="weighted"), 1.0),
    "dp_neg_brier_score": (BinaryEvaluation, "brier_score", -1.0),
    "dp_neg_log_loss": (LogLossEvaluation, "log_loss", -1.0),
    "dp_neg_mean_absolute_error": (RegressionEvaluation, "mean_absolute_error", -1.0),
    "dp_neg_mean_squared_error": (RegressionEvaluation, "mean_squared_error", -1.0),
    "dp_r2": (RegressionEvaluation, "r2", 1.0),
    "dp_roc_auc": (BinaryEvaluation, "roc_auc", 1.0),
}


@dataclass(frozen=True, repr=False)
class _Scorer:
    """Private metric of a fitted estimator, called with estimator, rows and labels."""

    name: str
    options: dict[str, Any]
    return_error: bool
    # A dataclass would be hashed by its fields, which may not be hashable.
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __call__(self, estimator: Any, X: Table, y: ArrayLike, *,
                 groups: ArrayLike | None = None) -> Any:
        evaluation, metric, sign = SCORERS[self.name]
        if metric in ("brier_score", "log_loss"):
            require_probabilities(metric, score_range_of(estimator))
        options, positive = dict(self.options), {}
        if metric is averaged_f1:
            positive = {"pos_label": options.pop("pos_label", None)}
            check_average(list(estimator.classes_), "binary", **positive)
        evaluated = evaluation.from_estimator(estimator, X, y, groups=groups, **options)
        found = (metric(evaluated, **positive) if callable(metric)
                 else getattr(evaluated, metric)())
        score: Estimate = sign * replace(found, privacy_=evaluated.privacy_)
        if self.return_error:
            return {"score": score, "standard_error": score.standard_error}
        return score

    def __repr__(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.options.items())
        if self.return_error:
            given += ", return_error=True"
        return f"get_scorer({self.name!r}{given})"


def get_scorer_names() -> list[str]:
    """Return the names of all private scorers: ``"dp_"`` and scikit-learn's name.

    Returns
    -------
    names : list of str
        Sorted names that `get_scorer` accepts.

    Examples
    --------
    >>> from dpsk.metrics import get_scorer_names
    >>> get_scorer_names()[:2]
    ['dp_accuracy', 'dp_average_precision']
    """
    return sorted(SCORERS)


def get_scorer(name: str, *, epsilon: float = 1.0, delta: float | None = None,
               return_error: bool = False, **options: Any) -> Any:
    """Return a private scorer, for `scoring` of searches and cross-validation.

    Parameters
    ----------
    name : str
        One of `get_scorer_names`. As in scikit-learn, larger is better; losses are negated.
    epsilon : float, default=1.0
        Budget of each call, which is a separate release; inf: no noise, not private.
    delta : float or None, default=None
        None: ``1 / n**2``, with n the number of scored rows.
    return_error : bool, default=False
        Whether scikit-learn also keeps standard errors: `cross_validate` then returns
        `test_score` and `test_standard_error` for each fold, and searches need
        ``refit="score"``.
    **options : dict
        As for `from_estimator` of the evaluation: `pos_label` and `bins` for two classes,
        `floor` for the log loss, `residual_bound` and `target_bounds` for numbers.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y)`` is an `Estimate` with its certificate in `privacy_`; with
        ``groups=`` it protects people instead of rows. With `return_error` it is a dict of the
        estimate, ``"score"``, and its ``"standard_error"``.

    Raises
    ------
    ValueError
        If there is no such scorer, or a parameter is out of range.
    TypeError
        If the metric has no such option.

    See Also
    --------
    dp_cross_validate : Models and one evaluation of all folds, with the certificate of both.
    sklearn.metrics.make_scorer : Makes a scorer of a function such as `dp_accuracy_score`.

    Notes
    -----
    *Privacy.* Each call is charged to the open budgets, as any evaluation is. A search with such
    scores costs all of its fits and all of its scores.

    *Errors.* Scores lie within the range of their metric, or are NaN where noise hides them. The
    noise of folds is independent: the mean of K scores has a standard error of
    ``np.sqrt(np.sum(errors**2)) / K``.

    scikit-learn looks names such as ``scoring="accuracy"`` up in a fixed list, so pass the scorer
    itself.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.metrics import get_scorer
    >>> X, y = make_classification(3000, random_state=0)
    >>> scorer = get_scorer("dp_accuracy", epsilon=0.5)
    >>> scores = cross_val_score(DPLogisticRegression(data_norm=5.0), X, y, cv=KFold(3),
    ...                          scoring=scorer)
    >>> bool(scores.min() > 0.6)
    True
    >>> from sklearn.model_selection import cross_validate
    >>> scorer = get_scorer("dp_accuracy", epsilon=0.5, return_error=True)
    >>> folds = cross_validate(DPLogisticRegression(data_norm=5.0), X, y, cv=KFold(3),
    ...                        scoring=scorer)
    >>> bool(folds["test_standard_error"].max() < 0.05)
    True
    """
    if name not in SCORERS:
        raise ValueError(f"name={name!r}: must be one of {', '.join(get_scorer_names())}; exact "
                         "scores are those of sklearn.metrics.get_scorer.")
    evaluation, metric, _ = SCORERS[name]
    taken = set(signature(evaluation.from_estimator).parameters) - {
        "estimator", "X", "y", "groups"}
    if metric is averaged_f1:
        taken.add("pos_label")
    unknown = sorted(set(options) - taken)
    if unknown:
        raise TypeError(f"{unknown[0]!r}: {name!r} has no such option; it takes "
                        f"{', '.join(sorted(taken))}.")
    # Fail before a search fits a model that it cannot score.
    checked_budget(2, 1, epsilon, delta, options.get("random_state"))
    _check_options(evaluation, metric, **options)
    given = {"epsilon": epsilon, "delta": delta, **options}
    if delta is None:
        del given["delta"]
    return _Scorer(name, given, check_flag("return_error", return_error))


def _check_options(evaluation, metric, bins="auto", residual_bound=None, target_bounds=None,
                   floor=FLOOR, log_loss_floor=None, threshold=None, **_):
    """Raise the ValueErrors of an evaluation that depend on its options alone."""
    if evaluation is RegressionEvaluation:
        check_metric(metric, residual_bound, target_bounds)
    elif evaluation is LogLossEvaluation:
        check_floor("floor", floor)
    else:
        # The range of scores follows from the estimator; edges must increase in any range.
        ScoreBins.of(bins, None, 2, threshold)
        if log_loss_floor is not None:
            check_floor("log_loss_floor", log_loss_floor)
