"""Predictions in batches of one shape, so that they do not depend on row position.

Matrix products round the last rows of a block differently. If an earlier group had more rows, a
row would move, and its prediction could cross a threshold through rounding alone.
"""

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

__all__ = ["InPasses"]

#: Number of rows of a batch: a multiple of the block size of any BLAS kernel.
_ROWS = 256


class InPasses:
    """Wrapper of a fitted estimator that predicts in batches of one fixed shape.

    Parameters
    ----------
    model : fitted estimator
    """

    def __init__(self, model):
        self._model = model

    def __getattr__(self, name):
        found = getattr(self._model, name)
        if not (name.startswith("predict") or name == "decision_function"):
            return found
        return lambda X: self._all(found, X)

    @staticmethod
    def _all(predict, X):
        n_rows, found = _num_samples(X), []
        for start in range(0, n_rows, _ROWS):
            own = np.arange(start, min(start + _ROWS, n_rows))
            # The last batch is filled up by repeating its own rows.
            found.append(np.asarray(predict(_safe_indexing(X, np.resize(own, _ROWS))))[:len(own)])
        return np.concatenate(found)
