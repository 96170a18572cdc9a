"""Plot of a privacy plan: excess risk against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.utils._optional_dependencies import check_matplotlib_support

from dpsk._docs import documented
from dpsk._drawing import LineDisplay

if TYPE_CHECKING:
    from typing import Any

    from dpsk.planning._plan import PrivacyPlan

__all__ = ["PrivacyPlanDisplay"]


@documented
class PrivacyPlanDisplay(LineDisplay):
    """Plot of the predicted excess risk, with its range, at every epsilon of a plan.

    Make one by `from_plan`.

    Parameters
    ----------
    plan : PrivacyPlan
        The output of `plan_privacy`.

    Attributes
    ----------
    %(display)s

    See Also
    --------
    plan_privacy : Makes a plan.

    Examples
    --------
    >>> from dpsk.planning import PrivacyPlanDisplay, plan_privacy
    >>> display = PrivacyPlanDisplay.from_plan(plan_privacy(20_000, 10))  # doctest: +SKIP
    """

    def __init__(self, *, plan: PrivacyPlan) -> None:
        self.plan = plan

    def plot(self, ax: Any = None, *, name: str | None = None,
             **kwargs: Any) -> PrivacyPlanDisplay:
        """Draw curve and range on logarithmic axes, and the largest acceptable risk.

        Parameters
        ----------
        %(ax)s
        name : str or None, default=None
            Label of the line; None: the number of rows.
        **kwargs : dict
            Properties of the line.

        Returns
        -------
        display : PrivacyPlanDisplay
            With the axes, the figure and the line.
        """
        plan = self.plan
        self._drawn(ax, name or f"{plan.n_samples} rows", "loglog", plan.epsilon,
                    plan.excess_risk, {"marker": "o", **kwargs}, xlabel="epsilon",
                    ylabel="predicted excess risk")
        self.ax_.fill_between(plan.epsilon, *plan.excess_risk_range.T, alpha=0.2,
                              color=self.line_.get_color())
        self.ax_.axhline(plan.largest_excess_risk, color="gray", linestyle=":")
        return self

    @classmethod
    def from_plan(cls, plan: PrivacyPlan, *, ax: Any = None, name: str | None = None,
                  **kwargs: Any) -> PrivacyPlanDisplay:
        """Draw a plan.

        Parameters
        ----------
        plan : PrivacyPlan
            The output of `plan_privacy`.
        %(ax)s
        name : str or None, default=None
            Label of the line; None: the number of rows.
        **kwargs : dict
            Properties of the line.

        Returns
        -------
        display : PrivacyPlanDisplay
            With the axes, the figure and the line.
        """
        check_matplotlib_support(f"{cls.__name__}.from_plan")
        return cls(plan=plan).plot(ax, name=name, **kwargs)
