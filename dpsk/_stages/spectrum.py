"""Directions of a second moment that stand out of its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["Spectrum"]

#: A direction is kept where its moment is this many times as large as noise alone makes any.
_ABOVE_NOISE = 1.5
#: By default there are no more directions: classifiers gain nothing from those beyond.
_MOST_DIRECTIONS = 64
#: Without noise: directions of less than this share of the largest moment are none.
_LEAST_MOMENT = 1e-10


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Directions of a released moment, and what rows vary in them.

    Noise of deviation s on the diagonal, and ``sqrt(1/2)`` of it beside, has eigenvalues up to
    ``e = s sqrt(2 d)``. In a direction found at ``v > e`` rows have ``sqrt(v^2 - e^2)``.

    Parameters
    ----------
    vectors : ndarray of shape (d, d)
        Its columns are the directions, those of the largest moments first. Of each the entry of
        largest size is positive, so that signs follow from what was released.
    found : ndarray of shape (d,)
        Second moments in those directions, 0 where noise hides them.
    edge : float
        ``e``.
    n_clear : int
        How many stand clear of the noise, from 1 to 64.

    References
    ----------
    Benaych-Georges, Nadakuditi (2011), "The eigenvalues and eigenvectors of finite, low rank
    perturbations of large random matrices".
    """

    vectors: np.ndarray
    found: np.ndarray
    edge: float
    n_clear: int

    @classmethod
    def of(cls, moment: FloatArray, noise_std: float) -> Spectrum:
        """Return the spectrum of a noisy second moment, shape (d, d)."""
        values, vectors = np.linalg.eigh(moment)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        largest = np.argmax(np.abs(vectors), axis=0)
        vectors = vectors * np.where(vectors[largest, np.arange(len(moment))] < 0, -1.0, 1.0)
        edge = noise_std * math.sqrt(2.0 * len(moment))
        clear = values > max(_ABOVE_NOISE * edge, _LEAST_MOMENT * values[0])
        return cls(vectors, np.sqrt(np.maximum(values**2 - edge**2, 0.0)), edge,
                   min(max(1, int(clear.sum())), _MOST_DIRECTIONS))
