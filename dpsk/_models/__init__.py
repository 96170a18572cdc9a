"""Maps from rows to raw predictions, and from rows to rows."""

from __future__ import annotations

from dpsk._models.about_center import LessCenter, ScaledColumns, about_center
from dpsk._models.linear import LinearModel
from dpsk._models.mlp import MLP
from dpsk._models.preconditioner import Preconditioner
from dpsk._models.scale import ScaleModel
from dpsk._models.short_rows import ShortRows
from dpsk._models.whitened import WhitenedModel

__all__ = ["MLP", "LessCenter", "LinearModel", "Preconditioner", "ScaleModel", "ScaledColumns",
           "ShortRows", "WhitenedModel", "about_center"]
