"""Hyperparameter search and threshold tuning under one privacy budget."""

from dpsk.model_selection._grid import DPGridSearchCV
from dpsk.model_selection._randomized import DPRandomizedSearchCV
from dpsk.model_selection._threshold import DPTunedThresholdClassifier

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV", "DPTunedThresholdClassifier"]
