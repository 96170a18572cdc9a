"""Report on the total privacy cost of everything that was fitted to the same rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dpsk._privacy import accountant
from dpsk._privacy.certificate_fields import (
    GROUP_RELATION,
    RELATION,
    AsJson,
    html_table,
    rounded_up,
    written_epsilon,
)
from dpsk._privacy.certificate_sum import n_fits
from dpsk._privacy.events import Composed, Repeated
from dpsk.reporting._findings import COUNTED, LEARNT

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event

__all__ = ["SEVERAL", "PrivacyReport"]

#: Name of a list or a dict of members.
SEVERAL = "Several fits"
#: Relation of a report in which some fits protect rows and others groups of rows.
_NO_UNIT = "none: some fits protect rows, others groups of rows"
_FIXED = ("The total holds if no result of one fit decided whether or how another one was made; "
          "otherwise fit within a PrivacyBudget.")
_DISJOINT = "members are taken to share no row, so that a row pays for one member only."


@dataclass(frozen=True)
class PrivacyReport(AsJson):
    """A privacy report, made by `privacy_report`.

    It is shown as text or HTML, and written as JSON.

    Attributes
    ----------
    name : str
        Name of the reported object.
    private : tuple of Private
        Private fits: their places, their certificates, and how many of each use one row.
    exposed : tuple of Exposed
        Parts without noise or of unknown privacy, in plain sentences.
    notes : tuple of Note
        Unverified assumptions of the guarantee.
    disjoint : bool
        Whether the members are assumed, without a check, to be fitted to disjoint parts of the
        rows.

    See Also
    --------
    privacy_report : Makes one.
    dpsk.Certificate : The guarantee of one fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression, privacy_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fits = [DPLogisticRegression(epsilon=0.5, delta=1e-6).fit(X, y) for _ in range(2)]
    >>> report = privacy_report(fits)
    >>> report.is_private, report.epsilon < 1.0
    (True, True)
    """

    name: str
    private: tuple
    exposed: tuple
    notes: tuple
    disjoint: bool = False

    @property
    def is_private(self) -> bool:
        """bool : whether there is a guarantee for the whole object."""
        return (not self.exposed and bool(self.private) and self.delta < 1
                and self.fits_epsilon < math.inf)

    @property
    def is_counted(self) -> bool:
        """bool : whether all private fits are known and protect the same unit."""
        return self.relation != _NO_UNIT and all(
            part.why in (LEARNT, COUNTED) for part in self.exposed)

    @property
    def delta(self) -> float:
        """float : the sum of the deltas of all fits that use one row."""
        return max((sum(part.count * part.certificate.delta for part in parts)
                    for parts in self._alternatives()), default=0.0)

    @property
    def epsilon(self) -> float:
        """float : epsilon of the whole object at `delta`; inf without a guarantee."""
        return self.fits_epsilon if not self.exposed else math.inf

    @cached_property
    def fits_epsilon(self) -> float:
        """float : epsilon of the private fits alone at `delta`.

        It is not a guarantee for the whole object: a row that affects other rows before a fit, or
        that a fit receives twice, may cost more. Infinite if not all private fits are counted,
        if there are none, or if delta is 1 or more.
        """
        if not self.is_counted or self.delta >= 1:
            return math.inf
        # The sum of epsilons is always an upper bound.
        most = max((sum(part.count * part.certificate.epsilon for part in parts)
                    for parts in self._alternatives()), default=math.inf)
        return min(most, self.epsilon_at(self.delta))

    @property
    def relation(self) -> str:
        """str : the neighboring relation of all fits: of rows, or of groups of rows."""
        found = {part.certificate.relation for part in self.private
                 if accountant.delta(part.certificate.event, 0.0) > 0.0}
        if len(found) > 1:
            return _NO_UNIT
        # If nothing has a privacy cost, the declared relation is returned.
        return found.pop() if found else next(
            (part.certificate.relation for part in self.private), RELATION)

    def epsilon_at(self, delta: float) -> float:
        """Return an upper bound on the epsilon of all private fits at a delta.

        Parameters
        ----------
        delta : float in [0, 1]
            Delta of the guarantee.

        Returns
        -------
        epsilon : float
            Infinite if nothing is private, or if fits protect different units.
        """
        if self.relation == _NO_UNIT:
            return math.inf
        return max((accountant.epsilon(event, delta) for event in self.events), default=math.inf)

    def delta_at(self, epsilon: float) -> float:
        """Return an upper bound on the delta of all private fits at an epsilon.

        Parameters
        ----------
        epsilon : float
            Finite and >= 0.

        Returns
        -------
        delta : float
            In [0, 1]; 1 if nothing is private, or if fits protect different units.
        """
        if self.relation == _NO_UNIT:
            return 1.0
        return max((accountant.delta(event, epsilon) for event in self.events), default=1.0)

    @property
    def events(self) -> tuple[Event, ...]:
        """tuple of Event : events of the fits on one row; one per disjoint part."""
        return tuple(Composed(tuple(
            part.certificate.event if part.count == 1 else
            Repeated(part.certificate.event, part.count) for part in parts))
            for parts in self._alternatives())

    @property
    def guarantee(self) -> str:
        """str : the guarantee in words, or that there is none."""
        if self.is_private:
            return f"{self._pair()}-differential privacy"
        if not self.private:
            return "no guarantee: nothing in it is known to be private"
        if self.relation == _NO_UNIT:
            return ("no guarantee: some fits protect rows, others groups of rows, which do not "
                    "add up; fit all with groups, or none")
        if self.delta >= 1:
            return "no guarantee: the deltas of the fits add up to 1 or more"
        if self.epsilon_at(self.delta) == math.inf:
            return "no guarantee: a fit has no noise"
        if not self.is_counted:
            return "no guarantee, and not all private fits in it can be counted"
        return (f"no guarantee for all of it; the private fits in it add up to {self._pair()} "
                "only where each row was given to them once, and unchanged by other rows")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON-serializable dict.

        Returns
        -------
        data : dict
            Values of plain JSON types.
        """
        return {
            "name": self.name, "guarantee": self.guarantee, "is_private": self.is_private,
            "epsilon": written_epsilon(self.epsilon),
            "fits_epsilon": written_epsilon(self.fits_epsilon), "delta": self.delta,
            "relation": self.relation, "disjoint": self.disjoint,
            "private": [{"path": part.path, "count": part.count,
                         "certificate": part.certificate.to_dict()} for part in self.private],
            "exposed": [{"path": part.path, "sentence": part.sentence} for part in self.exposed],
            "notes": [{"path": part.path, "sentence": part.sentence} for part in self.notes]}

    def model_card(self) -> str:
        """Return a paragraph on privacy for a model card.

        Returns
        -------
        text : str
            Plain sentences.
        """
        kinds = sorted({part.certificate.estimator for part in self.private})
        planned, fits = (max((sum(part.count * n_fits(part.certificate) * times(part)
                                  for part in parts) for parts in self._alternatives()), default=0
                             ) if self.is_counted else math.inf
                         for times in (lambda part: 1, lambda part: part.fits))
        was, has = ("were", "have") if self.name == SEVERAL else ("was", "has")
        first = f"{self.name} {was} trained with differential privacy"
        if not self.is_private:
            first = f"{self.name} {has} no differential privacy guarantee as a whole"
        sentences = [
            f"{first}: {self.guarantee}.",
            f"Neighbors are {self.relation.split(': ', 1)[1]}." if self.relation != _NO_UNIT
            else "It has no neighbors in common."]
        if kinds:
            unit = "group of rows" if self.relation == GROUP_RELATION else "row"
            times = "once" if fits == 1 else f"in at most {fits} fits"
            sentences.append(
                f"A {unit} was used {times} ({', '.join(kinds)}), which are composed numerically."
                if fits < math.inf else
                f"How many fits a {unit} was used in is not known ({', '.join(kinds)}).")
        if self.disjoint:
            sentences.append(_DISJOINT)
        sentences += [part.sentence for part in self.exposed]
        sentences += [part.sentence for part in self.notes]
        if planned > 1 and self.fits_epsilon < math.inf:
            sentences.append(_FIXED)
        return " ".join(dict.fromkeys(sentences))

    def __str__(self) -> str:
        return "\n".join([f"Privacy report: {self.name}",
                          *(f"  {name}: {text}" for name, text in self._lines())])

    def _repr_html_(self) -> str:
        return html_table(f"Privacy report: {self.name}", self._lines())

    def _lines(self):
        yield "guarantee", self.guarantee
        yield "relation", self.relation
        for part in self.private:
            times = f"{part.count} x " if part.count > 1 else ""
            yield "private", (f"{part.path}: {times}{part.certificate.estimator}, "
                              f"{part.certificate.guarantee}")
        for part in self.exposed:
            yield "NOT PRIVATE", f"{part.path}: {part.sentence}"
        for part in self.notes:
            yield "on trust", f"{part.path}: {part.sentence}"
        if self.disjoint:
            yield "on trust", _DISJOINT
        if sum(part.count for part in self.private) > 1 and self.fits_epsilon < math.inf:
            yield "provided", _FIXED

    def _pair(self):
        """Return epsilon and delta of the fits as text, rounded up."""
        return f"({rounded_up(self.fits_epsilon, 6)}, {rounded_up(self.delta, 3)})"

    def _alternatives(self):
        """Return the sets of fits that may use one row: all, or one disjoint part's."""
        if not self.disjoint:
            return [self.private] if self.private else []
        found = {}
        for part in self.private:
            found.setdefault(part.path.split("]")[0], []).append(part)
        return list(found.values())
