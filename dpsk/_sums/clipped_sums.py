"""Sums of clipped vectors over rows, for oracles only; a subclass makes the vectors."""

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
    """Rows, and the sums of their clipped gradients: exact or rounded, sensitive in any case.

    A gradient that is not finite enters as zero. No (n, dimension) array is made.

    Parameters
    ----------
    model : LinearModel, MLP or values of states
    loss : Loss
    n_samples : int
        The public number of rows, or of groups, of the whole sum.
    clip : Clip
        Of what a row, or a group, adds.

    Attributes
    ----------
    resolution : float or None
        Every sum is a multiple of it, exactly; None where sums are rounded.
    arithmetic : {"float", "grid"}
    """

    resolution: float | None = None
    arithmetic = "float"

    def __init__(self, model: Any, loss: Any, n_samples: int, clip: Clip) -> None:
        self.model, self.loss, self.n_samples, self.clip = model, loss, n_samples, clip

    @property
    def clip_norm(self) -> float:
        """float : bound on the norm of what a row, or a group, adds."""
        return self.clip.norm

    def rounding_terms(self, n_rows: float) -> Any:
        """Return the `terms` of a part of an answer that sums over `n_rows`."""
        return self.model.rounding_terms(n_rows)

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped gradients at `theta`, float64, shape of theta.

        `rows` are the indices of the rows, or of the groups, to sum over; None for all.
        """
        return self.finish(self.partial(theta, rows))

    def partial(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return the part of a gradient that adds up over places, of these rows."""
        return clipped_sum(self.terms(theta, rows), self.clip, self.zeros())

    def zeros(self) -> Any:
        """Return a total of nothing, that terms add to."""
        return np.zeros(self.model.shape)

    def finish(self, total: FloatArray) -> FloatArray:
        """Return the gradient that a total of parts stands for."""
        return total

    @abstractmethod
    def terms(self, theta: FloatArray, rows: Chosen) -> Iterable[Terms]:
        """Yield the gradients at `theta` of all rows or groups, or of those of some indices."""
