"""Black-box audits: what repeated runs on two neighboring data sets prove about a guarantee."""

from dpsk.auditing._bounds import delta_lower_bound, epsilon_lower_bound, mu_lower_bound

__all__ = ["delta_lower_bound", "epsilon_lower_bound", "mu_lower_bound"]
