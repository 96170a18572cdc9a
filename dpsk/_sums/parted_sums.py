"""Sums over rows in several locations, which return only the sums of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.source import Rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import Chosen, FloatArray

__all__ = ["PartedSums", "sums_over"]

#: Methods that take a point, sum over all rows, and whose results are added over locations.
_ADDED = {"anchor_gradient", "hessian", "majorant", "value", "value_and_gradient"}


def sums_over(kind: Callable[..., Any], model: Any, loss: Any, rows: RowSource, *args: Any) -> Any:
    """Return the sums ``kind(model, loss, rows, *args)``, wherever the rows are."""
    if rows.is_parted:
        return PartedSums(kind, model, loss, rows, args)
    return kind(model, loss, rows, *args)


class PartedSums:
    """Sums of class `kind` at each location, added over the locations.

    Other attributes follow from public facts; an instance over one row of zeros provides them.
    """

    def __init__(self, kind: Callable[..., Any], model: Any, loss: Any, rows: RowSource,
                 args: tuple[Any, ...]) -> None:
        self._held = rows.hold(_made, kind, model, loss, args, rows.n_units)
        self._twin = _made(_zero(rows), kind, model, loss, args, rows.n_units)

    def __getattr__(self, name: str) -> Any:
        if name in _ADDED:
            return lambda theta: self._held.added(name, theta)
        return getattr(self._twin, name)

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> Any:
        """Return the sum of clipped gradients; `rows` are indices, None for all."""
        return self._twin.finish(self._held.added("partial", theta, rows=rows))

    def curvature(self, theta: FloatArray, bound: float) -> Any:
        """Return the sum of curvatures."""
        whole = self._held.added("partial_curvature", theta, bound)
        return self._twin.finish_curvature(whole, bound)

    def difference(self, theta: FloatArray, anchor: FloatArray, bound: float,
                   rows: Chosen = None) -> Any:
        """Return the sum of clipped differences of gradients from those at the anchor."""
        # A location that was lost and restored has no anchor.
        return self._held.added("difference_anew", theta, anchor, bound, rows=rows)

    def gradients(self, primal: FloatArray, dual: FloatArray, rows: Chosen = None) -> Any:
        """Return the sums of clipped primal and dual gradients."""
        return self._held.added("gradients", primal, dual, rows=rows)

    def dual_gradient(self, primal: FloatArray, dual: FloatArray, rows: Chosen = None) -> Any:
        """Return the sum of clipped dual gradients."""
        return self._held.added("dual_gradient", primal, dual, rows=rows)

    def differences(self, new: Any, old: Any, clip: float, rows: Chosen = None) -> Any:
        """Return the sum of clipped differences of clipped primal gradients."""
        return self._held.added("differences", new, old, clip, rows=rows)

    def scores(self, theta: FloatArray) -> Any:
        """Return a source of the rows' raw predictions."""
        return self._held.rows("scores", theta, width=self._twin.model.n_outputs or 1)


def _made(rows: RowSource, kind: Callable[..., Any], model: Any, loss: Any, args: tuple[Any, ...],
          n_samples: int | None) -> Any:
    return kind(model, loss, rows, *args, n_samples=n_samples)


def _zero(rows: RowSource) -> Any:
    """Return one row of zeros, which replaces the rows at other locations."""
    X = np.zeros((1, rows.n_features), rows.dtype)
    return Rows(sparse.csr_matrix(X) if rows.is_sparse else X, np.zeros(1), None,
                rows.weight_bound)
