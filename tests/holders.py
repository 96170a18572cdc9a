"""Objects of known types that hold another one where Python's containers do not look."""

import itertools
import types
from collections import OrderedDict
from functools import partial
from operator import itemgetter

import numpy as np
import pandas as pd

__all__ = ["COMPILED", "SHOWN", "UNSHOWN"]


def _record(each):
    found = np.empty(1, dtype=[("a", float), ("held", object)])
    found["held"][0] = each
    return found


def _beside(whole, each):
    whole.held = each
    return whole


#: Those that a report opens: all that they hold is known.
SHOWN = {
    "record": _record, "entry of records": lambda each: _record(each)[0],
    "slice": slice, "note on a type": lambda each: np.dtype(float, metadata={"held": each}),
    "title of a field": lambda each: np.dtype([((each, "a"), float)]),
    "note on a field": lambda each: np.dtype([("a", np.dtype(float, metadata={"held": each}))]),
    "array of a noted type": lambda each: np.zeros(
        2, np.dtype(float, metadata={"held": each})),
    "attribute of a mapping": lambda each: _beside(OrderedDict(), each),
    "view of a mapping": lambda each: types.MappingProxyType({"a": each}),
    "item": itemgetter, "attribute of a partial": lambda each: _beside(partial(np.abs), each),
    "index": lambda each: pd.Index([each], dtype=object)}
if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
    SHOWN["what is missing in texts"] = lambda each: np.dtypes.StringDType(na_object=each)
#: Those of which it is enough to say that they are not known.
COMPILED = SHOWN | {
    "values of a mapping": lambda each: {"a": each}.values(),
    "error": ValueError, "alias": lambda each: types.GenericAlias(list, (each,)),
    "cell": types.CellType, "column": lambda each: pd.array([each], dtype=object),
    "repeated": itertools.repeat, "static method": staticmethod}
#: No code of it runs, but it is in memory.
UNSHOWN = {"base of a view": lambda each: np.array([each, 1.0], dtype=object)[1:],
           "records that a column is of": lambda each: _record(each)["a"]}
