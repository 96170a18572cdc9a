"""Predictions of rows in passes of one shape, so that none follows from where its row stands.

Products of matrices round the last rows of a block otherwise. A row that stands elsewhere, as a
group before it has more rows, could so fall to the other side of an edge.
"""

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

__all__ = ["InPasses"]

#: Rows of a pass: a multiple of what any kernel takes at a time.
_ROWS = 256


class InPasses:
    """A fitted estimator whose predictions are made in passes of one shape.

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
            # The last pass is filled with its own rows.
            found.append(np.asarray(predict(_safe_indexing(X, np.resize(own, _ROWS))))[:len(own)])
        return np.concatenate(found)
