"""Black-box audits: what repeated runs on two neighboring data sets prove about a guarantee."""

from dpsk.auditing._audit import audit
from dpsk.auditing._bounds import delta_lower_bound, epsilon_lower_bound, mu_lower_bound
from dpsk.auditing._displays import AuditDisplay
from dpsk.auditing._result import AuditResult

__all__ = ["AuditDisplay", "AuditResult", "audit", "delta_lower_bound", "epsilon_lower_bound",
           "mu_lower_bound"]
