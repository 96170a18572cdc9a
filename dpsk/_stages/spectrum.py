"""Directions of a noisy second moment that stand out of the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["Spectrum"]

#: A direction is kept if its moment is this many times the largest eigenvalue of noise alone.
_ABOVE_NOISE = 1.5
#: Largest default number of directions: classifiers gain nothing from more.
_MOST_DIRECTIONS = 64
#: Without noise, directions with less than this share of the largest moment are dropped.
_LEAST_MOMENT = 1e-10


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Principal directions of a released second moment, and denoised moments in them.

    Noise with standard deviation s on the diagonal, and ``s sqrt(1/2)`` off it, has eigenvalues
    up to ``e = s sqrt(2 d)``. A direction with the noisy eigenvalue ``v > e`` has the moment
    ``sqrt(v^2 - e^2)``.

    Parameters
    ----------
    vectors : ndarray of shape (d, d)
        The columns are the directions, by decreasing moment. The entry of largest size in each
        is positive, so that signs are determined by the released moment.
    found : ndarray of shape (d,)
        Second moments in those directions, 0 where noise hides them.
    edge : float
        ``e``.
    n_clear : int
        Number of directions that stand out of the noise, from 1 to 64.

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
