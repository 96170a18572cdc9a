r"""Noisy counts, sums and second moments of the classes of rows, all in one release.

**A matrix a class**, in a subspace that was released.

A row of norm at most R, with a constant c appended, adds ``(z, c)(z, c)'`` to the matrix of its
class: its second moment, c times itself and c^2, so that one release has moments, sums and counts
of all classes. Replacing a row ``a = (x, c)`` of one class by ``b = (y, c)`` of another moves two
matrices, by ``aa'`` and ``bb'``: by ``sqrt(|a|^4 + |b|^4) <= sqrt(2) (R^2 + c^2)`` in all. Within
one class it moves one, by ``sqrt(|a|^4 + |b|^4 - 2 (a.b)^2)``, which is no more. So all classes
together cost what the second moment of all rows costs.

Separate releases at equal prices would have noise ``2 sqrt(2) R / mu`` on sums and ``2 R^2 / mu``
on moments. Jointly, with ``c = R / 2``, it is 2.5 and 1.77.

**One matrix for all classes**, beside the counts and sums of each: a row ``(x, c)`` enters as
``sqrt(u) c^2`` and ``sqrt(v) c x`` in its class and as ``sqrt(w) xx'`` beside them, each over its
own bound, with ``u + v + w = 1``. With ``t = x.y / R^2`` two rows of one class have the inner
product ``u + v t + w t^2``, of two classes ``w t^2``. Neither is negative for any t where ``v^2 <=
4 u w``, so that replacing a row moves the sum by ``sqrt(|a|^2 + |b|^2 - 2 a.b) <= sqrt(2)``. The
shares are one ninth, four and four.

**Squares of columns** for every class: a row is scaled down until ``|x| <= R`` and the vector of
its squares has ``|x^2| <= Q``. It enters as ``(1, x / R, x^2 / Q)``, of length at most sqrt(3).
Two rows of one class have the inner product ``1 + x.y / R^2 + x^2.y^2 / Q^2 >= 0``, as the last
part has no negative term: replacing a row moves the sum by at most sqrt(6), so that counts come
free beside sums of rows of either sign. Entries of like size have ``Q = sqrt(3 / d) R^2`` where
they are normal, and noise on squares is that much less than on a matrix.

**Weights and groups.** All these vectors have no negative inner product with each other, nor have
sums of them with weights that are not negative. What a row of weight at most 1 adds, or a group
whose rows weigh at most 1 together, is no longer than what a row does: replacing it moves no more.
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

#: Bits of entries of a basis, which are at most 1, and of rows, over their bound. Their sums of
#: products are at most the bound, by Cauchy and Schwarz, and therefore exact.
_BASIS_BITS, _ROW_BITS = 20, 24
#: Of the length of a row beside one matrix for all classes: its count, sums and products.
_SHARES = 1.0 / 9.0, 4.0 / 9.0, 4.0 / 9.0
#: The fourth moment of a normal number, over the square of its variance.
_KURTOSIS = 3.0
#: Counts and weights are multiples of this.
COUNT_UNIT = 2.0**-20
#: Of roots of weights, so that rounding makes those of no group add up to more than 1.
_DOWN = 1.0 - 2.0**-40


@dataclass(frozen=True)
class ClassMoments:
    """Released moments of the classes.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
    sums : ndarray of shape (n_classes, k)
    moments : ndarray of shape (n_classes, k, k), (k, k) of all classes, or (n_classes, k)
        Sums over rows; of squares alone the last.
    count_noise, sum_noise, moment_noise : float
        Public standard deviations; the last of a diagonal entry, beside it ``sqrt(1/2)`` of it.
        Of rescaled classes the last two are arrays of shape (n_classes,).
    """

    counts: np.ndarray
    sums: np.ndarray
    moments: np.ndarray
    count_noise: float
    sum_noise: Any
    moment_noise: Any

    def rescaled(self, factors: FloatArray) -> ClassMoments:
        """Return the moments of rows that are longer by a factor for each class."""
        squares = factors**2
        return ClassMoments(
            self.counts, self.sums * factors[:, None], self.moments * squares[:, None, None],
            self.count_noise, self.sum_noise * factors, self.moment_noise * squares)


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
    n_samples, constant = rows.n_units, _constant(radius)
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
    """Return the `ClassMoments` of rows, of which the second moment is that of all classes.

    Parameters are those of `noisy_class_moments`.
    """
    constant = _constant(radius)
    moved = [math.sqrt(2.0 / share) * bound for share, bound in zip(
        _SHARES, (constant**2, constant * radius, radius**2), strict=True)]
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
    """Return the `ClassMoments` of rows, whose moments are those of single columns.

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
    """Return rows no longer than `radius` whose squares are short as well, in place."""
    fourth = np.sqrt(np.einsum("ij,ij,ij,ij->i", rows, rows, rows, rows))
    most = _most_squares(radius, rows.shape[1])
    rows *= clip_factors(np.sqrt(fourth), math.sqrt(most) * HEADROOM)[:, None]
    return rows


def _most_squares(radius: float, width: int) -> float:
    """Return the bound on the norm of the squares of a row."""
    return radius**2 * min(1.0, math.sqrt(_KURTOSIS / width))


# On these grids every sum is exact, so no rounding shows the rows.
def _matrices(rows: RowSource, n_classes: int, basis: FloatArray, radius: float,
              constant: float, unit: float) -> FloatArray:
    """Return the matrices of classes, in whole units."""
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
    """Return counts, sums and the matrix of all classes, in whole units."""
    width = rows.n_features
    sums, products = np.zeros((n_classes, width + 1)), np.zeros((width, width))
    for X, codes, weights in _short_rows(rows, radius):
        entering = _entering(X, weights, constant, unit)
        # As one factor both are cut, so that their products go with those of the rows.
        sums += members(codes, n_classes) @ (entering * entering[:, -1:])
        products += entering[:, :-1].T @ entering[:, :-1]
    return sums[:, -1].copy(), sums[:, :-1].copy(), products


def _entering(X: FloatArray, weights: FloatArray | None, constant: float,
              unit: float) -> FloatArray:
    """Return rows and a constant, times the roots of weights, in whole units."""
    entering = np.full((len(X), X.shape[1] + 1), constant / unit)
    np.divide(X, unit, out=entering[:, :-1])
    if weights is not None:
        # A weight of 1 is none: noise that repeats has the same key, and so meets the same sums.
        entering *= (np.where(weights < 1.0, _DOWN, 1.0) * np.sqrt(weights))[:, None]
    return np.trunc(entering, out=entering)


def _squares(rows: RowSource, n_classes: int, radius: float,
             units: list[float]) -> tuple[FloatArray, ...]:
    """Return counts, sums and sums of squares of classes, in whole units."""
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
    """Yield blocks of rows no longer than `radius`, of float64, their classes, and weights."""
    for part in rows.blocks(block_length(rows.n_features)):
        X, codes, weights = rows.take(part)
        yield shortened(X.astype(np.float64), radius), codes, weights


def whole_weights(codes: IntArray, weights: FloatArray | None) -> FloatArray:
    """Return weights cut to units, 1 without any."""
    if weights is None:
        return np.ones(len(codes))
    return np.trunc(weights / COUNT_UNIT) * COUNT_UNIT


def members(codes: IntArray, n_classes: int) -> Any:
    """Return the matrix that adds up the rows of every class."""
    n = len(codes)
    return sparse.csc_matrix((np.ones(n), codes, np.arange(n + 1)), (n_classes, n))


def _constant(radius: float) -> float:
    """Return what is appended to a row: a power of two near half of its bound."""
    return 2.0 ** (math.floor(math.log2(radius)) - 1)
