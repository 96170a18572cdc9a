"""Base of samplers of tables, with declared columns."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from dpsk._data.columns import check_columns, described, encoded
from dpsk._data.polars_frames import is_polars
from dpsk._privacy.certificate import Enforced
from dpsk.generative._base import Sampler

__all__ = ["PLAIN_BOUNDS", "ColumnSampler", "enforced_bounds"]

#: Bounds of numeric columns if none are declared or learnt.
PLAIN_BOUNDS = (-1.0, 1.0)
#: Up to this many columns with the same bounds are named one by one.
_NAMED = 4


class ColumnSampler(Sampler):
    """Base of samplers that know the possible values of columns.

    Subclasses set `_columns`, a `Column` for each, and `_dtype`, the dtype of validated rows.
    """

    _constraints: ClassVar[dict] = {**Sampler._constraints, "columns": check_columns}

    def _check_rows(self, X, y=None):
        """Validate training rows, with categories replaced by their positions."""
        if self.columns and is_polars(X):
            raise TypeError(f"X is a DataFrame of polars; {type(self).__name__} knows columns "
                            "of pandas by name, and others by position. Use '.to_pandas()'.")
        self._described = columns = described(X, self.columns)
        return super()._check_rows(encoded(X, columns), y)

    def _column_facts(self, columns, n_classes):
        """Return the public facts of a fit to columns."""
        return [*self._public_facts(n_classes), *_categories_fact(columns)]

    def _method(self):
        """Return the method, with the columns: other bins must not get the same noise."""
        method = super()._method()
        # Facts about columns may come from their dtypes, which are not parameters.
        return replace(method, settings=f"{method.settings} {self._described!r}")

    def _table(self, drawn):
        """Return drawn numbers and category positions as rows in the format of `fit`."""
        drawn = [values if column.categories is not None else np.clip(values, *column.limits)
                 for column, values in zip(self._columns, drawn, strict=True)]
        if self._names is None:
            return self._array(drawn)
        import pandas as pd
        table = pd.DataFrame({column.name: _series(pd, column, values)
                              for column, values in zip(self._columns, drawn, strict=True)})
        table.columns = self._names
        return table

    def _array(self, drawn):
        """Return columns in one array, of the dtype of `fit`, or object if some are strings."""
        parts = [values if column.categories is None else column.choices[values]
                 for column, values in zip(self._columns, drawn, strict=True)]
        kind = self._columns[0].dtype
        if kind.kind not in "iuf":
            kind = self._dtype if all(part.dtype.kind in "biuf" for part in parts) else object
        return np.column_stack([part.astype(kind) for part in parts])


def _series(pd, column, values):
    """Return the drawn values of a column in its own dtype."""
    if column.categories is None:
        return pd.Series(values).astype(column.dtype)
    if hasattr(column.dtype, "categories"):
        return pd.Series(pd.Categorical.from_codes(values, dtype=column.dtype))
    return pd.Series(column.choices[values]).astype(column.dtype)


def enforced_bounds(columns):
    """Return the bounds of numeric columns for the certificate; equal bounds share a line."""
    named = {}
    for column in columns:
        if column.edges is not None:
            named.setdefault((column.edges[0], column.edges[-1], column.declared), []).append(
                str(column.name))
    return [Enforced("bounds of " + (", ".join(names) if len(names) <= _NAMED else
                                     f"{len(names)} columns"),
                     [low, high], "declared" if declared else "default",
                     "numbers outside count as those at the ends")
            for (low, high, declared), names in named.items()]


def _categories_fact(columns):
    """Yield the public facts about the categories."""
    for declared, origin in ((True, "declared"), (False, "taken from the dtype")):
        count = sum(column.categories is not None and column.declared is declared
                    for column in columns)
        if count:
            yield f"the categories of {count} columns ({origin})"
