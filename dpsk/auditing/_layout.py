"""Layout of published numbers and labels as the columns of a matrix."""

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
        self._kept = np.arange(len(names))
        first = self.matrix(fits[:1])[0]
        varies = np.zeros(len(names), dtype=bool)
        for fit in fits:
            # One at a time: all that varies nowhere would fill the memory.
            row = self.matrix([fit])[0]
            varies |= (row != first) & ~(np.isnan(row) & np.isnan(first))
        self._kept = np.flatnonzero(varies)
        self.names = [names[i] for i in self._kept]
        self.is_label = self._kept >= sum(self._numbers.values())

    def matrix(self, fits):
        """Return an ndarray of shape (n_fits, n_names); what is not there is NaN."""
        rows = np.empty((len(fits), len(self._kept)))
        for row, fit in zip(rows, fits, strict=True):
            row[:] = np.concatenate([np.empty(0), *_cells(fit.numbers, self._numbers),
                                     *_cells(fit.labels, self._labels)])[self._kept]
        return rows


def _lengths(fits):
    """Return by name how many entries it has at most; names that are always the same left out."""
    first = {name: values.tobytes() for name, values in fits[0].items()}
    shape, bits = _shape(fits[0]), _bits(fits[0])
    found, varying, differs = {}, set(), np.zeros(len(bits), dtype=bool)
    for fit in fits:
        if found and _shape(fit) == shape:
            # Nearly all fits have the names and lengths of the first, and are compared at once.
            differs |= _bits(fit) != bits
        else:
            for name, values in fit.items():
                # Names that are drawn anew in every fit would not end.
                if len(values) > found.get(name, -1) and (
                        name in found or len(found) < _MOST_NAMES):
                    found[name] = len(values)
                if name not in varying and first.get(name) != values.tobytes():
                    varying.add(name)
        if len(fit) < len(found):
            varying.update(found.keys() - fit.keys())
    names, lengths, _ = shape
    varying.update(names[i] for i in np.unique(np.repeat(np.arange(len(names)), lengths)[differs]))
    return {name: length for name, length in found.items() if name in varying}


def _shape(values):
    """Return names, lengths and types of vectors."""
    return list(values), [len(each) for each in values.values()], [
        each.dtype for each in values.values()]


def _bits(values):
    """Return the bits of vectors, one after another; numbers of fewer bytes as floats."""
    return np.concatenate([np.empty(0), *values.values()]).view(np.uint64)


def _names(lengths):
    return [f"{name}[{i}]" if length > 1 else name
            for name, length in lengths.items() for i in range(length)]


def _cells(values, lengths):
    """Yield vectors of the lengths, what is too much left out, what is missing NaN."""
    for name, length in lengths.items():
        found = values.get(name, ())
        if len(found) == length:
            yield found
            continue
        yield found[:length]
        if len(found) < length:
            yield np.full(length - len(found), np.nan)
