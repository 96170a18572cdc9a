"""Where each published number and label stands in a matrix."""

import numpy as np

__all__ = ["Layout"]

_MOST_NAMES = 20_000


class Layout:
    """Columns for all that fits published and that is not always the same; fixed by the first.

    Parameters
    ----------
    fits : list of Published

    Attributes
    ----------
    names : list of str
        Of the columns.
    is_label : ndarray of bool of shape (n_names,)
        Whether a column is the same or is not, and no number.
    """

    def __init__(self, fits):
        self._numbers = _lengths([fit.numbers for fit in fits])
        self._labels = _lengths([fit.labels for fit in fits])
        names = _names(self._numbers) + _names(self._labels)
        self._kept = np.flatnonzero(self._varying(fits))
        self.names = [names[i] for i in self._kept]
        self.is_label = self._kept >= sum(self._numbers.values())

    def _varying(self, fits):
        """Return which cells are not the same in all fits; row by row, as there are many."""
        first = self._row(fits[0])
        varies = np.zeros(len(first), dtype=bool)
        for fit in fits[1:]:
            row = self._row(fit)
            varies |= (row != first) & ~(np.isnan(row) & np.isnan(first))
        return varies

    def _row(self, fit):
        return np.concatenate([np.empty(0), *_cells(fit.numbers, self._numbers),
                               *_cells(fit.labels, self._labels)])

    def matrix(self, fits):
        """Return an ndarray of shape (n_fits, n_names); what is not there is NaN."""
        rows = np.empty((len(fits), len(self.names)))
        for row, fit in zip(rows, fits, strict=True):
            row[:] = self._row(fit)[self._kept]
        return rows


def _lengths(fits):
    found = {}
    for fit in fits:
        for name, values in fit.items():
            # Names that are drawn anew in every fit would not end.
            if name in found or len(found) < _MOST_NAMES:
                found[name] = max(found.get(name, 0), len(values))
    return found


def _names(lengths):
    return [f"{name}[{i}]" if length > 1 else name
            for name, length in lengths.items() for i in range(length)]


def _cells(values, lengths):
    """Yield vectors of the lengths, what is too much left out, what is missing NaN."""
    for name, length in lengths.items():
        found = values.get(name, ())[:length]
        yield found
        if len(found) < length:
            yield np.full(length - len(found), np.nan)
