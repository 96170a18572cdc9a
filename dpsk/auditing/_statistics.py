"""Scores that tell two tables apart, learnt from published values of fits.

A high score indicates the second table. Scores are fixed before the fits that they judge.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

__all__ = ["STATISTICS", "Statistic", "learnt_statistics"]

#: Standardized numbers are clipped to this absolute value.
_CUT = 1e3
#: Maximum number of columns that enter one statistic.
_MOST = 150
#: Ridge penalties, relative to the mean variance: the smallest finds directions without noise,
#: the largest weighs all directions alike.
_RIDGES = (1e-9, 1e-2, 1.0, 1e3)
#: A number with more distinct values over all fits is not discrete; of a label, this many of the
#: most frequent values are distinguished, and the others are pooled.
_VALUES = 12
#: Number of standard deviations by which the distributions of a label must differ to be used.
_APART = 3.5


@dataclass(frozen=True)
class Statistic:
    """A score of one fit.

    Attributes
    ----------
    name : str
    of : str
        The published value with the largest weight.
    score : callable, ndarray of shape (n_fits, n_names) -> ndarray of shape (n_fits,)
    """

    name: str
    of: str
    score: Callable = field(repr=False)


def learnt_statistics(first, second, layout, kinds):
    """Return statistics learnt from fits on either table.

    Parameters
    ----------
    first, second : ndarray of shape (n_fits, n_names)
        Published values; NaN if missing.
    layout : Layout
        Names of the columns, and which are labels.
    kinds : list of str
        Names from STATISTICS.

    Returns
    -------
    statistics : list of Statistic
        Empty if nothing ever varied.
    """
    numbers = np.flatnonzero(~layout.is_label)
    scale = _Scale(first, second, numbers)
    found = []
    if len(scale.kept):
        tables = scale(first), scale(second)
        names = [layout.names[i] for i in scale.kept]
        found = [statistic for kind in kinds if kind in _OF_NUMBERS
                 for statistic in _OF_NUMBERS[kind](*tables, names, scale)]
    if "values" in kinds:
        found += _values(first, second, layout, [*np.flatnonzero(layout.is_label), *scale.kept])
    return found


class _Scale:
    """Centers and spreads of the numbers within tables, by medians and quartiles."""

    def __init__(self, first, second, columns):
        self._columns = columns
        first, second = first[:, columns], second[:, columns]
        with np.errstate(all="ignore"):
            a, b = _finite(first), _finite(second)
            centers = np.median(a, axis=0), np.median(b, axis=0)
            spread = (_spread(a) + _spread(b)) / 2
            varies = np.ptp(np.vstack([a, b]), axis=0) > 0
            size = np.maximum(np.abs(centers[0]), np.abs(centers[1]))
            # A floor for numbers without noise, which then lie extremely far apart.
            spread = np.maximum(spread, 1e-13 * size + 1e-290)
        self._center = centers[0] / 2 + centers[1] / 2
        self._spread = spread
        self._chosen = np.flatnonzero(varies)
        if len(self._chosen) > _MOST:
            z = self._standardized(first), self._standardized(second)
            apart = np.abs(z[0].mean(axis=0) - z[1].mean(axis=0))
            wider = np.abs(np.log((z[0].std(axis=0) + 1e-6) / (z[1].std(axis=0) + 1e-6)))
            self._chosen = np.sort(self._chosen[np.argsort(-np.maximum(apart, wider))[:_MOST]])
        self.kept = columns[self._chosen]

    def __call__(self, values):
        return self._standardized(values[:, self._columns])

    def _standardized(self, values):
        with np.errstate(all="ignore"):
            z = _finite(values)[:, self._chosen] - self._center[self._chosen]
            z /= self._spread[self._chosen]
        return np.clip(np.nan_to_num(z), -_CUT, _CUT)


def _finite(values):
    """Return values with infinities replaced by +-1e299 and NaN by -1e300."""
    return np.nan_to_num(values, nan=-1e300, posinf=1e299, neginf=-1e299)


def _spread(values):
    low, high = np.percentile(values, [25, 75], axis=0)
    spread = (high - low) / 1.349
    return np.where(spread > 0, spread, np.minimum(np.std(values, axis=0), 1e290))


def _coordinate(first, second, names, scale):
    """Yield the statistic of the one number whose mean moves most."""
    moved = second.mean(axis=0) - first.mean(axis=0)
    noise = np.sqrt(first.var(axis=0) + second.var(axis=0)) + 1e-9
    best = int(np.argmax(np.abs(moved) / noise))
    yield _linear("mean of one number", np.sign(moved[best]) * np.eye(len(names))[best], names,
                  scale)


def _directions(first, second, names, scale):
    """Yield linear discriminants, one for each ridge penalty."""
    moved = second.mean(axis=0) - first.mean(axis=0)
    values, vectors = eigh((np.cov(first.T) + np.cov(second.T)).reshape(len(names), -1) / 2)
    values = np.maximum(values, 0.0)
    common = values.mean() + 1e-12
    for ridge in _RIDGES:
        weights = vectors @ ((vectors.T @ moved) / (values + ridge * common))
        yield _linear("mean of all", weights, names, scale)


def _widths(first, second, names, scale):
    """Yield distances along the direction in which one table spreads most."""
    for narrow, wide, sign in ((first, second, 1.0), (second, first, -1.0)):
        center = narrow.mean(axis=0)
        spread = np.cov(narrow.T).reshape(len(names), -1)
        other = (wide - center).T @ (wide - center) / len(wide)
        for ridge in (1e-9, 1e-1):
            common = (np.trace(spread) / len(names) + 1e-12) * ridge * np.eye(len(names))
            weights = eigh(other + common, spread + common + 1e-15 * np.eye(len(names)))[1][:, -1]
            of = names[int(np.argmax(np.abs(weights)))]
            yield Statistic("spread of all", of, lambda values, w=weights, c=center, s=sign:
                            s * np.abs((scale(values) - c) @ w))


def _values(first, second, layout, columns):
    """Return likelihood ratios of discrete columns: of the best column, and of all."""
    ratios = [_Ratio(column, *_discrete(first[:, column], second[:, column],
                                        layout.is_label[column])) for column in columns]
    ratios = sorted((each for each in ratios if len(each.seen)), key=lambda each: -each.apart)
    if not ratios:
        return []
    best = layout.names[ratios[0].column]
    differing = [each for each in ratios if each.apart > _APART][:_MOST]
    return [Statistic("values of discrete numbers", best, lambda values, each=each:
                      sum(ratio.score(values) for ratio in each))
            for each in (ratios[:1], differing) if each]


def _discrete(first, second, is_label):
    """Return the distinguished values of a column, and their counts on either table.

    No value is distinguished for a number with many distinct values.
    """
    first, second = _finite(first), _finite(second)
    values, counts = np.unique(np.concatenate([first, second]), return_counts=True)
    if not is_label:
        seen = values if len(values) <= _VALUES else values[:0]
    else:
        often = np.argsort(-counts, kind="stable")[:_VALUES]
        seen = np.sort(values[often[counts[often] > 1]])
    return seen, *(np.sum(table == seen[:, None], axis=1)
                   for table in (first, second)), len(first), len(second)


class _Ratio:
    """Log-likelihood ratio of the values of a column, second table against first.

    Parameters
    ----------
    column : int
    seen : ndarray of shape (n_values,)
        Distinguished values, ascending; all others count as one more value.
    first, second : ndarray of int of shape (n_values,)
        Their counts on either table.
    n_first, n_second : int
        Fits on either table.
    """

    def __init__(self, column, seen, first, second, n_first, n_second):
        self.column, self.seen = column, seen
        counts = [np.append(found, n - found.sum())
                  for found, n in ((first, n_first), (second, n_second))]
        share = [(count + 0.5) / (count.sum() + 0.5 * len(count)) for count in counts]
        self._ratio = np.log(share[1]) - np.log(share[0])
        # Two-sample chi-squared statistic, in standard deviations above its mean.
        expected = (share[0] + share[1]) / 2 + 1e-12
        chi = np.sum((share[0] - share[1])**2 / expected) / (1 / n_first + 1 / n_second)
        free = max(1, np.count_nonzero(counts[0] + counts[1]) - 1)
        self.apart = (chi - free) / np.sqrt(2 * free)

    def score(self, values):
        """Return the log-likelihood ratio of each fit."""
        column = _finite(values[:, self.column])
        place = np.minimum(np.searchsorted(self.seen, column), len(self.seen) - 1)
        return np.where(self.seen[place] == column, self._ratio[place], self._ratio[-1])


#: Statistics of numbers, by name.
_OF_NUMBERS = {"coordinate": _coordinate, "linear": _directions, "spread": _widths}
STATISTICS = (*_OF_NUMBERS, "values")


def _linear(name, weights, names, scale):
    return Statistic(name, names[int(np.argmax(np.abs(weights)))],
                     lambda values: scale(values) @ weights)
