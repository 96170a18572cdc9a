"""The questions that pipelines, searches and reports ask an estimator with a privacy budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._kinds import OURS, kind_of

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Table

__all__ = ["Budgeted", "asked", "class_on_trust", "facts_on_trust"]


class Budgeted:
    """Mixin of estimators with parameters `epsilon` and `delta`; the defaults claim nothing.

    Privacy costs rest on these answers, so only subclasses are trusted. `asked` returns the
    defaults for any other class, whatever its attributes are called.
    """

    #: Whether all releases of a fit are certain to be Gaussian, at delta > 0.
    _is_gaussian: ClassVar[Any] = False
    #: The share of delta that may be a probability of revealing a row.
    _disclosed_share: ClassVar[Any] = 0.0
    #: Kind of targets, as `check_targets` takes it; None where a fit reads no targets.
    _target_checks: ClassVar[dict | None] = None
    #: Solvers by name; empty if there is no choice.
    _solvers: ClassVar[dict] = {}
    #: Whether exactly the missing values of the input are missing in the output.
    _keeps_missing: ClassVar[bool] = False

    def _check_params(self) -> None:
        """Raise a ValueError for a parameter out of range, before any row is looked at."""

    def _check_inside(self, y: Table | None, n_samples: int, params: dict[str, Any]) -> None:
        """Raise the errors of a fit about parameters and targets, as a step of a pipeline.

        `params` are those of the fit, without groups.
        """
        self._check_params()

    def _check_classes(self, classes: Any) -> None:
        """Raise a ValueError where there are more classes than the model takes."""

    def _label_facts(self, y: Any, n_samples: int) -> list[str]:
        """Return the public facts about labels, if there are any."""
        return []

    def _trusted_facts(self) -> list[str]:
        """Return the unverified assumptions of a fit about third-party code."""
        return []

    def _check_fit(self, n_samples: int, y: Any) -> Any:
        """Raise the errors of a fit to this many rows at this budget, for any columns."""

    def _check_table(self, X: Table, y: Table | None) -> None:
        """Raise the errors of a fit about these rows. Called on a clone, because it sets names."""

    def _named_solver(self) -> Any:
        """Return the solver that was requested by name, or None."""

    def _like_mapped(self, X: Table) -> Any:
        """Return rows of zeros with the output columns, or None if these are unknown."""

    def _like_most(self, X: Table) -> Any:
        """Return rows of zeros with the most output columns possible, or None if unknown."""
        return self._like_mapped(X)

    def _share(self, X: Table, whole: tuple[float, float]) -> float | None:
        """Return the share of mu^2 that a fit to X gets of a whole (epsilon, delta).

        None if there is no rule.
        """

    def _behind(self, code: Any) -> None:
        """Note, once fitted, how the previous step maps tables; None if it does not map one."""

    def _within(self, whole: tuple[float, float]) -> None:
        """Note the whole (epsilon, delta) of which this fit gets a part."""


#: Classes of other packages may use these names for anything, so their answers are ignored.
_UNKNOWN = Budgeted()


def class_on_trust(cls: type) -> list[str]:
    """Return the unverified assumption about a class of private estimators, if there is one."""
    # Methods of a subclass, or of a class of another package, may learn from rows as well.
    return [] if kind_of(cls) == OURS else [
        f"that {cls.__name__} releases no more than its certificate says"]


def facts_on_trust(estimator: Any) -> list[str]:
    """Return the unverified assumptions of a fit of a private estimator, its class included."""
    return [*class_on_trust(type(estimator)), *asked(estimator)._trusted_facts()]


def asked(estimator: Any) -> Budgeted:
    """Return the estimator if it belongs to this package, else the defaults."""
    return estimator if isinstance(estimator, Budgeted) else _UNKNOWN
