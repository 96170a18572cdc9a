"""Rounds of an audit: tests are learnt from fits that were made, and judged on fresh ones."""

import numpy as np

from dpsk.auditing._entries import most_apart
from dpsk.auditing._layout import Layout
from dpsk.auditing._power import measured_power
from dpsk.auditing._tests import chosen_tests

__all__ = ["FEWEST", "ROUNDS", "Rounds"]

#: Rounds: their shares of the runs, of the error probability, and how many pairs they look at.
ROUNDS = ((0.1, 0.1, 3), (0.3, 0.2, 2), (1.0, 0.7, 1))
FEWEST = 40
#: So many fits on either table show what has no noise at all.
_GLANCE = 8


class Rounds:
    """Learns tests and judges them, and keeps what they have shown.

    Parameters
    ----------
    fits : Fits
    kinds : list of str
        Of statistics.
    claim : Claim
    runs : int
        Fits on either table in the last round.
    level : float
        Of the audit.

    Attributes
    ----------
    evidence : list of Evidence
    scores : tuple of two ndarrays or None
        Of the last round, by the test that bounds epsilon best.
    partial : set of str
        Names of what was read in part.
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
            Fits on either table of every pair, before any is chosen.
        """
        rounds = list(ROUNDS)
        if any(self._differs_without_noise(pair) for pair in pairs):
            # The pair that came last differs, and no other needs to be looked at first.
            rounds.pop(0)
            if self._round(*ROUNDS[0][:2], list(self._samples.items())[-1:]):
                return
        for pair in pairs:
            self._add(pair, max(0, pilot - len(self._samples.get(pair, ((),))[0])))
        for share, error, count in rounds:
            if self._round(share, error, list(self._samples.items()), count):
                return

    def power(self):
        """Return what the last round would have made of a leak; None if none judged a test."""
        return None if self._judged is None else measured_power(*self._judged)

    def _differs_without_noise(self, pair):
        """Return whether something is always one on the first table, and another on the second."""
        self._add(pair, _GLANCE)
        first, second = self._samples[pair]
        self._places[pair] = most_apart(first, second)
        for fit in first + second:
            fit.choose(self._places[pair])
            self.partial |= fit.partial
        layout = Layout(first + second)
        # Of what is always the same the ends are enough.
        self.partial |= set().union(*(fit.cut for fit in first + second)) & set(layout.names)
        first, second = (np.nan_to_num(layout.matrix(table), nan=-1e300)
                         for table in (first, second))
        # Numbers that are read from bytes may be as far apart as floats can be.
        with np.errstate(over="ignore"):
            return bool(np.any((np.ptp(first, axis=0) == 0) & (np.ptp(second, axis=0) == 0)
                               & (first[0] != second[0])))

    def _add(self, pair, count):
        """Make fits on a pair that tests may be learnt from."""
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
        """Return (pair, tests, layout, matrices) of the pairs whose tests promise most."""
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
