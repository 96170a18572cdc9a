"""Normal laws of rows, one a class, and the output layer of a generator that follows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._models.generator import Generator
    from dpsk._typing import FloatArray

__all__ = ["ClassLaws", "following"]

#: Draws that output layers are fitted to.
_DRAWS = 1 << 12
#: The ridge of that fit, over the mean square of units.
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class ClassLaws:
    """Normal laws of the classes' rows in a subspace.

    Parameters
    ----------
    center : ndarray of shape (d,)
    basis : ndarray of shape (d, k)
    means : ndarray of shape (n_classes, k)
    factors : ndarray of shape (n_classes, k, k)
        Of covariances ``F F'``, the column of the least direction first.
    """

    center: np.ndarray
    basis: np.ndarray
    means: np.ndarray
    factors: np.ndarray

    def rows(self, label: int, noise: FloatArray) -> FloatArray:
        """Return a row of a class for every row of normals, which stand for main directions."""
        factor = self.factors[label][:, ::-1][:, :noise.shape[1]]
        return self.center + (self.means[label] + noise[:, :factor.shape[1]] @ factor.T
                              ) @ self.basis.T


def following(generator: Generator, theta: FloatArray, laws: ClassLaws,
              normals: Callable[..., FloatArray]) -> FloatArray:
    """Return a generator's weights with the output layer of every class fitted to its law.

    Least squares of what rows of the law would be before they are brought to their ranges, on the
    units of the last hidden layer, both from the same public normals.
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
