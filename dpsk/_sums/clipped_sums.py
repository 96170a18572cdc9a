"""Base class of sums of clipped vectors over rows, for oracles only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dpsk._sums.terms import clipped_sum

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dpsk._sums.clip import Clip
    from dpsk._sums.terms import Terms
    from dpsk._typing import Chosen, FloatArray

__all__ = ["ClippedSums"]


class ClippedSums(ABC):
    """Base class of sums of clipped gradients; a subclass computes the gradients.

    All sums are sensitive. A gradient that is not finite counts as zero. No (n, dimension) array
    is allocated.

    Parameters
    ----------
    model : LinearModel, MLP or StateMap
    loss : Loss
    n_samples : int
        The public number of rows, or of groups, in the whole sum.
    clip : Clip
        The clip of what a row, or a group, adds.

    Attributes
    ----------
    resolution : float or None
        Grid spacing: every sum is an exact multiple of it; None where sums are rounded.
    arithmetic : {"float", "grid"}
    """

    resolution: float | None = None
    arithmetic = "float"

    def __init__(self, model: Any, loss: Any, n_samples: int, clip: Clip) -> None:
        self.model, self.loss, self.n_samples, self.clip = model, loss, n_samples, clip

    @property
    def clip_norm(self) -> float:
        """float : bound on the norm of what a row or a group adds."""
        return self.clip.norm

    def rounding_terms(self, n_rows: float) -> Any:
        """Return `Sensitivity.terms` for an array that sums over `n_rows`."""
        return self.model.rounding_terms(n_rows)

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped gradients at `theta`, float64, of the shape of theta.

        `rows` are the indices of the rows, or of the groups, to sum over; None for all.
        """
        return self.finish(self.partial(theta, rows))

    def partial(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return this location's sum of gradients, which the caller adds over locations."""
        return clipped_sum(self.terms(theta, rows), self.clip, self.zeros())

    def zeros(self) -> Any:
        """Return a zero total, which terms add to."""
        return np.zeros(self.model.shape)

    def finish(self, total: FloatArray) -> FloatArray:
        """Return the gradient from a total of the results of `partial`."""
        return total

    @abstractmethod
    def terms(self, theta: FloatArray, rows: Chosen) -> Iterable[Terms]:
        """Yield blocks of gradients at `theta`; `rows` as for `gradient`."""
