"""Plots of fitted models, drawn from their private outputs."""

from dpsk.inspection._shapes import DPShapeDisplay

__all__ = ["DPShapeDisplay"]
