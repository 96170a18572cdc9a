"""The questions that pipelines, searches and reports ask an estimator with a privacy budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Table

__all__ = ["Budgeted", "asked"]


class Budgeted:
    """Mixin of estimators with parameters `epsilon` and `delta`; the defaults claim nothing.

    Privacy costs rest on these answers, so only subclasses are trusted. `asked` returns the
    defaults for any other class, whatever its attributes are called.
    """

    #: Whether all that a fit releases is Gaussian for sure, at delta > 0.
    _is_gaussian: ClassVar[Any] = False
    #: The share of delta that may be a chance to show a row.
    _disclosed_share: ClassVar[Any] = 0.0
    #: What targets must be, as `check_targets` takes it; None where a fit looks at none.
    _target_checks: ClassVar[dict | None] = None
    #: The solvers by name; none where there is nothing to choose.
    _solvers: ClassVar[dict] = {}
    #: Whether what is missing in rows is missing in what comes out, and nothing else is.
    _keeps_missing: ClassVar[bool] = False

    def _check_params(self) -> None:
        """Raise a ValueError for a parameter out of range, before any row is looked at."""

    def _check_inside(self, y: Table | None, n_samples: int) -> None:
        """Raise what a fit would of parameters and targets, as a step of a pipeline."""
        self._check_params()

    def _check_classes(self, classes: Any) -> None:
        """Raise a ValueError where there are more classes than the model takes."""

    def _label_facts(self, y: Any, n_samples: int) -> list[str]:
        """Return what is taken as public of labels, where there are any."""
        return []

    def _trusted_facts(self) -> list[str]:
        """Return what a fit takes on trust of code that others wrote, and cannot check."""
        return []

    def _check_fit(self, n_samples: int, y: Any) -> Any:
        """Raise what a fit to so many rows would at this budget, whatever the columns."""

    def _check_table(self, X: Table, y: Table | None) -> None:
        """Raise what a fit would of rows as they come; for a clone, as names are set."""

    def _named_solver(self) -> Any:
        """Return the solver that is asked for by name, None where there is none."""

    def _like_mapped(self, X: Table) -> Any:
        """Return rows of zeros with the columns that come out, None where they are not known."""

    def _like_most(self, X: Table) -> Any:
        """Return rows of zeros with all columns that may come out, None where not known."""
        return self._like_mapped(X)

    def _share(self, X: Table, whole: tuple[float, float]) -> float | None:
        """Return the share of mu^2 that a fit to X is worth of a whole (epsilon, delta).

        None where there is no rule.
        """

    def _behind(self, code: Any) -> None:
        """Take notice, when fitted, of the map of the step before, None where it is no table's."""

    def _within(self, whole: tuple[float, float]) -> None:
        """Take notice of the whole (epsilon, delta) that a fit is a part of."""


#: Classes of other packages may reuse our names for anything, so none of their answers count.
_UNKNOWN = Budgeted()


def asked(estimator: Any) -> Budgeted:
    """Return the estimator if it is one of ours, else the defaults."""
    return estimator if isinstance(estimator, Budgeted) else _UNKNOWN
