"""Rows mapped by the inverse root of their noisy second moment."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.special import ndtr

from dpsk._defaults.budgets import (
    AMPLE_SIGNAL,
    FALSE_SHARE,
    LEAST_FLOOR,
    MOMENT_SHARE,
    NOISE_FLOOR,
    SCORE_FLOOR,
    mu_of_share,
    whitening_pays,
)
from dpsk._defaults.losses import loss_defaults
from dpsk._models import LinearModel, Preconditioner, WhitenedModel
from dpsk._privacy.events import Gaussian
from dpsk._problem import Geometry
from dpsk._stages.base import RowStage
from dpsk._statistics.moments import mean_noise, noisy_second_moment, second_moment_noise

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["InverseRoot", "Spectrum", "UnitNorm", "Whitening", "ampleness", "moment_budget",
           "thresholded"]

#: Standard deviations of noise above zero from which on covariances may be kept.
_DEVIATIONS = np.linspace(2.0, 6.0, 81)
#: Mean squares of constants count as no less.
_LEAST_CONSTANT = 0.05
#: Standard errors above zero from which on a mean of variances is one.
_SURE = 3.0
#: Of the floor: what eigenvalues of noise alone come to.
_NOISE_OF_FLOOR = 0.4
#: Of the largest entry of the map.
_MATRIX_BITS = 22
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
    words = "; then rows are mapped by the released preconditioner and shortened to norm 1"

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
        root = InverseRoot.of(found.moment, floor, found.noise_share)
        effective_rank = root.effective_rank
        left = _largest(root.matrix, noisy)
        usual = np.sqrt(effective_rank) * self._longest(problem)
        self._matrix, self._sizes = _on_grid(root.matrix / usual, root.sizes / usual)
        means = (found.moment[:, -1], mean_noise(model, rows.n_units, mu)) if (
            model.fit_intercept) else ()
        self.spectrum = Spectrum(root.vectors, root.moments / usual**2, self._matrix,
                                 found.covariance, *means)
        self.scales = float(usual), float(floor)
        self.noise_stds = noise_std, float(means[1][0]) if means else 0.0
        self.value = self._of_rows(self._matrix).astype(self._dtype)
        geometry = self._geometry(problem, effective_rank, max(1.0, left))
        # A squared penalty stays on the coefficients of the rows as they came.
        if self._descends:
            coefficients = self._matrix[:model.n_features] / model.unit
            problem = replace(problem, penalty=problem.penalty.mapped(coefficients))
        return self._mapped(replace(problem, geometry=geometry), rows)

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
        return replace(problem, model=WhitenedModel.of(self._model, self._matrix,
                                                       self._sizes)), rows


class UnitNorm(Whitening):
    """Whitened rows of one length, in training and in prediction: a slightly curved score."""

    words = "; then rows are mapped by the released preconditioner to norm 1"
    normalizes: ClassVar[bool] = True

    def _longest(self, problem):
        return 1.0

    def _mapped(self, problem, rows):
        self.row_map = Preconditioner(self._model, self._matrix, normalizes=True)
        return problem, rows.mapped(self.row_map)


def _on_grid(matrix, sizes):
    """Return a matrix in so few bits that its products with rows on a grid are exact.

    And what its eigenvalues, which were `sizes`, are at least.
    """
    unit = 2.0 ** (math.ceil(math.log2(np.abs(matrix).max())) - _MATRIX_BITS)
    # Half a unit an entry, and as much for the rounding of what was given.
    return np.rint(matrix / unit) * unit, sizes - len(sizes) * unit


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
class Thresholded:
    """A noisy moment without what noise alone explains.

    Parameters
    ----------
    moment : ndarray of shape (p, p)
    covariance : ndarray of shape (n_features, n_features)
        Of the features in it, but for what is kept by its directions.
    entries : float
        How many entries a row keeps on average.
    noise_share : float
        The noise that is left in these over that of as many entries.
    """

    moment: FloatArray
    covariance: FloatArray
    entries: float
    noise_share: float


def thresholded(moment: FloatArray, noise_std: float, fit_intercept: bool) -> Thresholded:
    """Return a noisy moment without what noise alone explains.

    Covariances that are no larger than noise are left out; what many columns share and no pair of
    them shows is kept by its directions. Variances keep as much of their differences as is no
    noise.

    The moment, shape (p, p), is released and symmetric, its last row that of the constant if
    there is one; `noise_std` is on the diagonal.

    References
    ----------
    Bickel, Levina (2008), "Covariance regularization by thresholding"; Benjamini, Hochberg
    (1995), for the threshold; Benaych-Georges, Nadakuditi (2011), for the directions; James,
    Stein (1961), for the variances.
    """
    features = len(moment) - fit_intercept
    means = moment[:features, -1] if fit_intercept else np.zeros(features)
    # Constants that were scaled with their rows have a mean square below 1, and noisy.
    products = np.outer(means, means) / max(moment[-1, -1], _LEAST_CONSTANT)
    covariance = moment[:features, :features] - products
    deviation = math.sqrt(0.5) * noise_std
    kept = np.abs(covariance) > _cut(covariance, deviation)
    np.fill_diagonal(kept, True)
    shared = _spikes(np.where(kept, 0.0, covariance), deviation)
    covariance *= kept
    others = float(kept.sum() + len(moment) - 2 * features)
    variances, apart = _drawn_together(np.diag(covariance), noise_std)
    if apart < 1.0:
        # No correlation is above 1, as far as variances are known.
        most = np.sqrt(variances + 2.0 * math.sqrt(apart) * noise_std)
        covariance = np.clip(covariance, -np.outer(most, most), np.outer(most, most))
    np.fill_diagonal(covariance, variances)
    result = moment.copy()
    result[:features, :features] = covariance + shared + products
    # All variances together have the noise of one, where none keeps any of its own.
    noisy = others + apart * features + (1.0 - apart)
    return Thresholded(result, covariance, (others + features) / len(moment),
                       math.sqrt(noisy / (others + features)))


def _drawn_together(variances, noise_std):
    """Return variances as far from their mean as noise leaves them, and how far that is.

    Of columns that all vary alike noise would show that some do not at all. Not at all where
    their mean is noise itself, as beside means that are far from 0.
    """
    mean, square = variances.mean(), variances.var()
    apart = 1.0
    if mean > _SURE * noise_std / math.sqrt(len(variances)) and square > 0.0:
        apart = max(0.0, 1.0 - noise_std**2 / square)
    return np.maximum(mean + apart * (variances - mean), 0.0), apart


def _cut(covariance, deviation):
    """Return the least size at which few of the covariances that are as large are noise."""
    cuts = _DEVIATIONS * deviation
    sizes = np.sort(np.abs(covariance[np.triu_indices(len(covariance), 1)]))
    found = len(sizes) - np.searchsorted(sizes, cuts, side="right")
    by_chance = 2.0 * ndtr(-_DEVIATIONS) * len(sizes)
    passes = by_chance <= FALSE_SHARE * found
    return cuts[np.argmax(passes)] if passes.any() else cuts[-1]


def _spikes(rest, deviation):
    """Return the part of a symmetric matrix in directions that stand out of noise beside it.

    The eigenvalues of noise alone end at ``2 deviation sqrt(p)``, and less than one in a hundred
    times a fluctuation above. One of size s shows as ``s + edge^2 / (4 s)``, in a direction whose
    squared cosine with its own is ``1 - edge^2 / (4 s^2)``.
    """
    size = len(rest)
    edge = 2.0 * deviation * math.sqrt(size)
    above = edge * (1.0 + size ** (-2.0 / 3.0))
    values, vectors = eigh(rest, subset_by_value=(above, np.inf))
    values = 0.5 * (values + np.sqrt(values**2 - edge**2))
    return (vectors * (values - edge**2 / (4.0 * values))) @ vectors.T


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
    def of(cls, moment: FloatArray, floor: float, noise_share: float = 1.0) -> InverseRoot:
        """Return that of a symmetric matrix, of whose noise as it came a share is left."""
        values, vectors = np.linalg.eigh(moment)
        return cls(vectors, np.maximum(values, 0.0), floor, _NOISE_OF_FLOOR * noise_share * floor)

    @cached_property
    def sizes(self) -> FloatArray:
        """ndarray of shape (p,) : its eigenvalues."""
        return 1.0 / np.sqrt(self.values + self.floor)

    @cached_property
    def matrix(self) -> FloatArray:
        """ndarray of shape (p, p) : the map itself."""
        return (self.vectors * self.sizes) @ self.vectors.T

    @property
    def moments(self) -> FloatArray:
        """ndarray of shape (p,) : the moments of mapped rows along the vectors."""
        return self.values / (self.values + self.floor)

    @property
    def effective_rank(self) -> float:
        """float : how many directions the map makes alike, those well above noise."""
        shares = np.maximum(self.values - self.noise, 0.0) / (self.values + self.floor)
        return max(1.0, float(shares.sum()))
