"""Maps from rows to raw predictions, and of rows to rows."""

from dpsk._models.linear import LinearModel
from dpsk._models.mlp import MLP
from dpsk._models.preconditioner import Preconditioner
from dpsk._models.scale import ScaleModel
from dpsk._models.units import UnitRows

__all__ = ["MLP", "LinearModel", "Preconditioner", "ScaleModel", "UnitRows"]
