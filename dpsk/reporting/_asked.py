"""A report of what is fitted, by what all of its parts say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from dpsk._privacy.certificate_fields import GROUP_RELATION, SAME_GROUPS
from dpsk.reporting._report import SEVERAL, PrivacyReport

if TYPE_CHECKING:
    from typing import Any

__all__ = ["privacy_report"]


def privacy_report(fitted: Any, *, disjoint: bool = False) -> PrivacyReport:
    """Report the total privacy loss of fitted objects, and what has no guarantee.

    Parameters
    ----------
    fitted : object
        A fitted estimator, private or not; a pipeline, union, ensemble, calibrator or search of
        scikit-learn; what `cross_validate` returned; a budget, which counts with all that it may
        give away; certificates; reports; or a list or dict of these.
    disjoint : bool, default=False
        Whether the members of a list or dict were fitted to disjoint parts of the rows that
        were cut by position, whatever the rows hold; of fits with `groups`, to whole groups by
        their names. Then a row, or a group, pays for one of them.

    Returns
    -------
    report : PrivacyReport
        With text, HTML and JSON, and a paragraph for a model card.

    Raises
    ------
    NotFittedError
        If an estimator is not fitted.
    ValueError
        If `disjoint` is set for what is neither a list nor a dict of members, or if something
        holds itself.

    See Also
    --------
    dpsk.PrivacyBudget : Limits fits beforehand, also where they follow from one another.
    dpsk.accounting.total : One certificate for several.

    Notes
    -----
    *Privacy.* A report reads certificates and public settings only. Its total is that of one
    accountant for all events, never a sum of epsilons, and holds if no fit followed from what
    another one had released. Candidates of a search are not kept by scikit-learn: each counts
    with what its epsilon and delta allow, in as many folds as a row trains. What the report does
    not know it calls not private.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dpsk import DPLogisticRegression, privacy_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), DPLogisticRegression(epsilon=1.0, delta=1e-6))
    >>> report = privacy_report(model.fit(X, y))
    >>> report.is_private, report.fits_epsilon <= 1.0
    (False, True)
    >>> print(report.exposed[0].sentence)  # doctest: +NORMALIZE_WHITESPACE
    StandardScaler has no certificate: what it learnt from rows, it learnt without noise as far as
    is known.
    """
    # What knows all of scikit-learn's wrappers imports them, as nothing else here does.
    from dpsk._kinds import kind_of
    from dpsk.reporting._findings import Exposed, Note, Private
    from dpsk.reporting._parts import parts_of

    # What classes of somebody's own say of themselves is not asked for.
    if kind_of(type(fitted)) is not None and hasattr(fitted, "fit"):
        check_is_fitted(fitted)

    members = isinstance(fitted, (list, tuple)) or (
        isinstance(fitted, dict) and "fit_time" not in fitted)
    if disjoint and not members:
        raise ValueError(f"disjoint=True: goes with a list or a dict of fitted members, each on "
                         f"its own part of the rows; got {type(fitted).__name__}.")
    name = SEVERAL if isinstance(fitted, (list, tuple, dict)) else type(fitted).__name__
    try:
        parts = list(parts_of(fitted, "" if members else name))
    except RecursionError:
        raise ValueError(f"{name}: holds itself, or too deeply what was fitted; give a flat list "
                         "of the fitted models.") from None
    kinds: Any = (tuple(part for part in parts if isinstance(part, kind))
                  for kind in (Private, Exposed, Note))
    private, exposed, notes = kinds
    report = PrivacyReport(name, private, exposed, notes, bool(disjoint))
    if not _adds_up_groups(report):
        return report
    return replace(report, notes=(*notes, Note(name, f"{SAME_GROUPS}.")))


def _adds_up_groups(report):
    """Return whether a report adds up guarantees for groups, and does not say so yet."""
    if report.relation != GROUP_RELATION or any(
            note.sentence == f"{SAME_GROUPS}." for note in report.notes):
        return False
    return sum(part.count for part in report.private) > 1 or any(
        SAME_GROUPS in part.certificate.public for part in report.private)
