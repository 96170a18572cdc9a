"""The largest l2 norm of the rows of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsk._data.source import RowSource

__all__ = ["longest"]

#: Number of rows whose norms are computed at once.
_PART = 1 << 16


def longest(rows: RowSource) -> float:
    """Return the largest l2 norm of the rows of a source, a sensitive value."""
    return max(rows.each(_longest_here))


def _longest_here(rows: RowSource) -> float:
    return max(float(rows.norms(part).max()) for part in rows.blocks(_PART))
