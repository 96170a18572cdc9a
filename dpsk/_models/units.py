"""Rows in the unit of a bound on their norms."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_blocks
from dpsk._models.linear import LinearModel

__all__ = ["UnitRows"]


@dataclass(frozen=True)
class UnitRows:
    """Map a row ``x`` to ``x / max(data_norm, ||x||)``: a map of each row by itself.

    Parameters
    ----------
    model : LinearModel
        Its `data_norm` is the unit.
    dtype : dtype
        That of the rows.
    """

    model: LinearModel
    dtype: np.dtype

    @property
    def width(self):
        """int : number of columns."""
        return self.model.n_features

    def dense(self, X, out):
        """Write the mapped rows of a block to `out`."""
        # The product is at most 1, so that single precision holds it.
        np.multiply(X, self._factors(X)[:, None], out=out, casting="same_kind")

    def csr(self, X, owned):
        """Return the mapped rows of a CSR matrix, in its own entries where they are `owned`."""
        factors = self._factors(X)
        data = X.data if owned else np.empty_like(X.data)
        for part, entries, counts in csr_blocks(X):
            np.multiply(X.data[entries], np.repeat(factors[part], counts), out=data[entries],
                        casting="same_kind")
        return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=False)

    def _factors(self, X):
        return self.model.row_scales(X)[0] / self.model.data_norm
