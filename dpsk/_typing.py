"""Names of the types that annotations share; nothing here is asked for at run time."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyArray", "BoolArray", "Features", "FloatArray", "FloatFunction", "IntArray", "Shape",
           "WordArray"]

#: Numbers of double precision, of any shape.
FloatArray: TypeAlias = NDArray[np.float64]
#: Whole numbers: indices, places, counts.
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
#: Random words of 64 bits.
WordArray: TypeAlias = NDArray[np.uint64]
#: Arrays whose type of number is the caller's.
AnyArray: TypeAlias = NDArray[Any]
#: Rows as an array or as a CSR matrix, which SciPy has no types for.
Features: TypeAlias = Any
Shape: TypeAlias = tuple[int, ...]
FloatFunction: TypeAlias = Callable[[float], float]
