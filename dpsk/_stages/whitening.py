"""Whitening of rows by the inverse root of their noisy second moment."""

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

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._problem import Problem
    from dpsk._stages.diagonal_plus import DiagonalPlus
    from dpsk._typing import FloatArray

__all__ = ["InverseRoot", "Spectrum", "UnitNorm", "Whitening", "ampleness", "moment_budget"]

#: The largest eigenvalue of noise alone, over the floor.
_NOISE_OF_FLOOR = 0.4
#: Bits of the largest entry of the map.
_MATRIX_BITS = 22
#: With a larger share of equal eigenvalues, only the other directions take matrix products.
_MOST_ALIKE = 0.5
#: Most rounds of iterative refinement of a system with the map, and its relative tolerance.
_MOST_SOLUTIONS, _SOLVED = 5, 1e-12
#: Up to this size, computing all eigenvalues is as fast as the largest alone.
_FEW_DIRECTIONS = 128


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Spectrum of whitened rows, from the released moment.

    Parameters
    ----------
    directions : ndarray of shape (p, p)
        Orthonormal columns.
    moments : ndarray of shape (p,)
        Mean squares of whitened rows along the directions.
    sizes : ndarray of shape (p,)
        Eigenvalues of the map along the directions, up to its rounding.
    matrix : ndarray of shape (p, p)
        The map that whitened the rows.
    covariance : ndarray of shape (n_features, n_features)
        Thresholded covariance of the features before the map.
    mean : ndarray of shape (p,) or None
        The mean row before the map; None without an intercept.
    mean_noise : ndarray of shape (p,) or None
        Standard deviations of the noise on `mean`.
    """

    directions: FloatArray
    moments: FloatArray
    sizes: FloatArray
    matrix: FloatArray
    covariance: FloatArray
    mean: FloatArray | None = None
    mean_noise: FloatArray | None = None

    def moved(self, change: FloatArray) -> FloatArray:
        """Return the change of parameters for a change of coefficients before the map.

        The mean prediction stays, unless the mean of the constant is mostly noise. The constant
        is scaled down with long rows, so its mean may be near 0.
        """
        if self.mean is not None:
            size = max(self.mean[-1], 0.0)
            share = size / (size**2 + self.mean_noise[-1]**2)
            constant = -share * (self.mean[:-1] @ change)
            change = np.concatenate([change, np.expand_dims(constant, 0)])
        found, left = np.zeros_like(change), change
        # Iterative refinement: `directions` and `sizes` give the map before its rounding.
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
    """Release a noisy second moment, and whiten rows by its inverse root in training.

    The constant becomes a coordinate of the whitened rows. Whitened rows longer than 1 are scaled
    down to 1, for solvers that clip at twice the usual norm. The matrix times the parameters for
    whitened rows gives the parameters for the original rows.
    """

    attribute = "preconditioner_"
    takes_groups = True
    #: Public noise on a mean square and on a mean, of rows in the unit of their bound.
    noise_stds: tuple[float, float] | None = None
    words = "; then rows are whitened by the released preconditioner and scaled down to norm 1"
    #: What features were divided by before, in an array.
    _feature_scales: Any = 1.0
    #: The square of the map as diagonal minus low rank, where the moment has that structure.
    _inverse: Any = None

    def __init__(self, model, dtype, descends=False):
        # In the unit of their bound, rows are as long as the constant.
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

    def take_scales(self, scales: FloatArray) -> None:
        self._feature_scales = scales

    def event(self, problem: Problem) -> Any:
        """Return the event of the release."""
        return Gaussian(moment_budget(problem))

    def release(self, problem: Problem, rows: RowSource, session: Session) -> Any:
        """Return the problem of the whitened rows, and the rows."""
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
        self.spectrum = Spectrum(root.vectors, root.moments / usual**2, root.sizes / usual,
                                 self._matrix, found.covariance, *means)
        if found.parts is not None:
            self._inverse = tuple(part / usual for part in found.parts.inverse(floor))
        self.scales = float(usual), float(floor)
        self.noise_stds = noise_std, float(means[1][0]) if means else 0.0
        self.value = self._of_rows(self._matrix).astype(self._dtype)
        geometry = self._geometry(problem, effective_rank, max(1.0, left))
        # A squared penalty stays on the coefficients of the original rows.
        if self._descends:
            coefficients = (self._matrix[:model.n_features] / model.unit
                            / np.reshape(self._feature_scales, (-1, 1)))
            problem = replace(problem, penalty=problem.penalty.mapped(coefficients))
        return self._mapped(replace(problem, geometry=geometry), rows)

    @property
    def unit(self) -> float:
        """float : the bound on rows, declared or released."""
        return self._model.unit

    def undo(self, model: Any, theta: FloatArray) -> FloatArray:
        return self._of_rows(self._matrix @ theta)

    def _of_rows(self, theta):
        """Return parameters for rows in their own unit, from those in the unit of the bound."""
        result = theta.copy()
        result[:self._model.n_features] /= self._unit
        return result

    def _longest(self, problem):
        """Return the bound on whitened rows over the length of a usual row."""
        # Where the longest row determines the noise, clipping does not help.
        longest = loss_defaults(problem.loss).longest if self._descends else 1.0
        return longest * math.sqrt(ampleness(problem.signal_to_noise))

    def _geometry(self, problem, effective_rank, unevenness=1.0):
        longest = max(1.0, self._longest(problem))
        return Geometry(effective_rank * longest**2, unevenness, 1.0 / longest)

    def _mapped(self, problem, rows):
        """Return the problem with the map in its model, and the rows, which are not copied."""
        norms = None if self._inverse is None else ImageNorms.of(self._matrix, *self._inverse)
        return replace(problem, model=WhitenedModel.of(self._model, self._matrix, self._sizes,
                                                       norms)), rows


class UnitNorm(Whitening):
    """Whitening with rows scaled to norm 1 in training and prediction: scores are not linear."""

    words = "; then rows are whitened by the released preconditioner and scaled to norm 1"
    normalizes: ClassVar[bool] = True

    def _longest(self, problem):
        return 1.0

    def _mapped(self, problem, rows):
        self.row_map = Preconditioner(self._model, self._matrix, normalizes=True)
        return problem, rows.mapped(self.row_map)


def _on_grid(matrix, sizes):
    """Round a matrix so that its products with rows on a grid are exact; return it.

    Return also lower bounds on its eigenvalues, which were `sizes` before.
    """
    largest = max(matrix.max(), -matrix.min())
    unit = 2.0 ** (math.ceil(math.log2(largest)) - _MATRIX_BITS)
    matrix /= unit
    np.rint(matrix, out=matrix)
    matrix *= unit
    # Half a unit per entry for this rounding, and as much for that of the given matrix.
    return matrix, sizes - len(sizes) * unit


def _largest(matrix, moment):
    """Return the largest eigenvalue of ``matrix @ moment @ matrix``, to 1 %."""
    size = len(matrix)
    if size <= _FEW_DIRECTIONS or not moment.any():
        return float(np.linalg.eigvalsh(matrix @ moment @ matrix)[-1])
    mapped = LinearOperator((size, size), lambda x: matrix @ (moment @ (matrix @ x)), dtype=float)
    # A fixed start vector; the default of `eigsh` is random.
    start = 1.0 + np.linspace(0.0, 1.0, size)
    return float(eigsh(mapped, 1, which="LA", v0=start, tol=0.01, return_eigenvectors=False)[0])


def moment_budget(problem: Problem) -> float:
    """Return the budget mu of the second moment."""
    return mu_of_share(problem, MOMENT_SHARE)


def ampleness(signal: float) -> float:
    """Return the signal over the level at which bias matters more than noise; at least 1."""
    return max(1.0, signal / AMPLE_SIGNAL)


@dataclass(frozen=True, eq=False)
class InverseRoot:
    """The inverse root of a noisy moment with a public floor added to its eigenvalues.

    Parameters
    ----------
    vectors : ndarray of shape (p, p)
        Eigenvectors, as columns.
    values : ndarray of shape (p,)
        Eigenvalues, with negative ones raised to 0.
    floor : float
        The number that is added to the eigenvalues.
    noise : float
        Eigenvalues up to this count as noise.
    """

    vectors: FloatArray
    values: FloatArray
    floor: float
    noise: float

    @classmethod
    def of(cls, moment: FloatArray, floor: float, noise_share: float = 1.0,
           parts: DiagonalPlus | None = None) -> InverseRoot:
        """Return the inverse root of a symmetric matrix.

        `noise_share` is the share of noise left by thresholding; `parts` is the same matrix.
        """
        found = None if parts is None else parts.eigen()
        values, vectors = np.linalg.eigh(moment) if found is None else found
        return cls(vectors, np.maximum(values, 0.0), floor, _NOISE_OF_FLOOR * noise_share * floor)

    @cached_property
    def sizes(self) -> FloatArray:
        """ndarray of shape (p,) : eigenvalues of the inverse root."""
        return 1.0 / np.sqrt(self.values + self.floor)

    @cached_property
    def matrix(self) -> FloatArray:
        """ndarray of shape (p, p) : the inverse root itself."""
        sizes, counts = np.unique(self.sizes, return_counts=True)
        usual = sizes[counts.argmax()] if counts.max() > _MOST_ALIKE * len(self.sizes) else 0.0
        others = self.sizes != usual
        vectors = self.vectors[:, others] if usual else self.vectors
        matrix = (vectors * (self.sizes[others] - usual)) @ vectors.T
        matrix[np.diag_indices(len(matrix))] += usual
        return matrix

    @property
    def moments(self) -> FloatArray:
        """ndarray of shape (p,) : mean squares of whitened rows along the eigenvectors."""
        return self.values / (self.values + self.floor)

    @property
    def effective_rank(self) -> float:
        """float : effective number of whitened directions, those well above noise."""
        shares = np.maximum(self.values - self.noise, 0.0) / (self.values + self.floor)
        return max(1.0, float(shares.sum()))
