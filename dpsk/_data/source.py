"""The rows of one fit, on their way from an estimator to an oracle."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

__all__ = ["Rows"]


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Features, targets and weights; sensitive, and never kept on an estimator.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
        Factors of the rows' losses. They belong to the rows, so they come before any clip.
    weight_bound : float
        Public; larger weights are lowered to it.
    owned : bool
        Whether the entries of X are float64 and may be overwritten.
    holdout : Rows or None
        Public rows, which no guarantee covers.
    """

    X: object
    y: np.ndarray
    weights: np.ndarray | None = None
    weight_bound: float = 1.0
    owned: bool = False
    holdout: "Rows | None" = None

    def __len__(self):
        return self.X.shape[0]

    def part(self, indices):
        """Return the rows at an array of indices, without the public ones."""
        X = self.X[indices]
        weights = None if self.weights is None else self.weights[indices]
        # Indexing with an array has made a copy.
        return Rows(X, self.y[indices], weights, self.weight_bound, X.dtype == np.float64)

    @property
    def bounded_weights(self):
        """ndarray of float64 or None : the weights, at most `weight_bound`."""
        if self.weights is None:
            return None
        # In single precision the bound itself could be rounded up.
        return np.minimum(self.weights, self.weight_bound, dtype=np.float64)

    def clipped_by(self, model):
        """Return the rows with entries within the model's bound on coordinates."""
        X = model.bounded(self.X)
        if X is self.X:
            return self
        return replace(self, X=X, owned=not sparse.issparse(X) and X.dtype == np.float64)
