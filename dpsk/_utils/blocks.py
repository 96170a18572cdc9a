"""Walks over rows in blocks that fit a cache."""

__all__ = ["row_blocks"]

_ENTRIES = 1 << 17


def row_blocks(n_rows, width):
    """Yield slices that cover ``range(n_rows)``, each of about a megabyte of doubles.

    Parameters
    ----------
    n_rows : int
    width : int
        Entries a row, at least 1.
    """
    size = max(1, _ENTRIES // width)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
