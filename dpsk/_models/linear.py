"""The linear map: the only code that knows ``X @ coef + intercept``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import sparse

from dpsk._data.norms import row_norms
from dpsk._models.clipping import HEADROOM, SHORTEST, clip_factors
from dpsk._models.coordinates import clipped_entries, row_maxima
from dpsk._models.linear_pass import LinearPass

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["LinearModel"]

#: The product of a smaller factor and a clipped derivative could underflow.
_LEAST_SCALE = float(np.sqrt(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class LinearModel:
    """A linear map of rows scaled into a ball.

    A row ``x`` enters as ``x min(1, data_norm / ||x||)``, its entries then clipped to
    ``+-data_norm_inf`` where that is given, followed by a 1 if there is an intercept. `theta`
    holds the coefficients, then the intercept, as its rows; it has a second axis exactly if the
    raw prediction is a vector. Rows are dense, or CSR.

    Parameters
    ----------
    n_features : int
    n_outputs : int or None
        None for a scalar raw prediction.
    fit_intercept : bool
    data_norm : float
    data_norm_inf : float or None
    unit : float
        Rows are divided by it before any bound applies, so bounds are in this unit.
    homogeneous : bool
        Whether a map of rows scales the intercept's 1 with its row. This leaves the signs and the
        order of a row's scores unchanged.
    whole : bool
        Whether such a map scales the target of a row as well. An equation still holds when both
        sides are multiplied by a number.
    """

    n_features: int
    n_outputs: int | None
    fit_intercept: bool
    data_norm: float
    data_norm_inf: float | None = None
    unit: float = 1.0
    homogeneous: bool = False
    whole: bool = False

    is_linear = True
    #: Whether rows have a second scale, for their constant and their target.
    scales_targets: ClassVar[bool] = False

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """tuple of int : shape of `theta`."""
        rows = self.n_features + self.fit_intercept
        return (rows,) if self.n_outputs is None else (rows, self.n_outputs)

    @cached_property
    def dimension(self) -> int:
        """int : number of coordinates of `theta`."""
        return math.prod(self.shape)

    @cached_property
    def radius(self) -> float:
        """float : bound on the norm of a row as it enters, the intercept's 1 included."""
        return math.hypot(self.data_norm, 1.0) if self.fit_intercept else self.data_norm

    @property
    def coordinate_bound(self) -> Any:
        """float : bound on the entries of a row as it enters, the intercept's 1 included."""
        bound = self.data_norm
        if self.data_norm_inf is not None:
            bound = min(bound, self.data_norm_inf)
        return max(bound, 1.0) if self.fit_intercept else bound

    def rescaled(self, theta: FloatArray, factor: float) -> FloatArray:
        """Return parameters that predict `factor` times what `theta` predicts."""
        return theta * factor

    def before_map(self, theta: FloatArray, center: FloatArray, matrix: Any = None) -> FloatArray:
        """Return parameters that do for x what `theta` does for ``(x - center) matrix``.

        A `matrix` of None is the identity, a vector is a diagonal. `theta` may be a preconditioner
        of `center`'s columns, and the model one of rows that a later stage has mapped.
        """
        theta = theta.copy()
        weights = theta[:len(center)]
        if matrix is not None:
            weights[:] = matrix @ weights if matrix.ndim == 2 else (matrix * weights.T).T
        if len(theta) > len(center):
            theta[-1] -= center @ weights
        return theta

    @property
    def clips_entries(self) -> bool:
        """bool : whether entries are clipped in addition to norms."""
        return self.data_norm_inf is not None and self.data_norm_inf < self.data_norm

    def bounded(self, X: Features) -> Any:
        """Return X with its entries clipped, or X itself where only norms are bounded.

        The result must be scaled by its own `row_scales`, which then shorten rows by no more
        than rounding.
        """
        if not self.clips_entries:
            return X
        factors = self.row_scales(X)[0] * self.unit
        bound: Any = self.data_norm_inf
        return clipped_entries(X, factors, bound * self.unit * HEADROOM)

    def row_maxima(self, X: Features, scale: FloatArray) -> FloatArray:
        """Return every row's largest absolute entry as it enters, float64, shape (n,)."""
        maxima = row_maxima(X, scale)
        return np.maximum(maxima, 1.0) if self.fit_intercept else maxima

    def row_scales(self, X: Features) -> tuple[FloatArray, FloatArray]:
        """Return the scale factor of every row, and its norm after scaling, shape (n,).

        Both are float64, and norms leave out the intercept's 1.
        """
        norms = row_norms(X)
        if self.unit != 1.0:
            # Squares of shorter rows underflow, but a small unit would make these rows long again.
            np.maximum(norms, SHORTEST, out=norms)
            norms /= self.unit
        scale = clip_factors(norms, self.data_norm * HEADROOM, _LEAST_SCALE)
        np.multiply(norms, scale, out=norms, where=scale > 0)
        norms[scale == 0] = 0.0
        scale /= self.unit
        return scale, norms

    def constants(self, scale: FloatArray) -> FloatArray:
        """Return the values in place of the intercept's 1 for mapped rows of these scales."""
        return scale * self.unit if self.homogeneous else np.ones(len(scale))

    def entering_norms(self, norms: FloatArray, order: int = 2) -> FloatArray:
        """Return l1 or l2 norms of rows with the intercept's 1 appended, if there is one."""
        if not self.fit_intercept:
            return norms
        return np.hypot(norms, 1.0) if order == 2 else norms + 1.0

    def predict_raw(self, theta: FloatArray, X: Features,
                    scale: FloatArray | None = None) -> FloatArray:
        """Return raw predictions, shape (n,) or (n, n_outputs), dtype of X.

        `scale` comes from `row_scales`, or is None where the rows are already scaled.
        """
        theta = theta.astype(X.dtype, copy=False)
        z = X @ theta[:self.n_features]
        if scale is not None:
            z *= scale if z.ndim == 1 else scale[:, None]
            # The products of dropped rows may have overflowed.
            z[scale == 0.0] = 0.0
        if self.fit_intercept:
            z += theta[-1]
        return z

    def rounding_terms(self, n_rows: float) -> float:
        """Return how many terms to count in the rounding bound of a sum over `n_rows`."""
        return n_rows

    def initial(self, normals: Callable[..., FloatArray]) -> FloatArray:
        """Return the public start, zero; `normals` is not used."""
        return np.zeros(self.shape)

    def constant(self, score: float) -> FloatArray:
        """Return parameters that predict `score`, or zero if there is no intercept."""
        theta = np.zeros(self.shape)
        if self.fit_intercept:
            theta[-1] = score
        return theta

    def forward(self, theta: FloatArray, X: Features, scale: FloatArray | None,
                norms: FloatArray) -> LinearPass:
        """Return a `LinearPass` over rows, with the `scale` and `norms` from `row_scales`."""
        return LinearPass(self, theta, X, scale, norms)

    def gradient_sum(self, dz: FloatArray, X: Features, scale: FloatArray | None,
                     out: FloatArray) -> None:
        """Add the sum of the rows' gradients to `out`, float64, overwriting `dz`.

        `dz` holds weighted derivatives in the raw predictions, shape (n,) or (n, n_outputs).
        """
        if self.fit_intercept:
            out[-1] += dz.sum(axis=0, dtype=np.float64)
        if scale is not None:
            dz *= scale if dz.ndim == 1 else scale[:, None]
        self.features_sum(dz, X, out)

    def features_sum(self, dz: FloatArray, X: Features, out: FloatArray) -> None:
        """Add the sum of derivatives times features to `out`, without the intercept."""
        out[:self.n_features] += X.T @ dz

    def outer_sum(self, curvatures: FloatArray, X: Features, scale: FloatArray | None,
                  out: FloatArray) -> None:
        """Add the weighted sum of outer products of entering rows to `out`.

        `curvatures` holds the weights of the rows, shape (n,), and is overwritten. `out` has
        shape (len(theta), len(theta)).
        """
        p = self.n_features
        if self.fit_intercept:
            out[-1, -1] += curvatures.sum()
        if scale is not None:
            curvatures *= scale
        if self.fit_intercept:
            cross = X.T @ curvatures
            out[:p, -1] += cross
            out[-1, :p] += cross
        if scale is not None:
            curvatures *= scale
        self.products_sum(curvatures, X, out)

    def products_sum(self, weights: FloatArray, X: Features, out: FloatArray) -> None:
        """Add the weighted sum of the features' outer products to the corner of `out`."""
        p = self.n_features
        if sparse.issparse(X):
            out[:p, :p] += (X.T @ sparse.diags(weights) @ X).toarray()
        else:
            out[:p, :p] += X.T @ (X * weights[:, None])
