"""Normal distributions of rows, one per class, and a generator fitted to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._models.generator import Generator
    from dpsk._typing import FloatArray

__all__ = ["ClassLaws", "following"]

#: Number of draws that output layers are fitted to.
_DRAWS = 1 << 12
#: Ridge penalty of that fit, relative to the mean square of units.
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class ClassLaws:
    """Normal distributions of the classes' rows in a subspace.

    Parameters
    ----------
    center : ndarray of shape (d,)
    basis : ndarray of shape (d, k)
    means : ndarray of shape (n_classes, k)
    factors : ndarray of shape (n_classes, k, k)
        Factors F of the covariances ``F F'``, with the column of the least direction first.
    """

    center: np.ndarray
    basis: np.ndarray
    means: np.ndarray
    factors: np.ndarray

    def rows(self, label: int, noise: FloatArray) -> FloatArray:
        """Return a row of class `label` per row of normals, along the main directions."""
        factor = self.factors[label][:, ::-1][:, :noise.shape[1]]
        return self.center + (self.means[label] + noise[:, :factor.shape[1]] @ factor.T
                              ) @ self.basis.T


def following(generator: Generator, theta: FloatArray, laws: ClassLaws,
              normals: Callable[..., FloatArray]) -> FloatArray:
    """Return weights whose output layer of every class is fitted to its distribution.

    Least squares fits the outputs for rows of the distribution, before their map to ranges, on
    the units of the last hidden layer. Rows and units come from the same public normals.
    """
    theta = theta.copy()
    noise = normals((_DRAWS, generator.n_noise))
    _, heads, _, head_biases = generator.parts(theta)
    units, _, _ = generator.units(theta, noise)
    inputs = np.column_stack([units[-1].astype(np.float64), np.ones(_DRAWS)])
    squares = inputs.T @ inputs
    squares[np.diag_indices(len(squares))] += _RIDGE * _DRAWS
    for label in range(generator.n_classes):
        wanted = generator.outputs(laws.rows(label, noise))
        found = np.linalg.solve(squares, inputs.T @ wanted)
        heads[label], head_biases[label] = found[:-1], found[-1]
    return theta
