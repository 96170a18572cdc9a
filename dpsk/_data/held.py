"""Objects made of the rows of one place, and sums of results over places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray, IntArray

__all__ = ["Held", "added"]


class Held:
    """Object made of the rows of one place.

    Parameters
    ----------
    made : object
    """

    def __init__(self, made: Any) -> None:
        self._made = made

    def added(self, method: Any, *args: Any, rows: Any = None) -> Any:
        """Return the sum over places of the results of a method.

        `rows` are indices of rows, passed as the last argument of the method; None means all rows.
        """
        chosen = () if rows is None else (rows,)
        return getattr(self._made, method)(*args, *chosen)

    def rows(self, method: Any, *args: Any, width: Any) -> Any:
        """Return a source of the rows that a method returns, with `width` columns."""
        return getattr(self._made, method)(*args)


def added(answers: list[FloatArray | IntArray | tuple[FloatArray, ...]]) -> Any:
    """Return the sum of arrays, or the elementwise sum of tuples of arrays."""
    total, *others = answers
    for answer in others:
        if isinstance(total, tuple):
            total = tuple(map(np.add, total, answer))
        else:
            total = total + answer
    return total
