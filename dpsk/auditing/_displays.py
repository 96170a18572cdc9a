"""Plot of a privacy claim together with the evidence of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from dpsk._docs import documented
from dpsk._drawing import LineDisplay
from dpsk._privacy.certificate_fields import rounded_up

if TYPE_CHECKING:
    from typing import Any

__all__ = ["AuditDisplay"]


@documented
class AuditDisplay(LineDisplay):
    """Plot of the errors that a claim allows, with the errors of the audit's tests.

    Make one by `AuditResult.plot`. The line is the trade-off function of the claim. The curve
    shows the errors of one statistic at all thresholds, with a band of pointwise limits. The
    marks are the limits of the tests that were fixed beforehand. A mark below the line refutes.

    Parameters
    ----------
    result : AuditResult
        What an audit returned.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of the axes.
    line_, curve_, marks_ : matplotlib artists
        The claim, the observed trade-off and the limits of the tests.

    See Also
    --------
    audit : Makes the result.
    dpsk.accounting.TradeOffCurveDisplay : The claim alone.

    Examples
    --------
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.auditing import audit
    >>> audit(DPLogisticRegression(), runs=500).plot()  # doctest: +SKIP
    """

    def __init__(self, *, result: Any) -> None:
        self.result = result

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> AuditDisplay:
        """Draw a result.

        Parameters
        ----------
        result : AuditResult
            What an audit returned.
        %(ax)s

        Returns
        -------
        display : AuditDisplay
            With the axes, the figure and what is drawn.
        """
        return cls(result=result).plot(ax)

    def plot(self, ax: Any = None) -> AuditDisplay:
        """Draw the claim and the evidence.

        Parameters
        ----------
        %(ax)s

        Returns
        -------
        display : AuditDisplay
            With the axes, the figure and what is drawn.
        """
        result = self.result
        alpha = np.linspace(0.0, 1.0, 201)
        self._drawn(ax, "claim", "plot", alpha, result.claim.type_two_error(alpha), {},
                    xlabel="type I error", ylabel="type II error",
                    title=_title(result))
        ax = self.ax_
        wrong, missed = result.error_rates()
        (self.curve_,) = ax.plot(wrong, missed, label="observed")
        if result.scores is not None:
            ax.fill_between(wrong, *_band(missed, len(result.scores[1]), result.level),
                            alpha=0.2, color=self.curve_.get_color(), linewidth=0)
        self.marks_ = ax.scatter([each.type_one_error for each in result.evidence],
                                 [each.type_two_error for each in result.evidence],
                                 marker="x", color="black", zorder=3, label="shown")
        ax.plot([0, 1], [1, 0], color="gray", linestyle=":", zorder=0)
        ax.legend()
        return self


def _title(result):
    """Return the verdict; "not refuted" comes with the power of the audit."""
    if result.verdict != "not refuted":
        return result.verdict
    least = rounded_up(result.power.refutes_from, 3)
    return f"not refuted; randomized response of epsilon {least} would be"


def _band(rates, runs, level):
    """Return pointwise two-sided Clopper-Pearson limits on rates."""
    counts = np.rint(rates * runs)
    low = betaincinv(np.maximum(counts, 1), runs - counts + 1, level / 2)
    high = betaincinv(counts + 1, np.maximum(runs - counts, 1), 1 - level / 2)
    return np.where(counts > 0, low, 0.0), np.where(counts < runs, high, 1.0)
