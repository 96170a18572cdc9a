"""Totals of sums from several places, before they are mapped once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Chosen, FloatArray

__all__ = ["WholeSums"]


class WholeSums:
    """Sums whose `gradient` and `curvature` are added over places as they are.

    Those that are mapped after they are added say what is added and what it then stands for.
    """

    if TYPE_CHECKING:
        def gradient(self, theta: FloatArray, rows: Chosen = None) -> Any: ...
        curvature: Any

    def whole_gradient(self, theta: FloatArray, rows: Chosen = None) -> Any:
        """Return what is added over places."""
        return self.gradient(theta, rows)

    def from_whole_gradient(self, whole: Any) -> Any:
        """Return the `gradient` that a total stands for."""
        return whole

    def whole_curvature(self, theta: FloatArray, *bound: Any) -> Any:
        """Return what is added over places."""
        return self.curvature(theta, *bound)

    def from_whole_curvature(self, whole: Any, *_: Any) -> Any:
        """Return the `curvature` that a total stands for."""
        return whole
