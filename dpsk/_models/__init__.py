"""Maps from rows to raw predictions."""

from dpsk._models.linear import LinearModel

__all__ = ["LinearModel"]
