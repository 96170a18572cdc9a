"""What an audit found: text, page, numbers and picture."""

from __future__ import annotations

import html
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpsk.auditing._claim import Claim
from dpsk.auditing._displays import AuditDisplay

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["AuditResult"]

_COLUMNS = ("tables", "statistic", "most by", "runs", "type I <=", "type II <=", "claim allows",
            "epsilon >=")


@dataclass(frozen=True)
class AuditResult:
    """What an audit has shown of a claim; made by `audit`.

    A lower bound on epsilon above the claim refutes it; a bound below it proves nothing.

    Attributes
    ----------
    estimator : str
        Its name.
    claim : Claim
        With `epsilon`, `delta` and, where there is one, the `event`.
    evidence : tuple of Evidence
        One a test; all limits in it hold together with probability ``1 - level``.
    level : float
        Probability, at most, that a claim that holds is refuted.
    fits : int
        How many were made.
    seconds : float
        How long it took.
    scores : tuple of ndarray or None
        Of the fits on either table by the test of the last round that bounds epsilon best.

    See Also
    --------
    audit : Makes one.
    AuditDisplay : Its picture.

    Examples
    --------
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.auditing import audit
    >>> found = audit(DPLogisticRegression(epsilon=1.0, precondition=False), runs=40, level=1e-6)
    >>> found.refuted, found.epsilon_lower <= found.claim.epsilon
    (False, True)
    """

    estimator: str
    claim: Claim
    evidence: tuple
    level: float
    fits: int
    seconds: float
    scores: tuple | None = field(repr=False, compare=False)

    @property
    def delta(self) -> float:
        """float : at which epsilon is bounded, that of the claim."""
        return self.claim.delta

    @property
    def epsilon_lower(self) -> float:
        """float : the greatest lower bound on epsilon at `delta`; 0 where nothing is shown."""
        return max((each.epsilon for each in self.evidence), default=0.0)

    @property
    def refuted(self) -> bool:
        """bool : whether some test makes fewer errors than the claim allows."""
        return any(each.refutes for each in self.evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the scores as a dict that JSON holds.

        Returns
        -------
        data : dict
            Of plain JSON types.
        """
        return {"estimator": self.estimator, "refuted": self.refuted,
                "claim": {"epsilon": self.claim.epsilon, "delta": self.claim.delta,
                          "origin": self.claim.origin},
                "epsilon_lower": self.epsilon_lower, "delta": self.delta, "level": self.level,
                "fits": self.fits, "seconds": round(self.seconds, 3),
                "evidence": [dict(asdict(each), refutes=each.refutes) for each in self.evidence]}

    def to_json(self) -> str:
        """Return `to_dict` as text.

        Returns
        -------
        text : str
            JSON.
        """
        return json.dumps(self.to_dict(), indent=2)

    def plot(self, ax: Any = None) -> AuditDisplay:
        """Draw the claim and what has been shown.

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
                 f"{each.allowed:.3f}", f"{each.epsilon:.2f}" + " *" * each.refutes)
                for each in self.evidence]

    def _facts(self):
        verdict = "REFUTED" if self.refuted else "not refuted, which proves nothing"
        return [("claim", str(self.claim)), ("verdict", verdict),
                ("shown", f"epsilon >= {self.epsilon_lower:.3g} at delta {self.delta:.3g}, with "
                          f"confidence {1 - self.level:.6g}"),
                ("fits", f"{self.fits} in {self.seconds:.0f} s")]

    def __str__(self) -> str:
        lines = [f"Audit of {self.estimator}"]
        lines += [f"  {name:8} {value}" for name, value in self._facts()]
        if not self.evidence:
            return "\n".join([*lines, "  nothing that is published ever varied"])
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
        """Return the observed trade-off between both errors of the best test of the last round.

        Returns
        -------
        type_one_error, type_two_error : ndarray of shape (n_points,)
            Shares of fits that it takes for those on the other table.
        """
        if self.scores is None:
            return np.array([0.0, 1.0]), np.array([1.0, 0.0])
        cuts = np.unique(np.concatenate(self.scores))
        cuts = np.append(-np.inf, np.quantile(cuts, np.linspace(0, 1, min(200, len(cuts)))))
        first, second = (np.sort(scores) for scores in self.scores)
        return (1 - np.searchsorted(first, cuts, "right") / len(first),
                np.searchsorted(second, cuts, "right") / len(second))
