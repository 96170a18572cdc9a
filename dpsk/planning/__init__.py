"""Plan a privacy budget from public numbers, before any row is looked at."""

from dpsk.planning._display import PrivacyPlanDisplay
from dpsk.planning._plan import PrivacyPlan, plan_privacy

__all__ = ["PrivacyPlan", "PrivacyPlanDisplay", "plan_privacy"]
