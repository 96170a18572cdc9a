"""Privacy report of a fitted object, assembled from its parts."""

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
    """Report the total privacy cost of fitted objects, and unprotected parts.

    Parameters
    ----------
    fitted : object
        A fitted estimator, private or not; a pipeline, union, ensemble, calibrator or search of
        scikit-learn; the output of `cross_validate`; a budget, which counts in full; certificates;
        reports; or a list or dict of these.
    disjoint : bool, default=False
        Whether the members of a list or dict were fitted to disjoint parts of the rows, split by
        position and not by their values; for fits with `groups`, to disjoint sets of whole
        groups, split by name. The privacy cost for a row or group is then that of one member.

    Returns
    -------
    report : PrivacyReport
        The report, as text, HTML, JSON and a paragraph for a model card.

    Raises
    ------
    NotFittedError
        If an estimator is not fitted.
    ValueError
        If `disjoint` is set without a list or dict of members, or if an object contains itself.

    See Also
    --------
    dpsk.PrivacyBudget : Limits fits beforehand, also if they depend on each other's results.
    dpsk.accounting.total : One certificate for several.

    Notes
    -----
    *Privacy.* A report reads certificates and public settings only. It composes all events with
    one accountant, and its total is at most the sum of epsilons. The total holds if no fit
    depended on the result of another. scikit-learn does not keep the candidates of a search:
    each counts with its full epsilon and delta, in as many folds as a row is trained on. Objects
    that the report does not know count as not private.

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
    # Imported here because these modules import all of scikit-learn's wrappers.
    from dpsk._kinds import kind_of
    from dpsk.reporting._findings import COUNTED, Exposed, Note, Private
    from dpsk.reporting._parts import parts_of

    # Methods of user-defined classes are not called.
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
    if report.relation != GROUP_RELATION:
        report = replace(report, exposed=tuple(
            part for part in exposed if part.why != COUNTED))
    if not _adds_up_groups(report):
        return report
    return replace(report, notes=(*notes, Note(name, f"{SAME_GROUPS}.")))


def _adds_up_groups(report):
    """Return whether a report composes group guarantees without a note that says so."""
    if report.relation != GROUP_RELATION or any(
            note.sentence == f"{SAME_GROUPS}." for note in report.notes):
        return False
    return sum(part.count for part in report.private) > 1 or any(
        SAME_GROUPS in part.certificate.public for part in report.private)
