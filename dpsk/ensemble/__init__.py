"""Gradient boosting: trees on top of an additive model, or by themselves."""

from dpsk.ensemble._classifier import DPGradientBoostingClassifier
from dpsk.ensemble._regressor import DPGradientBoostingRegressor

__all__ = ["DPGradientBoostingClassifier", "DPGradientBoostingRegressor"]
