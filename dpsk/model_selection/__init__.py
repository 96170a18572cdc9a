"""Search of hyper-parameters under one budget: nothing is shown but the best."""

from dpsk.model_selection._grid import DPGridSearchCV
from dpsk.model_selection._randomized import DPRandomizedSearchCV

__all__ = ["DPGridSearchCV", "DPRandomizedSearchCV"]
