"""Out-of-core data: tables that do not fit in memory, read in blocks.

Wherever ``fit(X, y)`` takes an array it takes a source: any object with ``n``, ``n_features`` and
``blocks()``. Each call of ``blocks()`` yields the same blocks of rows: ``X``, or ``(X, y)``, or
``(X, y, sample_weight)``. Targets and weights that are not in the blocks are passed to `fit` as
arrays. Methods such as `predict` read the features of a source block by block. A memory map of
NumPy is an array, and does not need a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._parameters import check_integer

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any


__all__ = ["NpyFiles", "ParquetFiles"]

#: Size of a block in bytes.
_BLOCK_BYTES = 1 << 24


class NpyFiles:
    """Rows in files of `numpy.save`, which are mapped into memory one after another.

    Estimators accept it in place of an array, and read it in blocks.

    Parameters
    ----------
    X : sequence of path
        Files of arrays of shape (n_i, n_features).
    y : sequence of path or None, default=None
        Files of arrays of shape (n_i,). None: targets are passed to `fit`.
    sample_weight : sequence of path or None, default=None
        Files of arrays of shape (n_i,). None: weights, if any, are passed to `fit`.
    cache_bytes : int, default=0
        Memory in which a fit may cache the rows, as the integers of exact sums: two bytes per
        entry for tables of some million rows, else four. If the rows do not fit, every pass reads
        the files.

    Attributes
    ----------
    n, n_features : int
        Numbers of rows and of features.

    Raises
    ------
    ValueError
        If the shapes or numbers of files do not match.

    See Also
    --------
    ParquetFiles : Rows in Parquet files.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.sources import NpyFiles
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [pathlib.Path(folder, f"{part}.npy") for part in range(3)]
    ...     for path, rows in zip(paths, np.array_split(X, 3)):
    ...         np.save(path, rows)
    ...     model = DPLogisticRegression(classes=[0, 1]).fit(NpyFiles(paths), y)
    >>> model.coef_.shape
    (1, 30)
    """

    def __init__(self, X: Iterable[str | os.PathLike[str]],
                 y: Iterable[str | os.PathLike[str]] | None = None,
                 sample_weight: Iterable[str | os.PathLike[str]] | None = None, *,
                 cache_bytes: int = 0) -> None:
        self._paths = [list(part) for part in (X, y, sample_weight) if part is not None]
        self._weighted_only = y is None and sample_weight is not None
        if self._weighted_only:
            raise ValueError("sample_weight: comes with blocks only beside y; give both in files, "
                             "or both to fit.")
        if not self._paths[0]:
            raise ValueError("X=[]: there are no files; give at least one.")
        if len({len(part) for part in self._paths}) > 1:
            raise ValueError(f"X has {len(self._paths[0])} files, and y or sample_weight another "
                             "number; give one of each for every part of the rows.")
        self.cache_bytes = check_integer("cache_bytes", cache_bytes, low=0, high=1 << 62,
                                         remedy="a number of bytes")
        shapes = [np.load(path, mmap_mode="r").shape for path in self._paths[0]]
        if any(len(shape) != 2 or shape[1] != shapes[0][1] for shape in shapes):
            raise ValueError("X: files of shapes that do not go together; each must hold an array "
                             "of shape (n_i, n_features).")
        self.n, self.n_features = sum(shape[0] for shape in shapes), shapes[0][1]

    def blocks(self) -> Iterator[Any]:
        """Yield blocks of about 16 MB, as views of memory maps.

        Yields
        ------
        block : ndarray, or tuple of ndarray
            Rows, with the targets and weights that are in files.
        """
        for paths in zip(*self._paths, strict=True):
            parts = [np.load(path, mmap_mode="r") for path in paths]
            X = parts[0]
            length = max(1, _BLOCK_BYTES // max(1, X.itemsize * X.shape[1]))
            for start in range(0, len(X), length):
                block = tuple(part[start:start + length] for part in parts)
                yield block if len(block) > 1 else block[0]


class ParquetFiles:
    """Rows in Parquet files, read with Arrow: ``pip install dpsk[arrow]``.

    Estimators accept it in place of an array, and read it in blocks.

    Parameters
    ----------
    paths : path or sequence of path
        Files, or a folder of files, in the order of Arrow's datasets.
    target : str
        Name of the target column.
    columns : sequence of str or None, default=None
        Names of the feature columns, all numeric; None: all other columns.
    sample_weight : str or None, default=None
        Name of the column of weights.
    batch_size : int, default=131072
        Number of rows per block.
    cache_bytes : int, default=0
        As in `NpyFiles`.

    Attributes
    ----------
    n, n_features : int
        Numbers of rows and of features.

    Raises
    ------
    ImportError
        If the package pyarrow is not installed.
    ValueError
        If a column is missing, or a parameter is out of range.

    See Also
    --------
    NpyFiles : Rows in NumPy files.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.sources import ParquetFiles
    >>> frame = load_breast_cancer(as_frame=True).frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(pathlib.Path(folder, "rows.parquet"))
    ...     rows = ParquetFiles(folder, target="target")
    ...     model = DPLogisticRegression(classes=[0, 1]).fit(rows)
    >>> model.coef_.shape
    (1, 30)
    """

    def __init__(self, paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
                 target: str, *, columns: Sequence[str] | None = None,
                 sample_weight: str | None = None, batch_size: int = 1 << 17,
                 cache_bytes: int = 0) -> None:
        from pyarrow import dataset
        self._data = dataset.dataset(paths)
        self.batch_size = check_integer("batch_size", batch_size, low=1, high=1 << 40,
                                        remedy="a number of rows, at least 1")
        self.cache_bytes = check_integer("cache_bytes", cache_bytes, low=0, high=1 << 62,
                                         remedy="a number of bytes")
        beside = [target] if sample_weight is None else [target, sample_weight]
        known = self._data.schema.names
        columns = [name for name in known if name not in beside] if columns is None else [*columns]
        missing = [name for name in [*columns, *beside] if name not in known]
        if missing:
            raise ValueError(f"{missing[0]!r} is no column of these files; use names of their "
                             "schema.")
        self._columns, self._beside = columns, beside
        self.n, self.n_features = self._data.count_rows(), len(columns)

    def blocks(self) -> Iterator[tuple[Any, ...]]:
        """Yield data frames of features with targets, and weights if there are any.

        Yields
        ------
        block : tuple of (DataFrame, ndarray, ...)
            Features, targets, and weights if there are any.
        """
        names = [*self._columns, *self._beside]
        for batch in self._data.to_batches(columns=names, batch_size=self.batch_size):
            if batch.num_rows:
                frame = batch.to_pandas()
                yield frame[self._columns], *(frame[name].to_numpy() for name in self._beside)
