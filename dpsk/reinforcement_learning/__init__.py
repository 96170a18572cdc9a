"""Values of states under a policy."""

from dpsk.reinforcement_learning._td import DPTDRegressor

__all__ = ["DPTDRegressor"]
