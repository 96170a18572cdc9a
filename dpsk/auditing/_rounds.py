"""Rounds of an audit: tests learnt from earlier fits and judged on fresh ones."""

import numpy as np

from dpsk.auditing._layout import Layout
from dpsk.auditing._power import measured_power
from dpsk.auditing._tests import chosen_tests

__all__ = ["FEWEST", "ROUNDS", "Rounds"]

#: Of each round: its fraction of the runs, of the error probability, and the number of pairs.
ROUNDS = ((0.1, 0.1, 3), (0.3, 0.2, 2), (1.0, 0.7, 1))
FEWEST = 40
#: Number of entries that are read of a long array.
_CHOSEN = 256
#: Number of fits on either table that detect values without any noise.
_GLANCE = 8


class Rounds:
    """Learn tests, judge them on fresh fits, and keep the evidence.

    Parameters
    ----------
    fits : Fits
    kinds : list of str
        Names of statistics.
    claim : Claim
    runs : int
        Fits on either table in the last round.
    level : float
        Error probability of the audit.

    Attributes
    ----------
    evidence : list of Evidence
    scores : tuple of two ndarrays or None
        Scores of the fits in the last round, by the test that bounds epsilon best.
    partial : set of str
        Names of values that were read only in part.
    """

    def __init__(self, fits, kinds, claim, runs, level):
        self._fits, self._kinds, self._claim = fits, kinds, claim
        self._runs, self._level = runs, level
        self._samples, self._places = {}, {}
        self._judged = None
        self.partial = set()
        self.evidence, self.scores = [], None

    def run(self, pairs, pilot):
        """Judge until the claim is refuted or the last round is over.

        Parameters
        ----------
        pairs : list of Pair
        pilot : int
            Fits on either table of every pair, before pairs are chosen.
        """
        rounds = list(ROUNDS)
        if any(self._differs_without_noise(pair) for pair in pairs):
            # The last sampled pair differs without noise; it is judged first, alone.
            rounds.pop(0)
            if self._round(*ROUNDS[0][:2], list(self._samples.items())[-1:]):
                return
        for pair in pairs:
            self._add(pair, max(0, pilot - len(self._samples.get(pair, ((),))[0])))
        for share, error, count in rounds:
            if self._round(share, error, list(self._samples.items()), count):
                return

    def power(self):
        """Return the power of the last round; None if no round judged a test."""
        return None if self._judged is None else measured_power(*self._judged)

    def _differs_without_noise(self, pair):
        """Return whether a value is constant on each table but differs between them."""
        self._add(pair, _GLANCE)
        first, second = self._samples[pair]
        self._places[pair] = _most_apart(first, second)
        for fit in first + second:
            fit.choose(self._places[pair])
            self.partial |= fit.partial
        layout = Layout(first + second)
        # Truncated values matter only if what was read of them varies.
        self.partial |= set().union(*(fit.cut for fit in first + second)) & set(layout.names)
        first, second = (np.nan_to_num(layout.matrix(table), nan=-1e300)
                         for table in (first, second))
        # Numbers read from bytes may differ by more than the float range.
        with np.errstate(over="ignore"):
            return bool(np.any((np.ptp(first, axis=0) == 0) & (np.ptp(second, axis=0) == 0)
                               & (first[0] != second[0])))

    def _add(self, pair, count):
        """Make fits on a pair, and keep them for learning later tests."""
        old = self._samples.get(pair, ([], []))
        fresh = self._fits(pair, count, self._places.get(pair))
        self._samples[pair] = tuple(each + new for each, new in zip(old, fresh, strict=True))
        return fresh

    def _round(self, share, error, samples, count=1):
        """Judge tests on fresh fits, and return whether one refutes the claim."""
        size, level = max(FEWEST, int(share * self._runs)), self._level * error
        chosen = self._promising(samples, size, level, count)
        total = sum(len(tests) for _, tests, *_ in chosen)
        found = []
        for place, (pair, tests, layout, learnt) in enumerate(chosen):
            before, added = self._samples[pair], self._add(pair, size)
            fresh = [layout.matrix(each) for each in added]
            for test in tests:
                found.append(test.judge(pair.name, self._claim, *fresh, level / (2 * total)))
                if found[-1].epsilon >= max(each.epsilon for each in found):
                    self.scores = tuple(test.statistic.score(each) for each in fresh)
            if place == 0:
                self._judged = (learnt, fresh, (_ended(before), _ended(added)), layout,
                                self._kinds, self._claim, level / (2 * total))
        self.evidence += found
        return any(each.refutes for each in found)

    def _promising(self, samples, runs, level, count):
        """Return (pair, tests, layout, matrices) of the most promising pairs."""
        found = []
        for pair, (first, second) in samples:
            layout = Layout(first + second)
            learnt = layout.matrix(first), layout.matrix(second)
            tests = chosen_tests(*learnt, layout, self._kinds, self._claim, runs,
                                 level / (4 * count))
            if tests:
                found.append((pair, tests, layout, learnt))
        found.sort(key=lambda each: -each[1][0].promise)
        return found[:count]


def _ended(tables):
    """Return which fits on either table ended with an error."""
    return [np.array([bool(fit.error) for fit in table]) for table in tables]


def _most_apart(first, second):
    """Return the places where entries of long arrays differ most between tables.

    Parameters
    ----------
    first, second : list of Published
        Fits on either table that still hold their long arrays.

    Returns
    -------
    places : dict of str to ndarray of int
        Indices of the chosen entries, by the name of the array.
    """
    names = dict.fromkeys(name for fit in first + second for name in fit.whole)
    places = {}
    for name in names:
        tables = [[fit.whole[name] for fit in fits if name in fit.whole]
                  for fits in (first, second)]
        if not all(tables):
            continue
        length = min(len(entries) for table in tables for entries in table)
        a, b = (np.array([entries[:length] for entries in table]) for table in tables)
        apart = _apart(a, b)
        if a.dtype.kind in "iu" and b.dtype.kind in "iu":
            apart = np.maximum(apart, _apart(a % 2, b % 2))
        places[name] = np.sort(np.argsort(-apart, kind="stable")[:_CHOSEN])
    return places


def _apart(first, second):
    """Return the distance of means in standard deviations; huge without noise."""
    with np.errstate(all="ignore"):
        a, b = (np.nan_to_num(table.astype(np.float64), nan=-1e100, posinf=1e100, neginf=-1e100)
                for table in (first, second))
        size = np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
        noise = a.std(axis=0) + b.std(axis=0) + 1e-12 * size + 1e-300
        return np.nan_to_num(np.abs(a.mean(axis=0) - b.mean(axis=0)) / noise)
