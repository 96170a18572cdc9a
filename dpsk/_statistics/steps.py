"""Steps: of what most numbers of a column are multiples, such as .25 or 1000.

A column of prices in quarters or of pay in thousands has many rows at every multiple, and none
between two. Whether a number is a multiple of a step is a flag, and flags are summed like all
columns. Zeros are left out, as 0 is a multiple of everything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._statistics.column_sums import moment_noise, noisy_column_sums

if TYPE_CHECKING:
    from dpsk._data.source import Rows
    from dpsk._mechanism.session import Session
    from dpsk._typing import BoolArray, FloatArray

__all__ = ["noisy_steps"]

#: Steps that are looked for, and the largest distance from a multiple, in steps.
_STEPS = (0.01, 0.05, 0.1, 0.2, 0.25, 0.5, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 500.0, 1000.0)
_CLOSE = 1e-5
#: Share of the numbers that are multiples of a step, and how far their count is above it, in
#: standard deviations of its noise.
_MULTIPLES, _CLEAR = 0.7, 3.0
#: Rows that are read at once.
_PART = 1 << 14


def noisy_steps(rows: Rows, whole: BoolArray, mu: float, session: Session) -> FloatArray:
    """Return the largest step of every column, by noisy counts; 0 where noise hides them all.

    Parameters
    ----------
    rows : Rows
        NaN where a number is missing. Those with a target below 0 are in no part.
    whole : ndarray of bool, shape (n_columns,)
        Which columns hold integers, which are public.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    """
    sought = [(place, step) for place, integers in enumerate(whole)
              for step in (None, *_STEPS) if step is None or step > 1.0 or not integers]
    flags = np.empty((len(rows), len(sought)), np.int8)
    for part in rows.blocks(_PART):
        block = rows.take(part)
        inside = (block.y >= 0)[:, None] & ~np.isnan(block.X) & (block.X != 0.0)
        for own, (place, step) in zip(flags[part].T, sought, strict=True):
            own[:] = inside[:, place] & _are_multiples(block.X[:, place], step)
    sums = noisy_column_sums(replace(rows, X=flags), np.zeros(len(sought)), np.ones(len(sought)),
                             mu, session)[1]
    counts, noise = 0.5 * (sums + rows.n_units), 0.5 * moment_noise(len(sought), mu)
    found = np.zeros(len(whole))
    for count, (place, step) in zip(counts, sought, strict=True):
        if step is None:
            least = _MULTIPLES * max(count, 0.0) + _CLEAR * noise
        elif count > least:
            found[place] = step
    return found


def _are_multiples(numbers: FloatArray, step: float | None) -> BoolArray:
    if step is None:
        return np.ones(len(numbers), bool)
    with np.errstate(invalid="ignore", over="ignore"):
        times = np.rint(numbers / step)
        return (times != 0.0) & (np.abs(numbers / step - times) <= _CLOSE)
