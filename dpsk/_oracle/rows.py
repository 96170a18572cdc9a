"""The rows of one fit, on their way from an estimator to an oracle."""

from dataclasses import dataclass

import numpy as np

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
        Whether X is a float64 array that may be overwritten.
    """

    X: object
    y: np.ndarray
    weights: np.ndarray | None = None
    weight_bound: float = 1.0
    owned: bool = False

    def __len__(self):
        return self.X.shape[0]

    @property
    def bounded_weights(self):
        """ndarray of float64 or None : the weights, at most `weight_bound`."""
        if self.weights is None:
            return None
        # In single precision the bound itself could be rounded up.
        return np.minimum(self.weights, self.weight_bound, dtype=np.float64)
