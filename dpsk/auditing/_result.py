"""Result of an audit, with its text, HTML, JSON and plot."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy.certificate_fields import AsJson, rounded_down, rounded_up
from dpsk.auditing._claim import Claim
from dpsk.auditing._displays import AuditDisplay
from dpsk.auditing._power import Power

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["AuditResult"]

_COLUMNS = ("tables", "statistic", "most by", "runs", "type I <=", "type II <=", "claim allows",
            "epsilon >=")


@dataclass(frozen=True, repr=False)
class AuditResult(AsJson):
    """Evidence of an audit for or against a claim; made by `audit`.

    A lower bound on epsilon above the claim refutes it; a bound below it proves nothing. The
    verdict "not refuted" comes with the `power` of the audit. Where the audit could have found no
    leak at all, or a fit keeps a random generator that may draw its noise again, the verdict is
    "nothing tested", which speaks neither for the claim nor against it.

    Attributes
    ----------
    estimator : str
        Name of the estimator's class.
    claim : Claim
        The claim, with `epsilon`, `delta` and, where there is one, the `event`.
    evidence : tuple of Evidence
        One entry per test; all limits hold together with probability ``1 - level``.
    level : float
        Upper bound on the probability that a true claim is refuted.
    fits : int
        Number of fits.
    seconds : float
        Duration of the audit.
    scores : tuple of ndarray or None
        Scores of the fits on either table, by the test of the last round that bounds epsilon best.
    power : Power or None
        `epsilon_max`, the largest epsilon that the audit could have shown, and `refutes_from`, the
        least epsilon of a leak that it would have refuted in 19 cases of 20. Both are measured on
        one bit, through randomized response, planted in the published values. Leaks through other
        noise, such as Laplace noise, are refuted from a larger epsilon only. None if the claim is
        refuted, or if no test was judged.
    failed : tuple of str
        Number of fits that ended with an error, after the first on every table, by its type. They
        show nothing but their error, and `power` takes this into account.
    set_aside : tuple of str
        Pairs of tables that were not tested, as the estimator refuses one or both.
    partial : tuple of str
        Names of arrays and strings that were read in part, of compressed bytes, and of objects
        that do not show their contents; one entry says that a fit holds too many objects.
    generators : tuple of str
        Places of random generators that a fit made and kept, and that may draw its noise again.
    moves_features : bool
        Whether the tables of some tested pair differ in more than a target.

    See Also
    --------
    audit : Makes one.
    AuditDisplay : Its picture.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dpsk.auditing import audit
    >>> found = audit(StandardScaler(), claim=(1.0, 1e-5), runs=40)
    >>> found.verdict, found.epsilon_lower > found.claim.epsilon
    ('refuted', True)
    """

    estimator: str
    claim: Claim
    evidence: tuple
    level: float
    fits: int
    seconds: float
    scores: tuple | None = field(repr=False, compare=False)
    power: Power | None = None
    failed: tuple = ()
    set_aside: tuple = ()
    partial: tuple = ()
    generators: tuple = ()
    moves_features: bool = True

    @property
    def delta(self) -> float:
        """float : delta of the claim, at which epsilon is bounded."""
        return self.claim.delta

    @property
    def epsilon_lower(self) -> float:
        """float : greatest lower bound on epsilon at `delta`; 0 where nothing is shown."""
        return max((each.epsilon for each in self.evidence), default=0.0)

    @property
    def refuted(self) -> bool:
        """bool : whether some test makes fewer errors than the claim allows."""
        return any(each.refutes for each in self.evidence)

    @property
    def verdict(self) -> str:
        """str : "refuted", "not refuted" or "nothing tested"."""
        if self.refuted:
            return "refuted"
        return "nothing tested" if self.untested else "not refuted"

    @property
    def untested(self) -> str:
        """str : why nothing was tested; empty if something was."""
        if self.refuted:
            return ""
        if self.failed and (self.power is None or math.isinf(self.power.refutes_from)):
            return f"fits ended with an error: {', '.join(self.failed)}; nothing is seen of them"
        if self.power is None:
            return "nothing that is published ever varied, but for values that no two fits share"
        if math.isinf(self.power.refutes_from):
            return ("no leak would have refuted this claim with so few fits, however large; "
                    "raise runs")
        if self.generators:
            return ("a fit keeps random generators, from which its noise may be drawn again and "
                    f"taken off: {', '.join(self.generators)}; delete them in fit")
        if not self.moves_features:
            return ("the estimator refuses all tables but those that differ in a target alone; "
                    "give neighbors= that it takes")
        return ""

    def __repr__(self) -> str:
        return (f"AuditResult({self.estimator}, verdict={self.verdict!r}, "
                f"epsilon_lower={rounded_down(self.epsilon_lower, 3)}, "
                f"claim={rounded_up(self.claim.epsilon, 6)}, "
                f"power={self.power})")

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores as a JSON-serializable dict.

        Returns
        -------
        data : dict
            Values of plain JSON types.
        """
        power = None if self.power is None else {
            name: value if math.isfinite(value) else None
            for name, value in asdict(self.power).items()}
        return {"estimator": self.estimator, "verdict": self.verdict, "refuted": self.refuted,
                "untested": self.untested, "power": power, "failed": list(self.failed),
                "set_aside": list(self.set_aside),
                "partial": list(self.partial), "generators": list(self.generators),
                "claim": {"epsilon": self.claim.epsilon, "delta": self.claim.delta,
                          "origin": self.claim.origin},
                "epsilon_lower": self.epsilon_lower, "delta": self.delta, "level": self.level,
                "fits": self.fits, "seconds": round(self.seconds, 3),
                "evidence": [dict(asdict(each), refutes=each.refutes) for each in self.evidence]}

    def plot(self, ax: Any = None) -> AuditDisplay:
        """Draw the claim and the evidence.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None: new ones.

        Returns
        -------
        display : AuditDisplay
            With the axes, the figure and what is drawn.
        """
        return AuditDisplay.from_result(self, ax=ax)

    def _rows(self):
        return [(each.pair, each.statistic, each.of, str(each.runs),
                 f"{each.type_one_error:.3f}", f"{each.type_two_error:.3f}",
                 f"{each.allowed:.3f}", rounded_down(each.epsilon, 3) + " *" * each.refutes)
                for each in self.evidence]

    def _facts(self):
        verdict = {"refuted": "REFUTED", "not refuted": "not refuted, which proves nothing",
                   "nothing tested": f"NOTHING TESTED: {self.untested}"}[self.verdict]
        facts = [("claim", str(self.claim)), ("verdict", verdict),
                 ("shown", f"epsilon >= {rounded_down(self.epsilon_lower, 3)} at delta "
                           f"{rounded_up(self.delta, 3)}, with "
                           f"confidence {1 - self.level:.6g}")]
        if self.power is not None:
            facts.append(("power", _power(self.power)))
        if self.failed:
            facts.append(("failed", f"fits that ended with an error: {', '.join(self.failed)}"))
        if self.set_aside:
            facts.append(("set aside", f"one table or both refused: {'; '.join(self.set_aside)}"))
        if self.partial:
            facts.append(("in part", "some entries alone were read of " + ", ".join(self.partial)))
        if self.generators:
            facts.append(("kept", "random generators: " + ", ".join(self.generators)))
        return [*facts, ("fits", f"{self.fits} in {self.seconds:.0f} s")]

    def __str__(self) -> str:
        lines = [f"Audit of {self.estimator}"]
        lines += [f"  {name:9} {value}" for name, value in self._facts()]
        if not self.evidence:
            return "\n".join(lines)
        rows = [_COLUMNS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = "".join(f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>"
                        for name, value in self._facts())
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _COLUMNS)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                       for row in self._rows())
        return (f"<h4>Audit of {html.escape(self.estimator)}</h4><table>{facts}</table>"
                f"<table><tr>{head}</tr>{body}</table>")

    def error_rates(self) -> tuple[FloatArray, FloatArray]:
        """Return the observed trade-off of the best test of the last round.

        Returns
        -------
        type_one_error, type_two_error : ndarray of shape (n_points,)
            Fractions of fits on either table that the test attributes to the other table.
        """
        if self.scores is None:
            return np.array([0.0, 1.0]), np.array([1.0, 0.0])
        cuts = np.unique(np.concatenate(self.scores))
        cuts = np.append(-np.inf, np.quantile(cuts, np.linspace(0, 1, min(200, len(cuts)))))
        first, second = (np.sort(scores) for scores in self.scores)
        return (1 - np.searchsorted(first, cuts, "right") / len(first),
                np.searchsorted(second, cuts, "right") / len(second))


def _power(power):
    """Return the power of an audit as a sentence."""
    most = f"the audit could have shown epsilon {rounded_up(power.epsilon_max, 3)} at most"
    if math.isinf(power.refutes_from):
        return most
    return ("a published bit by randomized response of epsilon "
            f"{rounded_up(power.refutes_from, 3)} is refuted, leaks through other noise from "
            f"more; {most}")
