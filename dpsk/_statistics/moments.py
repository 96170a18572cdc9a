r"""Noisy counts, means and second moments for the stages, from exact sums.

Replacing one row of norm at most R moves the sum of rows by at most 2R, and the counts of classes
by at most ``sqrt(2)``. With two classes, one count suffices, and it moves by 1. For second
moments, a constant c is appended to rows of norm at most ``R >= c``. Replacing the row ``x`` by
``y`` moves ``sum (x, c)(x, c)'`` by a Frobenius norm of at most ``sqrt(2) (R^2 + c^2)``, as
``||aa' - bb'||^2 = |a|^4 + |b|^4 - 2 (a.b)^2``. Noise on the symmetric matrix has the standard
deviation s on the diagonal and ``s / sqrt(2)`` elsewhere. In an orthonormal basis of the symmetric
matrices, this is a Gaussian mechanism with noise s.

A group of rows adds the average A of its rows' outer products, which is positive semidefinite with
trace at most ``R^2 + c^2``. For two such averages, ``||A - B||^2 <= |A|^2 + |B|^2``, as ``tr(A B)
>= 0``. So replacing a group moves the sum by no more than replacing a row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dsyrk

from dpsk._data.blocks import block_length, csr_parts
from dpsk._data.parted import on_threads
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._models.preconditioner import entering_rows
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._sums.truncation import Shares, whole_units

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import Features, FloatArray

__all__ = ["mean_noise", "noisy_counts", "noisy_mean", "noisy_second_moment",
           "noisy_target_mean", "second_moment_noise"]

#: Noise on counts is rounded to multiples of this, so noisy counts have no finer bits.
_COUNT_UNIT = 2.0**-20
#: Factor on shares and their roots, so that after rounding no group's shares sum to more than 1.
_DOWN = 1.0 - 2.0**-40
#: Rows that are read at once for counts and sums of targets.
_PART = 1 << 20
#: Least number of sparse rows whose outer products are summed at once.
_CSR_ROWS = 1 << 11


def noisy_mean(model: Any, rows: RowSource, mu: float,
               session: Session) -> tuple[FloatArray, float]:
    """Return the noisy mean of rows, (n_features,), and its public noise deviation.

    With groups, it is the mean of the groups' means. `model`, without intercept, scales rows to
    norm `data_norm` at most, for this query only; `mu` is the privacy cost of the query.
    """
    n_units, std = rows.n_units, REPLACE_ONE * model.data_norm / mu
    unit = 2.0 ** -exact_bits(n_units * model.data_norm, std)

    mean = session(gaussian(mu), lambda batch: unit * rows.added(_features_sum, model, unit),
                   Sensitivity(REPLACE_ONE * model.data_norm, unit=unit),
                   divisor=n_units)
    return mean, std / n_units


def noisy_target_mean(rows: RowSource, mu: float, session: Session) -> tuple[float, float]:
    """Return the noisy mean of targets, clipped to [-1, 1], and its noise deviation.

    With groups, it is the mean of the groups' means.
    """
    n_units, std = rows.n_units, REPLACE_ONE / mu
    unit = 2.0 ** -exact_bits(n_units, std)
    mean = session(gaussian(mu), lambda batch: unit * rows.added(_targets_sum, unit),
                   Sensitivity(REPLACE_ONE, unit=unit), divisor=n_units)
    return float(mean[0]), std / n_units


def noisy_counts(rows: RowSource, n_groups: int, mu: float, session: Session) -> FloatArray:
    """Return noisy counts of rows in every class or DRO group, shape (n_groups,).

    The last target of a row is its class or group. Their number is public and at least 2.
    Under user-level privacy, one row per user is counted, drawn by public randomness.
    """
    # The number of rows is public, so one of two counts gives both.
    free = 1 if n_groups == 2 else n_groups

    moved = 1.0 if n_groups == 2 else math.sqrt(2.0)
    noisy = session(gaussian(mu), lambda batch: rows.added(_group_counts, n_groups)[-free:],
                    Sensitivity(moved, unit=_COUNT_UNIT))
    return np.array([rows.n_units - noisy[0], noisy[0]]) if free == 1 else noisy


def second_moment_noise(model: Any, n_samples: int, mu: float) -> float:
    """Return the public standard deviation of the noise on a feature's mean square."""
    return _moment_bound(model) / mu / n_samples


def mean_noise(model: Any, n_samples: int, mu: float) -> FloatArray:
    """Return the public noise deviations of the mean row in a second moment."""
    deviations = np.full(model.shape[0], math.sqrt(0.5) / _constant(model))
    # The number of rows is public, but the sum of scaled constants is not.
    deviations[-1] = _constant(model) ** -2.0 if model.homogeneous else 0.0
    return deviations * second_moment_noise(model, n_samples, mu)


def noisy_second_moment(model: Any, rows: RowSource, mu: float, session: Session) -> FloatArray:
    """Return the noisy mean of ``r r'`` over scaled rows r, symmetric, shape (p, p).

    With groups, it is the mean of the groups' averages. `model` scales rows and appends the
    intercept's 1. A smaller constant is queried in its place, so that features get less noise.
    """
    n_units, constant, bound = rows.n_units, _constant(model), _moment_bound(model)
    unit = 2.0 ** -(exact_bits(n_units * bound / math.sqrt(2.0), bound / mu) // 2)

    def total(batch: Batch) -> FloatArray:
        return on_threads(rows).added(_squares_sum, model, unit, constant) * unit**2

    moment = session(gaussian(mu), total, Sensitivity(bound, "symmetric_normal", unit**2))
    if constant:
        moment[-1] /= constant
        moment[:, -1] /= constant
        if not model.homogeneous:
            # The number of rows, or of groups, is public.
            moment[-1, -1] = n_units
    return moment / n_units


def _features_sum(rows: RowSource, model: Any, unit: float) -> FloatArray:
    """Return the sum of scaled rows, in integer units."""
    sums = np.zeros(model.n_features)
    for part in rows.blocks(block_length(model.n_features)):
        block = entering_rows(model, rows.take(part).X, 1.0 / unit)
        if rows.groups is not None:
            block /= rows.groups.sizes[part, None]
        # Every sum on this grid is exact, so rounding reveals nothing about the rows.
        sums += np.trunc(block, out=block).sum(axis=0)
    return sums


def _targets_sum(rows: RowSource, unit: float) -> FloatArray:
    """Return the sum of targets, in integer units, shape (1,)."""
    total = np.zeros(1)
    for part in rows.blocks(_PART):
        y, _ = rows.beside(part)
        y = np.clip(y.astype(np.float64), -1.0, 1.0) / unit
        if rows.groups is not None:
            y *= _DOWN / rows.groups.sizes[part]
        # Every sum on this grid is exact, so rounding reveals nothing about the rows.
        total += np.trunc(y, out=y).sum()
    return total


def _group_counts(rows: RowSource, n_groups: int) -> FloatArray:
    """Return the number of rows in every class or DRO group, float64."""
    counts = np.zeros(n_groups)
    for part in rows.shown(_PART):
        y, _ = rows.beside(part)
        counts += np.bincount(y if y.ndim == 1 else y[:, -1], minlength=n_groups)
    return counts


def _squares_sum(rows: RowSource, model: Any, unit: float, constant: float) -> FloatArray:
    """Return the sum of outer products of (scaled row, constant), in integer units."""
    size, features = model.shape[0], model.n_features
    length = max(_CSR_ROWS, features) if rows.is_sparse else block_length(size)
    buffer = None if rows.is_sparse else np.empty((min(length, len(rows)), features))
    squares, sums = np.zeros((features, features), order="F"), np.zeros((size, size))
    for part in rows.blocks(length):
        # Every sum of products on this grid is exact, so rounding reveals nothing about the rows.
        roots = None if rows.groups is None else _DOWN / np.sqrt(rows.groups.sizes[part])
        block, constants = _truncated(model, rows.take(part).X, unit, buffer, roots)
        if rows.is_sparse:
            first, others = csr_parts(block)
            width = first.shape[1]
            squares[:width, :width] += first.T @ first
            squares[:width, width:] += (others.T @ first).T
            squares[width:, width:] += (others.T @ others).toarray()
        else:
            # Adds to the upper triangle, in place.
            squares = dsyrk(1.0, block.T, 1.0, squares, overwrite_c=True)
        if constant:
            ones = np.trunc(constants * (constant / unit))
            sums[:features, -1] += block.T @ ones
            sums[-1, -1] += ones @ ones
    sums[:features, :features] = np.triu(squares)
    upper = np.triu(sums, 1)
    return sums + upper.T


def _truncated(model: Any, X: Features, unit: float, buffer: FloatArray | None,
               roots: FloatArray | None) -> tuple[Any, FloatArray]:
    """Return scaled rows truncated to integer units, dense or CSR, and constants.

    Dense rows are in `buffer`. Rows and constants are multiplied by `roots`, the square roots of
    the rows' shares; None for 1.
    """
    X = model.bounded(X)
    scale, _ = model.row_scales(X)
    constants = model.constants(scale)
    if roots is not None:
        scale, constants = scale * roots, constants * roots
    shares = Shares(X, scale / (1.0 / model.unit))
    out = None if buffer is None else buffer[:X.shape[0]]
    return whole_units(X, 1.0 / (model.unit * unit), shares, out), constants


def _moment_bound(model: Any) -> float:
    """Return how far one row moves the sum of second moments, in the Frobenius norm."""
    return math.sqrt(2.0) * (model.data_norm**2 + _constant(model)**2)


def _constant(model: Any) -> float:
    """Return the constant for the intercept: a power of two near ``data_norm / 2``."""
    if not model.fit_intercept:
        return 0.0
    return 2.0 ** (math.floor(math.log2(model.data_norm)) - 1)
