"""The longest row of a source, wherever its rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsk._data.source import RowSource

__all__ = ["longest"]

#: Rows whose norms are taken at once.
_PART = 1 << 16


def longest(rows: RowSource) -> float:
    """Return the largest l2 norm of the rows of a source: sensitive."""
    return max(rows.each(_longest_here))


def _longest_here(rows: RowSource) -> float:
    return max(float(rows.norms(part).max()) for part in rows.blocks(_PART))
