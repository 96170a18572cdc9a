"""Fits of an audit on both tables of a pair, optionally in several processes."""

import sys
import time
import warnings
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from dpsk._warnings import muted
from dpsk.auditing._publication import published, refusal
from dpsk.exceptions import BudgetExceededError

__all__ = ["Fits", "fitted_on", "raise_if_a_budget_ended", "words_of"]

_CHUNK = 10
#: Error name for a fit that returns but publishes no more than an unfitted clone.
_NOTHING = "nothing fitted"


class Fits:
    """Make fits on both tables of a pair, and count them.

    Parameters
    ----------
    estimator : estimator
    n_jobs : int or None
    progress : bool or callable

    Attributes
    ----------
    keys : set of str or None
        Keys of mappings that serve as names; None: all do.
    failed : Counter of str
        Number of fits that ended with an error, by the type of the error.
    lost : set of str
        Names of pairs with an error in more than half of their fits.
    made : int
        Number of fits.
    seconds : float
        Seconds since the start.
    """

    def __init__(self, estimator, n_jobs, progress):
        self._estimator, self._jobs = estimator, effective_n_jobs(n_jobs)
        self._progress = _printed() if progress is True else progress
        self._start, self.made, self.keys = time.monotonic(), 0, None
        self.failed, self._ended, self._of_pairs = Counter(), Counter(), Counter()
        self._any_leaves = False

    @property
    def lost(self):
        return {name for name, count in self._ended.items() if 2 * count > self._of_pairs[name]}

    @property
    def seconds(self):
        return time.monotonic() - self._start

    def __call__(self, pair, count, places):
        """Return two lists of `Published`, from `count` fits on either table.

        Parameters
        ----------
        pair : Pair
        count : int
        places : dict or None
            Entries of long arrays to read; None keeps all entries.
        """
        found = [], []
        with Parallel(n_jobs=self._jobs) as parallel:
            while len(found[0]) < count:
                sizes = [min(_CHUNK, left) for left in
                         range(count - len(found[0]), 0, -_CHUNK)][:self._jobs]
                starts = self.made + 2 * np.cumsum([0, *sizes[:-1]])
                read = places, self.keys
                for chunk in parallel(
                        delayed(_chunk)(self._estimator, pair, read, int(start), size)
                        for start, size in zip(starts, sizes, strict=True)):
                    for each, new in zip(found, chunk, strict=True):
                        new = self._told(new)
                        each.extend(new)
                        errors = [fit.error for fit in new if fit.error]
                        self.failed.update(errors)
                        self._ended[pair.name] += len(errors)
                self._of_pairs[pair.name] += 2 * sum(sizes)
                self.made += 2 * sum(sizes)
                if self._progress:
                    self._progress(self.made, f"{pair.name}, {len(found[0])} of {count}")
        return found

    def _told(self, fits):
        """Return the fits; "nothing fitted" is an error only once some fit has ended well."""
        self._any_leaves |= any(not fit.error for fit in fits)
        if self._any_leaves:
            return fits
        return [replace(fit, error="") if fit.error == _NOTHING else fit for fit in fits]


def fitted_on(model, table):
    """Fit a model on a copy of a table; return "FitFailedWarning" or "".

    scikit-learn's searches only give this warning if some of their own fits end with errors.
    """
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        # Some fits write into their table; without a copy, all later fits would see that.
        model.fit(**deepcopy(table))
    failed = [each.message for each in told if issubclass(each.category, FitFailedWarning)]
    for message in failed:
        raise_if_a_budget_ended(message)
    return FitFailedWarning.__name__ if failed else ""


def raise_if_a_budget_ended(error):
    """Raise BudgetExceededError if an error is one or was caused by one.

    The budget may be the estimator's own; its end says nothing about leaks.
    """
    name = BudgetExceededError.__name__
    for each in _behind(error):
        text = words_of(each)
        if isinstance(each, BudgetExceededError):
            # A user's subclass may not survive pickling from a worker.
            raise each if type(each) is BudgetExceededError else BudgetExceededError(text)
        # scikit-learn's searches quote the errors of their fits in their own message.
        if name in text:
            raise BudgetExceededError(
                f"audit: a fit ended with {type(each).__name__}, which names {name}: a budget "
                "refuses fits, and nothing is tested; audit without a budget.") from error


def _behind(error):
    """Return an error, its causes and contexts, and the members of exception groups."""
    found, waiting = {}, [error]
    while waiting:
        each = waiting.pop()
        if isinstance(each, BaseException) and id(each) not in found:
            found[id(each)] = each
            waiting += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]
    return list(found.values())


def words_of(error):
    """Return the message of an error, or "" if that fails."""
    try:
        return str(error)
    except Exception:
        return ""


def _chunk(estimator, pair, read, start, count):
    """Return two lists of `Published`, from fits on the two tables in irregular turns."""
    found, unfitted = ([], []), _published(clone(estimator), pair.probes, *read)
    for turn in range(start, start + 2 * count, 2):
        # An order without a pattern: a value that counts or alternates must not reveal the table.
        order = (0, 1) if sha256(b"%d" % turn).digest()[0] % 2 else (1, 0)
        for place in order:
            try:
                model = clone(estimator)
                told = fitted_on(model, pair.tables[place])
            except Exception as error:
                raise_if_a_budget_ended(error)
                # Whether a fit ends with an error is itself an observation.
                found[place].append(refusal(error))
            else:
                shown = _published(model, pair.probes, *read)
                told = told or (_NOTHING if shown.is_like(unfitted) else "")
                found[place].append(replace(shown, error=told))
    return found


def _published(model, probes, places, keys):
    with muted(), np.errstate(all="ignore"):
        return published(model, probes, places, keys)


def _printed():
    """Return a function that prints progress at most once a second."""
    start = last = time.monotonic()

    def say(made, text):
        nonlocal last
        now = time.monotonic()
        if now - last >= 1.0:
            last = now
            print(f"audit: {made} fits, {now - start:.0f} s: {text}", file=sys.stderr, flush=True)

    return say
