"""Rows mapped by the inverse root of their noisy second moment."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from dpsk._defaults.budgets import (
    AMPLE_SIGNAL,
    LEAST_FLOOR,
    MOMENT_SHARE,
    NOISE_FLOOR,
    SCORE_FLOOR,
    mu_of_share,
    whitening_pays,
)
from dpsk._defaults.losses import loss_defaults
from dpsk._models import LinearModel, Preconditioner, WhitenedModel
from dpsk._models.image_norms import ImageNorms
from dpsk._privacy.events import Gaussian
from dpsk._problem import Geometry
from dpsk._stages.base import RowStage
from dpsk._stages.thresholding import thresholded
from dpsk._statistics.moments import mean_noise, noisy_second_moment, second_moment_noise
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._problem import Problem
    from dpsk._stages.diagonal_plus import DiagonalPlus
    from dpsk._typing import FloatArray

__all__ = ["InverseRoot", "Spectrum", "UnitNorm", "Whitening", "ampleness", "moment_budget"]

#: Part of a mean square norm from which on the mean row is far from 0, the least norm of that row
#: over the bound, and deviations of its noise above that.
_FAR, _LEAST_MEAN, _SURE = 0.8, 0.5, 3.0
#: Of the floor: what eigenvalues of noise alone come to.
_NOISE_OF_FLOOR = 0.4
#: Of the largest entry of the map.
_MATRIX_BITS = 22
#: Of the directions: where as many are lengthened alike, only the others take products.
_MOST_ALIKE = 0.5
#: Of a system with the map, each from what the ones before leave; and what is little enough.
_MOST_SOLUTIONS, _SOLVED = 5, 1e-12
#: Up to so many directions all eigenvalues are found as fast as the largest.
_FEW_DIRECTIONS = 128


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Spectrum of mapped rows, as a released moment shows it.

    Parameters
    ----------
    directions : ndarray of shape (p, p)
        Orthonormal columns.
    moments : ndarray of shape (p,)
        Mean squares along these.
    sizes : ndarray of shape (p,)
        By how much the map lengthens these, all but its rounding.
    matrix : ndarray of shape (p, p)
        What mapped the rows.
    covariance : ndarray of shape (n_features, n_features)
        Of features before the map, as far as pairs of them show it.
    mean : ndarray of shape (p,) or None
        The mean row before the map; None without an intercept.
    mean_noise : ndarray of shape (p,) or None
        Standard deviations of the noise on it.
    """

    directions: FloatArray
    moments: FloatArray
    sizes: FloatArray
    matrix: FloatArray
    covariance: FloatArray
    mean: FloatArray | None = None
    mean_noise: FloatArray | None = None

    def moved(self, change: FloatArray) -> FloatArray:
        """Return by how much parameters change with coefficients before the map.

        The mean prediction stays, unless the mean of constants is noise itself: those of rows
        that were scaled with them may be near 0.
        """
        if self.mean is not None:
            size = max(self.mean[-1], 0.0)
            share = size / (size**2 + self.mean_noise[-1]**2)
            constant = -share * (self.mean[:-1] @ change)
            change = np.concatenate([change, np.expand_dims(constant, 0)])
        found, left = np.zeros_like(change), change
        # What the map was rounded by is left of a first solution, and less of the next ones.
        for _ in range(_MOST_SOLUTIONS):
            found += self.directions @ ((self.directions.T @ left).T / self.sizes).T
            left = change - self.matrix @ found
            if np.linalg.norm(left) <= _SOLVED * np.linalg.norm(change):
                return found
        try:
            return np.linalg.solve(self.matrix, change)
        except np.linalg.LinAlgError:  # rounded to a grid, it may be singular
            return np.linalg.lstsq(self.matrix, change, rcond=None)[0]


class Whitening(RowStage):
    """Release a noisy second moment and map the rows by its inverse root, in training.

    The constant becomes a coordinate of the whitened rows. Rows longer than 1 are shortened to
    it, for solvers that clip at twice the usual norm: parameters of whitened rows are, times the
    matrix, those of the rows as they are.
    """

    attribute = "preconditioner_"
    takes_groups = True
    #: Of the noise on a mean square, and on a mean, of rows in the unit of their bound; public.
    noise_stds: tuple[float, float] | None = None
    words = "; then rows are whitened by the released preconditioner and scaled down to norm 1"
    #: The square of the map in parts, where the moment is in such.
    _inverse: Any = None

    def __init__(self, model, dtype, descends=False):
        # In the unit of their bound rows are as long as the constant.
        self._unit = unit = model.data_norm
        inner = None if model.data_norm_inf is None else model.data_norm_inf / unit
        model = replace(model, data_norm=1.0, data_norm_inf=inner, unit=unit,
                        homogeneous=model.homogeneous or model.whole)
        super().__init__(model, dtype, descends)

    @classmethod
    def worthwhile(cls, problem: Problem, of_shares: bool = False) -> bool:
        """Return whether whitening is on by default."""
        return whitening_pays(problem, of_shares)

    def prepared(self, problem: Problem) -> Problem:
        columns = self._model.shape[0]
        model = LinearModel(columns, self._model.n_outputs, False, 1.0)
        return replace(problem, model=model, geometry=self._geometry(problem, columns))

    def event(self, problem: Problem) -> Any:
        """Return what the release costs."""
        return Gaussian(moment_budget(problem))

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem with what is known of whitened rows, and the rows."""
        model, mu = self._model, self.event(problem).mu
        noisy = noisy_second_moment(model, rows, mu, session)
        noise_std = second_moment_noise(model, rows.n_units, mu)
        found = thresholded(noisy, noise_std, model.fit_intercept)
        least = LEAST_FLOOR * model.data_norm**2 / ampleness(problem.signal_to_noise)
        over_noise = NOISE_FLOOR if model.whole or not model.homogeneous else SCORE_FLOOR
        floor = max(least, over_noise * noise_std * math.sqrt(found.entries))
        root = InverseRoot.of(found.moment, floor, found.noise_share, found.parts)
        effective_rank = root.effective_rank
        left = _largest(root.matrix, noisy)
        usual = np.sqrt(effective_rank) * self._longest(problem)
        self._matrix, self._sizes = _on_grid(root.matrix / usual, root.sizes / usual)
        means = (found.moment[:, -1], mean_noise(model, rows.n_units, mu)) if (
            model.fit_intercept) else ()
        if means:
            self._warn_of_far_rows(found.moment, floor, float(means[1][0]))
        self.spectrum = Spectrum(root.vectors, root.moments / usual**2, root.sizes / usual,
                                 self._matrix, found.covariance, *means)
        if found.parts is not None:
            self._inverse = tuple(part / usual for part in found.parts.inverse(floor))
        self.scales = float(usual), float(floor)
        self.noise_stds = noise_std, float(means[1][0]) if means else 0.0
        self.value = self._of_rows(self._matrix).astype(self._dtype)
        geometry = self._geometry(problem, effective_rank, max(1.0, left))
        # A squared penalty stays on the coefficients of the rows as they came.
        if self._descends:
            coefficients = self._matrix[:model.n_features] / model.unit
            problem = replace(problem, penalty=problem.penalty.mapped(coefficients))
        return self._mapped(replace(problem, geometry=geometry), rows)

    def _warn_of_far_rows(self, moment: FloatArray, floor: float, noise: float) -> None:
        """Warn if the mean row has most of the norm, and noise hides the usual variance."""
        constant = max(float(moment[-1, -1]), np.finfo(float).tiny)
        squares = np.trace(moment) / constant - 1.0
        width = len(moment) - 1
        mean = float(np.linalg.norm(moment[:-1, -1])) / constant
        if (mean >= _LEAST_MEAN + _SURE * noise * math.sqrt(width)
                and mean**2 >= _FAR * squares and squares - mean**2 <= floor * width):
            warn("features are far from 0 for their spread, so noise hides much of it: subtract "
                 "public centers, or put DPStandardScaler before this estimator in a DPPipeline.",
                 PrivacyWarning)

    @property
    def unit(self) -> float:
        """float : the bound on rows, declared or released."""
        return self._model.unit

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return self._of_rows(self._matrix @ theta)

    def _of_rows(self, theta):
        """Return parameters of rows in the unit of their bound as those of rows in none."""
        result = theta.copy()
        result[:self._model.n_features] /= self._unit
        return result

    def _longest(self, problem):
        """Return the bound on rows over the length of a usual one."""
        # Where the longest row sets the noise a clip does not help.
        longest = loss_defaults(problem.loss).longest if self._descends else 1.0
        return longest * math.sqrt(ampleness(problem.signal_to_noise))

    def _geometry(self, problem, effective_rank, unevenness=1.0):
        longest = max(1.0, self._longest(problem))
        return Geometry(effective_rank * longest**2, unevenness, 1.0 / longest)

    def _mapped(self, problem, rows):
        """Return the problem and the rows after the map, which products with them make."""
        norms = None if self._inverse is None else ImageNorms.of(self._matrix, *self._inverse)
        return replace(problem, model=WhitenedModel.of(self._model, self._matrix, self._sizes,
                                                       norms)), rows


class UnitNorm(Whitening):
    """Whitened rows of one length, in training and in prediction: a slightly curved score."""

    words = "; then rows are whitened by the released preconditioner and scaled to norm 1"
    normalizes: ClassVar[bool] = True

    def _longest(self, problem):
        return 1.0

    def _mapped(self, problem, rows):
        self.row_map = Preconditioner(self._model, self._matrix, normalizes=True)
        return problem, rows.mapped(self.row_map)


def _on_grid(matrix, sizes):
    """Bring a matrix to so few bits that its products with rows on a grid are exact; return it.

    And what its eigenvalues, which were `sizes`, are at least.
    """
    largest = max(matrix.max(), -matrix.min())
    unit = 2.0 ** (math.ceil(math.log2(largest)) - _MATRIX_BITS)
    matrix /= unit
    np.rint(matrix, out=matrix)
    matrix *= unit
    # Half a unit an entry, and as much for the rounding of what was given.
    return matrix, sizes - len(sizes) * unit


def _largest(matrix, moment):
    """Return the largest eigenvalue of a moment after a map on both sides, as well as steps ask.
    """
    size = len(matrix)
    if size <= _FEW_DIRECTIONS or not moment.any():
        return float(np.linalg.eigvalsh(matrix @ moment @ matrix)[-1])
    mapped = LinearOperator((size, size), lambda x: matrix @ (moment @ (matrix @ x)), dtype=float)
    # A start of its own would be random.
    start = 1.0 + np.linspace(0.0, 1.0, size)
    return float(eigsh(mapped, 1, which="LA", v0=start, tol=0.01, return_eigenvectors=False)[0])


def moment_budget(problem: Problem) -> float:
    """Return the mu that the second moment may cost."""
    return mu_of_share(problem, MOMENT_SHARE)


def ampleness(signal: float) -> float:
    """Return the signal over that from which on bias matters more than noise; 1 or more."""
    return max(1.0, signal / AMPLE_SIGNAL)


@dataclass(frozen=True, eq=False)
class InverseRoot:
    """The inverse root of a noisy moment with a public floor under its eigenvalues.

    Parameters
    ----------
    vectors : ndarray of shape (p, p)
        Eigenvectors, as columns.
    values : ndarray of shape (p,)
        Eigenvalues, negative ones raised to 0.
    floor : float
        What is added to them.
    noise : float
        What stands no higher than this is taken for noise.
    """

    vectors: FloatArray
    values: FloatArray
    floor: float
    noise: float

    @classmethod
    def of(cls, moment: FloatArray, floor: float, noise_share: float = 1.0,
           parts: DiagonalPlus | None = None) -> InverseRoot:
        """Return that of a symmetric matrix, of whose noise as it came a share is left.

        `parts` are that matrix again.
        """
        found = None if parts is None else parts.eigen()
        values, vectors = np.linalg.eigh(moment) if found is None else found
        return cls(vectors, np.maximum(values, 0.0), floor, _NOISE_OF_FLOOR * noise_share * floor)

    @cached_property
    def sizes(self) -> FloatArray:
        """ndarray of shape (p,) : its eigenvalues."""
        return 1.0 / np.sqrt(self.values + self.floor)

    @cached_property
    def matrix(self) -> FloatArray:
        """ndarray of shape (p, p) : the map itself."""
        sizes, counts = np.unique(self.sizes, return_counts=True)
        usual = sizes[counts.argmax()] if counts.max() > _MOST_ALIKE * len(self.sizes) else 0.0
        others = self.sizes != usual
        vectors = self.vectors[:, others] if usual else self.vectors
        matrix = (vectors * (self.sizes[others] - usual)) @ vectors.T
        matrix[np.diag_indices(len(matrix))] += usual
        return matrix

    @property
    def moments(self) -> FloatArray:
        """ndarray of shape (p,) : the moments of mapped rows along the vectors."""
        return self.values / (self.values + self.floor)

    @property
    def effective_rank(self) -> float:
        """float : how many directions the map makes alike, those well above noise."""
        shares = np.maximum(self.values - self.noise, 0.0) / (self.values + self.floor)
        return max(1.0, float(shares.sum()))
