"""Names of the types that annotations share; nothing here is asked for at run time."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["AnyArray", "BoolArray", "Chosen", "Features", "FloatArray", "IntArray", "Shape",
           "Table", "WordArray"]

#: Numbers of any precision and shape; where it matters which, a docstring says so.
FloatArray: TypeAlias = NDArray[np.floating[Any]]
#: Whole numbers: indices, places, counts.
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
#: Random words of 64 bits.
WordArray: TypeAlias = NDArray[np.uint64]
#: Arrays whose type of number is the caller's.
AnyArray: TypeAlias = NDArray[Any]
#: Rows as an array or as a CSR matrix, which SciPy has no types for.
Features: TypeAlias = Any
#: Some rows: a slice, or indices; None for all.
Chosen: TypeAlias = "slice | IntArray | None"
Shape: TypeAlias = tuple[int, ...]


class HasShape(Protocol):
    """Object with a shape: a data frame, a sparse matrix, an array of Dask, a source of rows."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its lengths."""


#: What estimators take for rows or for targets.
Table: TypeAlias = ArrayLike | HasShape
