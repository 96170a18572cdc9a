"""Private policy evaluation."""

from dpsk.reinforcement_learning._td import DPTDRegressor

__all__ = ["DPTDRegressor"]
