"""Map the numbers of a table, and keep its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import AnyArray

__all__ = ["with_entries"]


def with_entries(X: Any, function: Callable[[AnyArray], AnyArray]) -> Any:
    """Return a table like X whose numbers are those of ``function``, which keeps 0.

    A table that holds anything but real numbers is returned unchanged.
    """
    if sparse.issparse(X):
        X = X.copy()
        X.data = function(X.data)
        return X
    values = np.asarray(X)
    if values.dtype.kind not in "fi":
        return X
    values = function(values)
    kind: Any = type(X)
    if hasattr(X, "iloc"):
        return kind(values, X.index, X.columns)
    # Frames of Polars have no index.
    return kind(values, schema=list(X.columns)) if hasattr(X, "columns") else values
