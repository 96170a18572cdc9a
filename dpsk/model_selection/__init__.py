"""Choice of hyper-parameters and thresholds under one budget: nothing is shown but the best."""

from dpsk.model_selection._grid import DPGridSearchCV
from dpsk.model_selection._randomized import DPRandomizedSearchCV
from dpsk.model_selection._threshold import DPTunedThresholdClassifier

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV", "DPTunedThresholdClassifier"]
