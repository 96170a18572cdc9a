"""Additive models: a curve for every column of a table."""

from dpsk.additive._classifier import DPAdditiveClassifier
from dpsk.additive._regressor import DPAdditiveRegressor

__all__ = ["DPAdditiveClassifier", "DPAdditiveRegressor"]
