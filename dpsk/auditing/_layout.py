"""Layout of published numbers and labels as the columns of a matrix."""

import numpy as np

__all__ = ["Layout"]

_MOST_NAMES = 20_000


class Layout:
    """Columns for all published values that vary among the given fits.

    Parameters
    ----------
    fits : list of Published

    Attributes
    ----------
    names : list of str
        Names of the columns.
    is_label : ndarray of bool of shape (n_names,)
        Whether a column holds labels, which can only be compared for equality.
    """

    def __init__(self, fits):
        self._numbers = _lengths([fit.numbers for fit in fits])
        self._labels = _lengths([fit.labels for fit in fits])
        names = _names(self._numbers) + _names(self._labels)
        self._kept = np.arange(len(names))
        first = self.matrix(fits[:1])[0]
        varies = np.zeros(len(names), dtype=bool)
        for fit in fits:
            # One fit at a time: columns that never vary would fill the memory.
            row = self.matrix([fit])[0]
            varies |= (row != first) & ~(np.isnan(row) & np.isnan(first))
        self._kept = np.flatnonzero(varies)
        self.names = [names[i] for i in self._kept]
        self.is_label = self._kept >= sum(self._numbers.values())

    def matrix(self, fits):
        """Return an ndarray of shape (n_fits, n_names), with NaN for missing values."""
        rows = np.empty((len(fits), len(self._kept)))
        for row, fit in zip(rows, fits, strict=True):
            row[:] = np.concatenate([np.empty(0), *_cells(fit.numbers, self._numbers),
                                     *_cells(fit.labels, self._labels)])[self._kept]
        return rows


def _lengths(fits):
    """Return the maximum length of each named vector, without names that never vary."""
    first = {name: values.tobytes() for name, values in fits[0].items()}
    shape, bits = _shape(fits[0]), _bits(fits[0])
    found, varying, differs = {}, set(), np.zeros(len(bits), dtype=bool)
    for fit in fits:
        if found and _shape(fit) == shape:
            # Nearly all fits share names and lengths with the first; one comparison suffices.
            differs |= _bits(fit) != bits
        else:
            for name, values in fit.items():
                # Names may be new in every fit, so their number is limited.
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
    """Return the bits of the concatenated vectors, cast to float64."""
    return np.concatenate([np.empty(0), *values.values()]).view(np.uint64)


def _names(lengths):
    return [f"{name}[{i}]" if length > 1 else name
            for name, length in lengths.items() for i in range(length)]


def _cells(values, lengths):
    """Yield vectors of the given lengths, truncated or padded with NaN."""
    for name, length in lengths.items():
        found = values.get(name, ())
        if len(found) == length:
            yield found
            continue
        yield found[:length]
        if len(found) < length:
            yield np.full(length - len(found), np.nan)
