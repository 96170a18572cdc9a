"""A linear map of whitened rows, without storing the whitened rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dtrmm

from dpsk._data.blocks import csr_parts, csr_rows, row_blocks
from dpsk._data.norms import square_sums
from dpsk._models.clipping import HEADROOM, clip_factors
from dpsk._models.linear import LinearModel
from dpsk._models.products import product_by_row

if TYPE_CHECKING:
    from typing import Any

    from dpsk._models.image_norms import ImageNorms
    from dpsk._typing import Features, FloatArray

__all__ = ["WhitenedModel"]

#: Bits of the triangular map's entries, counted from the longest column of the map.
_TRIANGLE_BITS = 22


@dataclass(frozen=True, eq=False)
class WhitenedModel(LinearModel):
    """A linear map of ``t P r`` for an entering row ``r``.

    The factor is ``t = min(1, 1 / ||P r||)``. Products use the unmapped rows: predictions are
    ``t r' (P' theta)``, and gradients are ``P`` times a sum over unmapped rows. A row costs two
    numbers, its scale and its constant's scale, and a sparse matrix stays sparse. Every row is
    mapped by itself, by a released matrix, so neighboring tables stay neighbors.

    Parameters
    ----------
    rows : LinearModel
        Scales a row and appends the intercept's 1.
    matrix : ndarray of shape (rows of theta, rows of theta)
        P transposed, public.
    sizes : ndarray of shape (rows of theta,) or None
        Lower bounds on the singular values of the map; None, or with a 0: these are computed.
    norms : ImageNorms or None
        Bounds the norms of mapped rows on a grid; None: a triangular map is used.
    """

    # `of` always gives these; they need defaults because the fields before them have some.
    rows: LinearModel = None  # type: ignore[assignment]  # see above
    matrix: FloatArray = None  # type: ignore[assignment]  # see above
    sizes: FloatArray | None = None
    norms: ImageNorms | None = None

    @classmethod
    def of(cls, rows: LinearModel, matrix: FloatArray, sizes: FloatArray | None = None,
           norms: ImageNorms | None = None) -> WhitenedModel:
        """Return the model of a LinearModel's rows, mapped by `matrix`."""
        return cls(len(matrix), rows.n_outputs, False, 1.0, rows=rows, matrix=matrix, sizes=sizes,
                   norms=norms)

    @cached_property
    def _error(self) -> float:
        """float : rounding error of a mapped row's norm, relative to the row's norm."""
        size = len(self.matrix)
        # Mostly from the triangle's QR: each of its reflections rounds all columns.
        rounding = 2.0**-49 * size**2 * float(np.linalg.norm(self.matrix))
        return rounding + size * self._triangle_unit

    @cached_property
    def _triangle_unit(self) -> float:
        """float : power of two of which the triangle's entries are multiples."""
        # No entry exceeds the norm of its column, which is the norm of the map's column.
        largest = float(np.linalg.norm(self.matrix, axis=1).max())
        return 2.0 ** (math.ceil(math.log2(largest)) - _TRIANGLE_BITS)

    @cached_property
    def _triangle(self) -> FloatArray:
        """ndarray : triangular matrix whose images have nearly the norms of the map's images.

        Its entries have so few bits that products with rows on a grid are exact, in any block.
        """
        triangle: Any = np.linalg.qr(self.matrix.T, mode="r")
        unit = self._triangle_unit
        return np.asfortranarray(np.rint(triangle / unit) * unit)

    @cached_property
    def _corner(self) -> FloatArray:
        """ndarray : the part of the triangle for features, contiguous."""
        p = self.rows.n_features
        return np.asfortranarray(self._triangle[:p, :p])

    @cached_property
    def _sizes(self) -> FloatArray:
        if self.sizes is not None and self.sizes.min() > 0.0:
            return self.sizes
        return np.linalg.svd(self.matrix, compute_uv=False)

    @property
    def scales_targets(self) -> bool:  # type: ignore[override]  # of a class without a map
        """bool : whether the map scales a row's target along with the row."""
        return self.rows.whole

    @property
    def inverse_norm(self) -> float:
        """float : bound on the ratio of a row's norm to its image's norm."""
        return float(1.0 / self._sizes.min())

    @property
    def clips_entries(self) -> Any:
        """bool : whether entries of unmapped rows are clipped."""
        return self.rows.clips_entries

    def bounded(self, X: Features) -> Any:
        return self.rows.bounded(X)

    def row_scales(self, X: Features, alike: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return scales of every row and its constant, (n, 2), and the mapped row's norm.

        With `alike`, the rounding of a row does not depend on its position among others.
        """
        scales, norms = np.empty((X.shape[0], 2)), np.empty(X.shape[0])
        for part in row_blocks(X.shape[0], len(self.matrix)):
            block = csr_rows(X, part) if sparse.issparse(X) else X[part]
            own, lengths = self.rows.row_scales(block)
            constants = self.rows.constants(own)
            factors, norms[part] = self.factors(block, lengths, constants, own, alike)
            scales[part, 0], scales[part, 1] = factors * own, factors * constants
        return scales, norms

    @cached_property
    def spread(self) -> float:
        """float : bound on how much more the map lengthens one row than another."""
        with np.errstate(divide="ignore"):
            return float(np.linalg.norm(self.matrix) * np.linalg.norm(1.0 / self._sizes))

    def rounding_terms(self, n_rows: float) -> int:
        """Return how many terms to count in the rounding bound of a sum over `n_rows`.

        A sum over n unmapped rows has n roundings per row, and its map one for each of d entries.
        The map amplifies both by at most `spread`.
        """
        if not math.isfinite(self.spread):
            raise ValueError("matrix: must be regular, as what rounds before a map that shortens "
                             "some rows to nothing has no bound; raise its least singular values.")
        return math.ceil(math.sqrt(n_rows * (n_rows + len(self.matrix)) * self.spread))

    def factors(self, X: Features, lengths: FloatArray, constants: Any,
                scale: FloatArray | None = None, alike: bool = False,
                ) -> tuple[FloatArray, FloatArray]:
        """Return ``t`` of every row, and the norm of ``t P r``, float64, shape (n,).

        `lengths` are the norms of the rows after their `scale`, where None means 1. `constants`
        are the values in place of the intercept's 1.
        """
        with np.errstate(all="ignore"):
            if sparse.issparse(X):
                mapped = X @ self._corner.T
            elif alike:
                mapped = product_by_row(X, self._corner.T)
            else:
                mapped = self._mapped_features(np.array(X, np.float64, order="C"))
            if scale is not None:
                mapped *= scale[:, None]
                mapped[scale == 0.0] = 0.0
            norms = np.sqrt(self._square_norms(mapped, constants))
            return self._shortening(norms, lengths)

    def factors_of_multiples(self, X: Features, lengths: FloatArray, constants: Any,
                             scale: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return the same for rows ``scale (X, constants)``, with X on a grid.

        X holds multiples of the grid spacing, so its products with the map are exact. A dense X is
        overwritten. `constants` may be one number; `lengths` are norms of the scaled features.
        """
        with np.errstate(all="ignore"):
            if sparse.issparse(X):
                norms = np.empty(X.shape[0])
                for part in row_blocks(X.shape[0], max(1, len(self.matrix) // 4)):
                    beside = constants[part] if np.ndim(constants) else constants
                    norms[part] = self._squares_of_multiples(csr_rows(X, part), beside)
            else:
                norms = self._squares_of_multiples(X, constants)
            np.sqrt(norms, out=norms)
            norms *= scale
            if self.norms is None:
                return self._shortening(norms, lengths)
            entering = self.rows.entering_norms(lengths)
            return self._limited(np.hypot(norms, math.sqrt(self.norms.error) * entering))

    def _squares_of_multiples(self, X: Features, constants: Any) -> FloatArray:
        """Return squared norms of the images of rows on a grid, overwriting the rows."""
        if self.norms is not None:
            X = X.toarray() if sparse.issparse(X) else X
            return self.norms.square_norms(X, constants if self.rows.fit_intercept else None)
        if not sparse.issparse(X):
            return self._square_norms(self._mapped_features(X), constants)
        first, others = csr_parts(X)
        width = first.shape[1]
        mapped = others @ self._corner.T[width:]
        # The map is triangular: the first features only reach the first entries of images.
        mapped[:, :width] += dtrmm(1.0, self._corner[:width, :width], first.T).T
        return self._square_norms(mapped, constants)

    def _shortening(self, norms: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``t`` of rows whose images have these norms, and the norms after it."""
        # Where products of long rows cancel, the error exceeds the rounding slack of a norm.
        return self._limited(norms + self._error * self.rows.entering_norms(lengths))

    def _limited(self, norms: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same from upper bounds on the norms of images."""
        factors = clip_factors(norms, HEADROOM)
        # Outside this range squares overflow or underflow, and norms are meaningless.
        factors[~((norms > 1e-150) & (norms < 1e150))] = 0.0
        norms[factors == 0.0] = 0.0
        norms *= factors
        return factors, norms

    def _mapped_features(self, X: Features) -> FloatArray:
        """Return the images of dense rows' features, overwriting the features."""
        # A triangular product takes half the multiplications of a full one.
        return dtrmm(1.0, self._corner, X.T, overwrite_b=True).T

    def _square_norms(self, mapped: FloatArray, constants: Any) -> FloatArray:
        """Return squared norms of mapped rows, overwriting their features' images."""
        if not self.rows.fit_intercept:
            return square_sums(mapped)
        p = self.rows.n_features
        column = self._triangle[:p, -1]
        mapped += np.multiply.outer(constants, column) if np.ndim(constants) else (
            constants * column)
        squares = square_sums(mapped)
        squares += (constants * self._triangle[p, p])**2
        return squares

    def constant(self, score: float) -> FloatArray:
        return np.linalg.solve(self.matrix, self.rows.constant(score))

    def mapped_point(self, theta: FloatArray) -> FloatArray:
        """Return ``P' theta``, whose products with unmapped rows are predictions."""
        return self.matrix @ theta

    def predict_raw(self, theta: FloatArray, X: Features, scale: Any = None) -> FloatArray:
        point = self.mapped_point(theta)
        own, constant = scale.T
        z = X @ point[:self.rows.n_features].astype(X.dtype, copy=False)
        columns = (slice(None), None)[:z.ndim]
        z *= own[columns]
        # The products of dropped rows may have overflowed.
        z[own == 0.0] = 0.0
        if self.rows.fit_intercept:
            z += constant[columns] * point[-1]
        return z

    def gradient_sum(self, dz: FloatArray, X: Features, scale: Any, out: FloatArray) -> None:
        total = np.zeros(self.shape)
        own, constant = scale.T
        columns = (slice(None), None)[:dz.ndim]
        if self.rows.fit_intercept:
            total[-1] = (dz * constant[columns]).sum(axis=0)
        dz *= own[columns]
        total[:self.rows.n_features] += X.T @ dz
        out += self.matrix.T @ total

    def outer_sum(self, curvatures: FloatArray, X: Features, scale: Any, out: FloatArray) -> None:
        total = np.zeros(out.shape)
        own, constant = scale.T
        p = self.rows.n_features
        if self.rows.fit_intercept:
            cross = X.T @ (curvatures * own * constant)
            total[-1, -1] = (curvatures * constant**2).sum()
            total[:p, -1], total[-1, :p] = cross, cross
        self.rows.products_sum(curvatures * own**2, X, total)
        out += self.matrix.T @ total @ self.matrix
