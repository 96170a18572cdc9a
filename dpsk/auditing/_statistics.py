"""Scores that tell two tables apart, learnt from what fits on either of them published.

A high score speaks for the second table. Scores are fixed before the fits that they judge.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

__all__ = ["STATISTICS", "Statistic", "learnt_statistics"]

#: Standardized numbers are cut to +- it.
_CUT = 1e3
#: The most numbers that enter a direction.
_MOST = 150
#: Shares of the spread that is common to all directions: the first finds directions without
#: noise, the last one weighs all alike.
_RIDGES = (1e-9, 1e-2, 1.0, 1e3)
#: A number with more values than this over all fits is not taken for discrete.
_VALUES = 12


@dataclass(frozen=True)
class Statistic:
    """A score of one fit.

    Attributes
    ----------
    name : str
    of : str
        The published number that weighs most.
    score : callable, ndarray of shape (n_fits, n_names) -> ndarray of shape (n_fits,)
    """

    name: str
    of: str
    score: Callable = field(repr=False)


def learnt_statistics(first, second, names, kinds):
    """Return statistics learnt from fits on either table.

    Parameters
    ----------
    first, second : ndarray of shape (n_fits, n_names)
        What was published; NaN where there is nothing.
    names : list of str
    kinds : list of str
        Of STATISTICS.

    Returns
    -------
    statistics : list of Statistic
        Empty if nothing ever varied.
    """
    scale = _Scale(first, second)
    if not len(scale.kept):
        return []
    tables = scale(first), scale(second)
    names = [names[i] for i in scale.kept]
    return [statistic for kind in kinds
            for statistic in STATISTICS[kind](*tables, names, scale)]


class _Scale:
    """Centers and spreads of the numbers within tables, by medians and quartiles."""

    def __init__(self, first, second):
        with np.errstate(all="ignore"):
            a, b = _finite(first), _finite(second)
            centers = np.median(a, axis=0), np.median(b, axis=0)
            spread = (_spread(a) + _spread(b)) / 2
            varies = np.ptp(np.vstack([a, b]), axis=0) > 0
            size = np.maximum(np.abs(centers[0]), np.abs(centers[1]))
            # What has no noise is as far apart as numbers can be.
            spread = np.maximum(spread, 1e-13 * size + 1e-290)
        self._center = centers[0] / 2 + centers[1] / 2
        self._spread = spread
        self.kept = np.flatnonzero(varies)
        if len(self.kept) > _MOST:
            z = self(first), self(second)
            apart = np.abs(z[0].mean(axis=0) - z[1].mean(axis=0))
            wider = np.abs(np.log((z[0].std(axis=0) + 1e-6) / (z[1].std(axis=0) + 1e-6)))
            self.kept = np.sort(self.kept[np.argsort(-np.maximum(apart, wider))[:_MOST]])

    def __call__(self, values):
        with np.errstate(all="ignore"):
            z = (_finite(values)[:, self.kept] - self._center[self.kept]) / self._spread[self.kept]
        return np.clip(np.nan_to_num(z), -_CUT, _CUT)


def _finite(values):
    """Return values with others than finite ones far away, and missing ones farther."""
    return np.nan_to_num(values, nan=-1e300, posinf=1e299, neginf=-1e299)


def _spread(values):
    low, high = np.percentile(values, [25, 75], axis=0)
    spread = (high - low) / 1.349
    return np.where(spread > 0, spread, np.minimum(np.std(values, axis=0), 1e290))


def _coordinate(first, second, names, scale):
    """Yield the one number whose mean moves most."""
    moved = second.mean(axis=0) - first.mean(axis=0)
    noise = np.sqrt(first.var(axis=0) + second.var(axis=0)) + 1e-9
    best = int(np.argmax(np.abs(moved) / noise))
    yield _linear("mean of one number", np.sign(moved[best]) * np.eye(len(names))[best], names,
                  scale)


def _directions(first, second, names, scale):
    """Yield linear discriminants, by how much the spread within tables counts."""
    moved = second.mean(axis=0) - first.mean(axis=0)
    values, vectors = eigh((np.cov(first.T) + np.cov(second.T)).reshape(len(names), -1) / 2)
    values = np.maximum(values, 0.0)
    common = values.mean() + 1e-12
    for ridge in _RIDGES:
        weights = vectors @ ((vectors.T @ moved) / (values + ridge * common))
        yield _linear("mean of all", weights, names, scale)


def _widths(first, second, names, scale):
    """Yield how far off a direction is in which one table spreads most beyond the other."""
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


def _values(first, second, names, scale):
    """Yield a likelihood ratio of numbers with few values, each by itself."""
    tables = []
    for column in range(len(names)):
        seen = np.unique(np.concatenate([first[:, column], second[:, column]]))
        if len(seen) <= _VALUES:
            counts = [np.array([np.sum(table[:, column] == value) for value in seen]) + 0.5
                      for table in (first, second)]
            ratio = np.log(counts[1] / counts[1].sum()) - np.log(counts[0] / counts[0].sum())
            tables.append((column, seen, ratio))
    if not tables:
        return

    def score(values):
        z, total = scale(values), np.zeros(len(values))
        for column, seen, ratio in tables:
            place = np.minimum(np.searchsorted(seen, z[:, column]), len(seen) - 1)
            total += np.where(seen[place] == z[:, column], ratio[place], 0.0)
        return total

    best = max(tables, key=lambda table: np.ptp(table[2]))
    yield Statistic("values of discrete numbers", names[best[0]], score)


#: Kinds of statistics by name.
STATISTICS = {"coordinate": _coordinate, "linear": _directions, "spread": _widths,
              "values": _values}


def _linear(name, weights, names, scale):
    return Statistic(name, names[int(np.argmax(np.abs(weights)))],
                     lambda values: scale(values) @ weights)
