r"""Noisy counts, sums and second moments of classes, all from one query.

**One matrix per class**, in a subspace that was released before.

A row x of norm at most R, with a constant c appended, adds ``(x, c)(x, c)'`` to the matrix of its
class. This holds its second moment, c x and c^2, so one query gives moments, sums and counts of
all classes. Replacing a row ``a = (x, c)`` of one class by ``b = (y, c)`` of another moves two
matrices, by ``aa'`` and ``bb'``: by ``sqrt(|a|^4 + |b|^4) <= sqrt(2) (R^2 + c^2)`` in total.
Within one class it moves one matrix, by ``sqrt(|a|^4 + |b|^4 - 2 (a.b)^2)``, which is no more. So
all classes together have the privacy cost of the second moment of all rows.

Two separate queries of equal privacy cost would have noise ``2 sqrt(2) R / mu`` on sums and
``2 R^2 / mu`` on moments. The joint query, with ``c = R / 2``, has factors 2.5 and 1.77. Noise on
counts is ``7.07 / mu``; with ``c = R`` it is ``2.83 / mu``, and the factors are 2 and 2.83. We
use ``c = R`` with several classes, and ``c = R / 2`` with one, whose count is public.

**One matrix for all classes**, with counts and sums per class: a row ``(x, c)`` adds
``sqrt(u) c^2`` and ``sqrt(v) c x`` to its class and ``sqrt(w) xx'`` to the common matrix, each
divided by its own bound, with ``u + v + w = 1``. With ``t = x.y / R^2``, the inner product of two
rows is ``u + v t + w t^2`` within a class and ``w t^2`` across classes. Neither is negative for
any t if ``v^2 <= 4 u w``, so replacing a row moves the sum by ``sqrt(|a|^2 + |b|^2 - 2 a.b) <=
sqrt(2)``. We use ``v = 2 sqrt(u w)``, so that ``sqrt(u) + sqrt(w) = 1``, and ``sqrt(u) = 1/3``, or
up to 1/2 where the noise ``sqrt(2 / u) / mu`` on counts is over a tenth of a mean class.

**Squares of columns** per class: a row is scaled down until ``|x| <= R`` and the vector of its
squares has ``|x^2| <= Q``. It adds ``(1, x / R, x^2 / Q)``, of norm at most sqrt(3). Two rows of
one class have the inner product ``1 + x.y / R^2 + x^2.y^2 / Q^2 >= 0``, as ``x.y >= -R^2`` and the
last term is nonnegative. So replacing a row moves the sum by at most sqrt(6): counts are free
when sums of rows of either sign are queried. Rows of d normal entries of equal variance have
``Q = sqrt(3 / d) R^2``, and the noise on squares is smaller by this factor than on a matrix.

**Weights and groups.** The inner products of all these vectors are nonnegative, also for sums of
them with nonnegative weights. The term of a row with weight at most 1, or of a group whose
weights sum to at most 1, is no longer than the term of a row: replacing it moves the sum no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import block_length
from dpsk._data.parted import on_threads
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._models.clipping import HEADROOM, clip_factors, shortened
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import FloatArray, IntArray

__all__ = ["COUNT_UNIT", "ClassMoments", "members", "noisy_class_moments", "noisy_class_squares",
           "noisy_shared_moments", "on_grid", "whole_weights", "with_short_squares"]

#: Bits of the entries of a basis, which are at most 1, and of rows over their bound. Sums of their
#: products are at most the bound, by the Cauchy-Schwarz inequality, and therefore exact.
_BASIS_BITS, _ROW_BITS = 20, 24
#: Least and largest weight of a count beside the matrix of all classes, and the noise on it, over
#: the mean number of rows of a class, from which the weight grows.
_COUNT_WEIGHTS, _COUNT_NOISE = (1.0 / 3.0, 1.0 / 2.0), 0.1
#: The fourth moment of a normal variable, divided by its squared variance.
_KURTOSIS = 3.0
#: Counts and weights are multiples of this.
COUNT_UNIT = 2.0**-20
#: Factor on roots of weights, so that after rounding no group's weights sum to more than 1.
_DOWN = 1.0 - 2.0**-40


@dataclass(frozen=True)
class ClassMoments:
    """Noisy moments of the classes.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
    sums : ndarray of shape (n_classes, k)
    moments : ndarray of shape (n_classes, k, k), (k, k) of all classes, or (n_classes, k)
        Sums of outer products of rows; in the last case, sums of squares.
    count_noise, sum_noise, moment_noise : float
        Public standard deviations. `moment_noise` holds for diagonal entries; for others, it is
        ``sqrt(1/2)`` of it. After `rescaled`, the last two have shape (n_classes,).
    """

    counts: np.ndarray
    sums: np.ndarray
    moments: np.ndarray
    count_noise: float
    sum_noise: Any
    moment_noise: Any

    def rescaled(self, factors: FloatArray) -> ClassMoments:
        """Return the moments of rows multiplied by the factor of their class."""
        squares = factors**2
        return ClassMoments(
            self.counts, self.sums * factors[:, None], self.moments * squares[:, None, None],
            self.count_noise, self.sum_noise * factors, self.moment_noise * squares)


def on_grid(basis: FloatArray) -> FloatArray:
    """Return an orthonormal basis, shape (d, k), with entries rounded to few bits."""
    return np.rint(basis * 2.0**_BASIS_BITS) * 2.0**-_BASIS_BITS


def noisy_class_moments(rows: RowSource, n_classes: int, basis: FloatArray, radius: float,
                        mu: float, session: Session) -> ClassMoments:
    """Return the `ClassMoments` of rows in a subspace.

    Parameters
    ----------
    rows : RowSource
        Rows whose targets are the indices of their classes.
    n_classes : int
        If 1, the count is public and has no noise.
    basis : ndarray of shape (d, k), from `on_grid`
    radius : float
        Longer rows are scaled down to this norm, before and after projection to the subspace.
    mu : float
        Privacy cost of the query; infinite without noise.
    session : Session
    """
    n_samples = rows.n_units
    constant = _constant(0.5 * radius if n_classes == 1 else radius)
    bound = math.sqrt(2.0) * (radius**2 + constant**2)
    unit = 2.0 ** -(exact_bits(n_samples * bound / math.sqrt(2.0), bound / mu) // 2)

    def total(batch: Batch) -> FloatArray:
        return on_threads(rows).added(_matrices, n_classes, basis, radius, constant,
                                      unit) * unit**2

    noisy = session(gaussian(mu), total, Sensitivity(bound, "symmetric_normal", unit**2))
    counts = noisy[:, -1, -1] / constant**2
    noise = bound / mu
    return ClassMoments(np.full(1, float(n_samples)) if n_classes == 1 else counts,
                        noisy[:, -1, :-1] / constant, noisy[:, :-1, :-1],
                        0.0 if n_classes == 1 else noise / constant**2,
                        noise / (math.sqrt(2.0) * constant), noise)


def noisy_shared_moments(rows: RowSource, n_classes: int, radius: float, mu: float,
                         session: Session) -> ClassMoments:
    """Return the `ClassMoments` of rows, with one second moment for all classes.

    Parameters are those of `noisy_class_moments`.
    """
    constant, of_count = _constant(0.5 * radius), _count_weight(rows.n_units * mu / n_classes)
    weights = of_count, math.sqrt(2.0 * of_count * (1.0 - of_count)), 1.0 - of_count
    moved = [math.sqrt(2.0) / weight * bound for weight, bound in zip(
        weights, (constant**2, constant * radius, radius**2), strict=True)]
    unit = 2.0 ** -(exact_bits(rows.n_units * (radius**2 + constant**2), moved[2] / mu) // 2)

    def totals(batch: Batch) -> tuple[FloatArray, ...]:
        counts, sums, products = on_threads(rows).added(_shared, n_classes, radius, constant, unit)
        return unit**2 * counts, unit**2 * sums, unit**2 * products

    counts, sums, products = session(gaussian(mu), totals, *(
        Sensitivity(each, law, unit**2) for each, law in
        zip(moved, ("standard_normal", "standard_normal", "symmetric_normal"), strict=True)))
    return ClassMoments(counts / constant**2, sums / constant, products,
                        moved[0] / mu / constant**2, moved[1] / mu / constant, moved[2] / mu)


def noisy_class_squares(rows: RowSource, n_classes: int, radius: float, mu: float,
                        session: Session) -> ClassMoments:
    """Return the `ClassMoments` of rows, with second moments of single columns only.

    Parameters are those of `noisy_class_moments`.
    """
    most = _most_squares(radius, rows.n_features)
    moved = tuple(math.sqrt(6.0) * each for each in (1.0, radius, most))
    n_units = rows.n_units
    units = [2.0 ** -exact_bits(n_units * bound, each / mu)
             for bound, each in zip((radius, most), moved[1:], strict=True)]

    def totals(batch: Batch) -> tuple[FloatArray, ...]:
        counts, sums, squares = on_threads(rows).added(_squares, n_classes, radius, units)
        return COUNT_UNIT * counts, units[0] * sums, units[1] * squares

    counts, sums, squares = session(gaussian(mu), totals, *(
        Sensitivity(each, unit=unit)
        for each, unit in zip(moved, (COUNT_UNIT, *units), strict=True)))
    return ClassMoments(counts, sums, squares, *(each / mu for each in moved))


def with_short_squares(rows: FloatArray, radius: float) -> FloatArray:
    """Scale rows, of norm at most `radius`, in place until their squares are bounded."""
    fourth = np.sqrt(np.einsum("ij,ij,ij,ij->i", rows, rows, rows, rows))
    most = _most_squares(radius, rows.shape[1])
    rows *= clip_factors(np.sqrt(fourth), math.sqrt(most) * HEADROOM)[:, None]
    return rows


def _most_squares(radius: float, width: int) -> float:
    """Return the bound on the norm of the squares of a row."""
    return radius**2 * min(1.0, math.sqrt(_KURTOSIS / width))


# Every sum on these grids is exact, so rounding reveals nothing about the rows.
def _matrices(rows: RowSource, n_classes: int, basis: FloatArray, radius: float,
              constant: float, unit: float) -> FloatArray:
    """Return the matrices of classes, in integer units."""
    size = basis.shape[1] + 1
    sums = np.zeros((n_classes, size, size))
    row_unit = 2.0 ** (math.ceil(math.log2(radius)) - _ROW_BITS)
    for X, codes, weights in _short_rows(rows, radius):
        X = shortened(np.trunc(X / row_unit) * row_unit @ basis, radius)
        entering = _entering(X, weights, constant, unit)
        for label in range(n_classes):
            own = entering[codes == label]
            sums[label] += own.T @ own
    return sums


def _shared(rows: RowSource, n_classes: int, radius: float, constant: float,
            unit: float) -> tuple[FloatArray, ...]:
    """Return counts and sums of classes and the common matrix, in integer units."""
    width = rows.n_features
    sums, products = np.zeros((n_classes, width + 1)), np.zeros((width, width))
    for X, codes, weights in _short_rows(rows, radius):
        entering = _entering(X, weights, constant, unit)
        # Use the truncated constants, as the proof needs one common vector for all parts.
        sums += members(codes, n_classes) @ (entering * entering[:, -1:])
        products += entering[:, :-1].T @ entering[:, :-1]
    return sums[:, -1].copy(), sums[:, :-1].copy(), products


def _entering(X: FloatArray, weights: FloatArray | None, constant: float,
              unit: float) -> FloatArray:
    """Return rows and a constant, times the roots of weights, in integer units."""
    entering = np.full((len(X), X.shape[1] + 1), constant / unit)
    np.divide(X, unit, out=entering[:, :-1])
    if weights is not None:
        # Weights of 1 change nothing: an unweighted fit may repeat the noise, on the same sums.
        entering *= (np.where(weights < 1.0, _DOWN, 1.0) * np.sqrt(weights))[:, None]
    return np.trunc(entering, out=entering)


def _squares(rows: RowSource, n_classes: int, radius: float,
             units: list[float]) -> tuple[FloatArray, ...]:
    """Return counts, sums and sums of squares of classes, in integer units."""
    counts, (sums, squares) = np.zeros(n_classes), np.zeros((2, n_classes, rows.n_features))
    for X, codes, weights in _short_rows(rows, radius):
        X = with_short_squares(X, radius)
        shares = whole_weights(codes, weights)
        of_class = members(codes, n_classes)
        counts += of_class @ (shares / COUNT_UNIT)
        sums += of_class @ np.trunc(X * (shares / units[0])[:, None])
        squares += of_class @ np.trunc(np.square(X) * (shares / units[1])[:, None])
    return counts, sums, squares


def _short_rows(rows: RowSource, radius: float) -> Iterator[tuple[Any, IntArray, Any]]:
    """Yield blocks of float64 rows no longer than `radius`, their classes and weights."""
    for part in rows.blocks(block_length(rows.n_features)):
        X, codes, weights = rows.take(part)
        yield shortened(X.astype(np.float64), radius), codes, weights


def whole_weights(codes: IntArray, weights: FloatArray | None) -> FloatArray:
    """Return weights truncated to multiples of `COUNT_UNIT`; 1 without weights."""
    if weights is None:
        return np.ones(len(codes))
    return np.trunc(weights / COUNT_UNIT) * COUNT_UNIT


def members(codes: IntArray, n_classes: int) -> Any:
    """Return the sparse matrix whose product with rows sums them by class."""
    n = len(codes)
    return sparse.csc_matrix((np.ones(n), codes, np.arange(n + 1)), (n_classes, n))


def _constant(most: float) -> float:
    """Return the constant appended to rows: the largest number of four bits up to `most`."""
    unit = 2.0 ** (math.floor(math.log2(most)) - 3)
    return math.floor(most / unit) * unit


def _count_weight(signal: float) -> float:
    """Return the weight of counts of classes, whose mean size times mu is `signal`."""
    least, most = _COUNT_WEIGHTS
    return min(most, max(least, math.sqrt(2.0) / (_COUNT_NOISE * signal)))
