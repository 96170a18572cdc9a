"""Steps: of what most numbers of a column are multiples, such as .25 or 1000.

A column of prices in quarters or of pay in thousands has many rows at every multiple, and none
between two. Whether a number is a multiple of a step is a flag, and flags are summed like all
columns. Zeros are left out, as 0 is a multiple of everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._statistics.column_sums import noisy_flag_counts

if TYPE_CHECKING:
    from dpsk._data.source import Rows
    from dpsk._mechanism.session import Session
    from dpsk._typing import AnyArray, BoolArray, FloatArray

__all__ = ["noisy_steps"]

#: Steps that are looked for, and the largest distance from a multiple, in steps.
_STEPS = (0.01, 0.05, 0.1, 0.2, 0.25, 0.5, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 500.0, 1000.0)
_CLOSE = 1e-5
#: Share of the numbers that are multiples of a step, and how far their count is above it, in
#: standard deviations of its noise.
_MULTIPLES, _CLEAR = 0.7, 3.0


def noisy_steps(rows: Rows, whole: BoolArray, mu: float, session: Session) -> FloatArray:
    """Return the largest step of every column, by noisy counts; 0 where noise hides them all.

    Parameters
    ----------
    rows : Rows
        NaN where a number is missing.
    whole : ndarray of bool, shape (n_columns,)
        Which columns hold integers, which are public.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    """
    sought = [(place, step) for place, integers in enumerate(whole)
              for step in (None, *_STEPS) if step is None or step > 1.0 or not integers]
    counts, noise = noisy_flag_counts(rows.viewed(_Multiples(tuple(sought))), mu, session)
    found = np.zeros(len(whole))
    for count, (place, step) in zip(counts, sought, strict=True):
        if step is None:
            least = _MULTIPLES * max(count, 0.0) + _CLEAR * noise
        elif count > least:
            found[place] = step
    return found


@dataclass(frozen=True)
class _Multiples:
    """Flags of numbers that are multiples of steps, for every place and step; None is any number.

    They are made block by block, as there are many for every number.
    """

    sought: tuple[tuple[int, float | None], ...]
    dtype = np.int8

    @property
    def width(self) -> int:
        """int : number of flags of a row."""
        return len(self.sought)

    def dense(self, X: FloatArray, out: AnyArray) -> None:
        """Write the flags of a block of rows."""
        with np.errstate(invalid="ignore", over="ignore"):
            for flags, (place, step) in zip(out.T, self.sought, strict=True):
                if step is None:
                    flags[:] = (X[:, place] != 0.0) & ~np.isnan(X[:, place])
                else:
                    away = X[:, place] / step
                    times = np.rint(away)
                    flags[:] = (times != 0.0) & (np.abs(away - times) <= _CLOSE)
