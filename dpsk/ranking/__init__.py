"""Models whose scores rank rows."""

from dpsk.ranking._auc import DPAUCMaximizer

__all__ = ["DPAUCMaximizer"]
