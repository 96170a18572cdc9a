"""The largest l2 norm of the rows of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsk._data.source import RowSource

__all__ = ["beyond_longest"]

#: Number of rows whose norms are computed at once.
_PART = 1 << 16
#: The bound over the largest norm, for rounding.
_MORE = 1.001


def beyond_longest(rows: RowSource) -> float:
    """Return a bound above the l2 norms of the rows of a source, a sensitive value."""
    return _MORE * max(rows.each(_longest_here))


def _longest_here(rows: RowSource) -> float:
    return max(float(rows.norms(part).max()) for part in rows.blocks(_PART))
