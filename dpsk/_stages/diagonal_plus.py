"""Symmetric matrices that are diagonal plus low rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["DiagonalPlus"]

#: Least share of columns with equal diagonal entries at which `eigen` is faster than a full one.
_LEAST_ALIKE = 0.5


@dataclass(frozen=True, eq=False)
class DiagonalPlus:
    """The matrix ``diag(diagonal) + factors @ factors.T``.

    Parameters
    ----------
    diagonal : ndarray of shape (p,)
        Nonnegative entries.
    factors : ndarray of shape (p, k)
    """

    diagonal: FloatArray
    factors: FloatArray

    def eigen(self) -> tuple[FloatArray, FloatArray] | None:
        """Return unordered eigenvalues, and eigenvectors as columns; None where that is slow.

        Among columns with the same diagonal entry, every direction orthogonal to the factors is
        an eigenvector, with that entry as its eigenvalue.
        """
        entries, places, counts = np.unique(self.diagonal, return_inverse=True,
                                            return_counts=True)
        (width, k), most = self.factors.shape, counts.argmax()
        n_alike = counts[most] - k
        if n_alike < _LEAST_ALIKE * width:
            return None
        alike = places == most
        turn, short = qr(self.factors[alike]) if k else (np.eye(n_alike), np.empty((0, 0)))
        left = np.vstack([short[:k], self.factors[~alike]])
        small = left @ left.T
        small[np.diag_indices(len(small))] += np.append(np.full(k, entries[most]),
                                                        self.diagonal[~alike])
        values, few = np.linalg.eigh(small)
        vectors = np.zeros((width, width))
        vectors[alike, :n_alike] = turn[:, k:]
        vectors[alike, n_alike:] = turn[:, :k] @ few[:k]
        vectors[~alike, n_alike:] = few[k:]
        return np.append(np.full(n_alike, entries[most]), values), vectors

    def inverse(self, floor: float) -> tuple[FloatArray, FloatArray]:
        """Return s, shape (p,), and Z, shape (p, k), that give the inverse with a floor.

        ``diag(s**2) - Z @ Z.T`` is the inverse of the matrix with `floor` added to its diagonal.
        """
        squares = 1.0 / (self.diagonal + floor)
        scaled = squares[:, None] * self.factors
        values, vectors = np.linalg.eigh(self.factors.T @ scaled)
        return np.sqrt(squares), scaled @ (vectors / np.sqrt(1.0 + values))
