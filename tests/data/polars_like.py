"""Frames that stand for those of polars where it is not installed, as far as tables read them."""

import numpy as np

__all__ = ["DataFrame", "Series"]


class _Dtype:
    def __init__(self, name, categories=()):
        self.name, self.categories = name, categories

    def __str__(self):
        return self.name


class Series:
    """A column: a list, and the name of its dtype."""

    def __init__(self, cells, dtype, categories=()):
        self.cells, self.dtype = list(cells), _Dtype(dtype, categories)

    def to_list(self):
        return list(self.cells)

    def to_numpy(self):
        """Return what polars does: floats where a number is missing."""
        return np.array([np.nan if cell is None else cell for cell in self.cells])

    def __len__(self):
        return len(self.cells)


class DataFrame:
    """A frame of such columns."""

    def __init__(self, series):
        self._series = series

    @property
    def columns(self):
        return list(self._series)

    @property
    def dtypes(self):
        return [each.dtype for each in self._series.values()]

    @property
    def shape(self):
        return len(next(iter(self._series.values()))), len(self._series)

    def to_series(self, place):
        return list(self._series.values())[place]

    def collect_schema(self):
        return dict(zip(self.columns, self.dtypes, strict=True))

    def __dataframe__(self, *_, **__):
        return self

    def column_names(self):
        return self.columns

    def __len__(self):
        return self.shape[0]


DataFrame.__module__ = "polars.dataframe.frame"
