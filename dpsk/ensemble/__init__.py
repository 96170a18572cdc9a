"""Ensembles of trees: gradient boosting, on top of an additive model or not, and forests."""

from dpsk.ensemble._classifier import DPGradientBoostingClassifier
from dpsk.ensemble._forest import DPRandomForestClassifier, DPRandomForestRegressor
from dpsk.ensemble._regressor import DPGradientBoostingRegressor

__all__ = ["DPGradientBoostingClassifier", "DPGradientBoostingRegressor",
           "DPRandomForestClassifier", "DPRandomForestRegressor"]
