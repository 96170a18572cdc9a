"""Ranking: scores with a large area under the ROC curve."""

from dpsk.ranking._auc import DPAUCMaximizer

__all__ = ["DPAUCMaximizer"]
