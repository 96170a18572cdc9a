"""Pictures of fitted models, drawn from what was released."""

from dpsk.inspection._shapes import DPShapeDisplay

__all__ = ["DPShapeDisplay"]
