r"""Noisy second moments of rows, one matrix a class, in a subspace that was released.

A row of norm at most R, with a constant c appended, adds ``(z, c)(z, c)'`` to the matrix of its
class: its second moment, c times itself and c^2, so that one release has moments, sums and counts
of all classes. Replacing a row ``a = (x, c)`` of one class by ``b = (y, c)`` of another moves two
matrices, by ``aa'`` and ``bb'``: by ``sqrt(|a|^4 + |b|^4) <= sqrt(2) (R^2 + c^2)`` in all. Within
one class it moves one, by ``sqrt(|a|^4 + |b|^4 - 2 (a.b)^2)``, which is no more. So all classes
together cost what the second moment of all rows costs.

Separate releases at equal prices would have noise ``2 sqrt(2) R / mu`` on sums and ``2 R^2 / mu``
on moments. Jointly, with ``c = R / 2``, it is 2.5 and 1.77.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._models.clipping import shortened
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits

if TYPE_CHECKING:
    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import Features, FloatArray

__all__ = ["ClassMoments", "noisy_class_moments", "on_grid"]

#: Bits of entries of a basis, which are at most 1, and of rows, over their bound. Their sums of
#: products are at most the bound, by Cauchy and Schwarz, and therefore exact.
_BASIS_BITS, _ROW_BITS = 20, 24


@dataclass(frozen=True)
class ClassMoments:
    """Released moments of the classes.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
    sums : ndarray of shape (n_classes, k)
    moments : ndarray of shape (n_classes, k, k)
        Symmetric, sums over rows.
    count_noise, sum_noise, moment_noise : float
        Public standard deviations; the last of a diagonal entry, beside it ``sqrt(1/2)`` of it.
    """

    counts: np.ndarray
    sums: np.ndarray
    moments: np.ndarray
    count_noise: float
    sum_noise: float
    moment_noise: float


def on_grid(basis: FloatArray) -> FloatArray:
    """Return an orthonormal basis, shape (d, k), with entries of few bits."""
    return np.rint(basis * 2.0**_BASIS_BITS) * 2.0**-_BASIS_BITS


def noisy_class_moments(rows: RowSource, n_classes: int, basis: FloatArray, radius: float,
                        mu: float, session: Session) -> ClassMoments:
    """Return the `ClassMoments` of rows in a subspace.

    Parameters
    ----------
    rows : RowSource
        Its targets are the indices of the rows' classes.
    n_classes : int
        Of 1 the count is public, and carries no noise.
    basis : ndarray of shape (d, k), from `on_grid`
    radius : float
        Longer rows are scaled down to it, before and after they are brought to the subspace.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    """
    n_samples, (width, size) = len(rows), basis.shape
    constant = 2.0 ** (math.floor(math.log2(radius)) - 1)
    bound = math.sqrt(2.0) * (radius**2 + constant**2)
    unit = 2.0 ** -(exact_bits(n_samples * bound / math.sqrt(2.0), bound / mu) // 2)

    def total(batch: Batch) -> FloatArray:
        sums = np.zeros((n_classes, size + 1, size + 1))
        for part in row_blocks(n_samples, width):
            block = rows.take(part)
            entering = np.full((len(block.y), size + 1), np.trunc(constant / unit))
            entering[:, :size] = _in_subspace(block.X, basis, radius, unit)
            for label in range(n_classes):
                # In whole units every sum of products is exact, so no rounding shows the rows.
                own = entering[block.y == label]
                sums[label] += own.T @ own
        return sums * unit**2

    noisy = session(gaussian(mu), total, Sensitivity(bound, "symmetric_normal", unit**2))
    counts = noisy[:, -1, -1] / constant**2
    noise = bound / mu
    return ClassMoments(np.full(1, float(n_samples)) if n_classes == 1 else counts,
                        noisy[:, -1, :-1] / constant, noisy[:, :-1, :-1],
                        0.0 if n_classes == 1 else noise / constant**2,
                        noise / (math.sqrt(2.0) * constant), noise)


def _in_subspace(X: Features, basis: FloatArray, radius: float, unit: float) -> FloatArray:
    """Return rows of a block in the subspace, no longer than `radius`, in whole units."""
    row_unit = 2.0 ** (math.ceil(math.log2(radius)) - _ROW_BITS)
    rows = shortened(X.astype(np.float64), radius)
    rows /= row_unit
    np.trunc(rows, out=rows)
    rows *= row_unit
    found = shortened(rows @ basis, radius)
    found /= unit
    return np.trunc(found, out=found)
