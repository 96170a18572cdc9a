"""A linear map of whitened rows, which are never made."""

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

#: Of the longest column of the map.
_TRIANGLE_BITS = 22


@dataclass(frozen=True, eq=False)
class WhitenedModel(LinearModel):
    """A linear map of ``t P r`` for an entering row ``r``, with ``t = min(1, 1 / ||P r||)``.

    Products go through the rows as they are: ``t r' (P theta)``, and for gradients ``P`` times
    the sum over rows as they are. A row costs two numbers, its scale and that of its constant, and
    a sparse matrix stays one. Every row is mapped by itself, by a released matrix: neighboring
    tables stay neighbors.

    Parameters
    ----------
    rows : LinearModel
        Scales a row and appends the intercept's 1.
    matrix : ndarray of shape (rows of theta, rows of theta)
        P transposed, public.
    sizes : ndarray of shape (rows of theta,) or None
        No more than by how much it lengthens rows in directions of its own; None: to be found.
    norms : ImageNorms or None
        How images of rows on a grid are measured; None: by a triangle.
    """

    # Given always, by `of`: the fields before them have defaults.
    rows: LinearModel = None  # type: ignore[assignment]  # see above
    matrix: FloatArray = None  # type: ignore[assignment]  # see above
    sizes: FloatArray | None = None
    norms: ImageNorms | None = None

    @classmethod
    def of(cls, rows: LinearModel, matrix: FloatArray, sizes: FloatArray | None = None,
           norms: ImageNorms | None = None) -> WhitenedModel:
        """Return the model of the rows of a LinearModel, mapped by `matrix`."""
        return cls(len(matrix), rows.n_outputs, False, 1.0, rows=rows, matrix=matrix, sizes=sizes,
                   norms=norms)

    @cached_property
    def _error(self) -> float:
        """float : rounding in the norm of a mapped row, over the norm of the row."""
        size = len(self.matrix)
        # Of the triangle first of all: each of its reflections rounds all columns.
        rounding = 2.0**-49 * size**2 * float(np.linalg.norm(self.matrix))
        return rounding + size * self._triangle_unit

    @cached_property
    def _triangle_unit(self) -> float:
        """float : the power of two whose multiples the entries of the triangle are."""
        # No entry is longer than its column, which is an image.
        largest = float(np.linalg.norm(self.matrix, axis=1).max())
        return 2.0 ** (math.ceil(math.log2(largest)) - _TRIANGLE_BITS)

    @cached_property
    def _triangle(self) -> FloatArray:
        """ndarray : a triangular matrix whose images are as long as those of the map, or nearly.

        In so few bits that its products with rows on a grid are exact, in blocks of any size.
        """
        triangle: Any = np.linalg.qr(self.matrix.T, mode="r")
        unit = self._triangle_unit
        return np.asfortranarray(np.rint(triangle / unit) * unit)

    @cached_property
    def _corner(self) -> FloatArray:
        """ndarray : the part of the triangle for features, in one piece."""
        p = self.rows.n_features
        return np.asfortranarray(self._triangle[:p, :p])

    @cached_property
    def _sizes(self) -> FloatArray:
        if self.sizes is not None and self.sizes.min() > 0.0:
            return self.sizes
        return np.linalg.svd(self.matrix, compute_uv=False)

    @property
    def scales_targets(self) -> bool:  # type: ignore[override]  # of a class without a map
        """bool : whether rows are scaled as whole equations."""
        return self.rows.whole

    @property
    def inverse_norm(self) -> float:
        """float : by how much rows are longer than their images, at most."""
        return float(1.0 / self._sizes.min())

    @property
    def clips_entries(self) -> Any:
        """bool : whether entries of rows as they are are clipped."""
        return self.rows.clips_entries

    def bounded(self, X: Features) -> Any:
        return self.rows.bounded(X)

    def row_scales(self, X: Features, alike: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return the scales of every row and of its constant, (n, 2), and its norm when mapped.

        With `alike` a row rounds as it would anywhere else among others.
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
        """float : by how much the map may lengthen one row more than another."""
        with np.errstate(divide="ignore"):
            return float(np.linalg.norm(self.matrix) * np.linalg.norm(1.0 / self._sizes))

    def rounding_terms(self, n_rows: float) -> int:
        """Return how many terms round as much as sums over `n_rows` do, each beside its bound.

        A sum over n rows as they are is off by n roundings a row, its map by one for each of d
        entries, and the map lets both grow by `spread`.
        """
        if not math.isfinite(self.spread):
            raise ValueError("matrix: must be regular, as what rounds before a map that shortens "
                             "some rows to nothing has no bound; raise its least singular values.")
        return math.ceil(math.sqrt(n_rows * (n_rows + len(self.matrix)) * self.spread))

    def factors(self, X: Features, lengths: FloatArray, constants: Any,
                scale: FloatArray | None = None, alike: bool = False,
                ) -> tuple[FloatArray, FloatArray]:
        """Return ``t`` of every row of a block, and the norm of ``t P r``, float64, shape (n,).

        `lengths` are the norms of rows after their `scale`, None for 1, and `constants` what
        stands for the intercept's 1.
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
        """Return the same of ``scale (X, constants)``; `constants` may be one number.

        X is a block of whole units, whose products with the map are exact, and is overwritten
        where it is dense. `lengths` are those of features after their scale.
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
        """Return squared lengths of images of rows in whole units, which are overwritten."""
        if self.norms is not None:
            X = X.toarray() if sparse.issparse(X) else X
            return self.norms.square_norms(X, constants if self.rows.fit_intercept else None)
        if not sparse.issparse(X):
            return self._square_norms(self._mapped_features(X), constants)
        first, others = csr_parts(X)
        width = first.shape[1]
        mapped = others @ self._corner.T[width:]
        # Of the first columns the triangle has no rows below these.
        mapped[:, :width] += dtrmm(1.0, self._corner[:width, :width], first.T).T
        return self._square_norms(mapped, constants)

    def _shortening(self, norms: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``t`` of rows whose images have some norms, and the norms that are left."""
        # Products of long rows that cancel are off by more than the head-room of a norm.
        return self._limited(norms + self._error * self.rows.entering_norms(lengths))

    def _limited(self, norms: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same of norms that are no less than those of images."""
        factors = clip_factors(norms, HEADROOM)
        # Beyond, squares overflow or underflow, and a norm says nothing.
        factors[~((norms > 1e-150) & (norms < 1e150))] = 0.0
        norms[factors == 0.0] = 0.0
        norms *= factors
        return factors, norms

    def _mapped_features(self, X: Features) -> FloatArray:
        """Return the images of features of dense rows in the place of those."""
        # Half the products of a full matrix.
        return dtrmm(1.0, self._corner, X.T, overwrite_b=True).T

    def _square_norms(self, mapped: FloatArray, constants: Any) -> FloatArray:
        """Return squared lengths of rows from the images of features, which are overwritten."""
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
        """Return ``P' theta``, which rows as they are meet."""
        return self.matrix @ theta

    def predict_raw(self, theta: FloatArray, X: Features, scale: Any = None) -> FloatArray:
        point = self.mapped_point(theta)
        own, constant = scale.T
        z = X @ point[:self.rows.n_features].astype(X.dtype, copy=False)
        columns = (slice(None), None)[:z.ndim]
        z *= own[columns]
        # The product of a row that is dropped may have overflowed.
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
