"""The audit: repeated fits on worst-case neighbors, and what they refute of a claim."""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone

from dpsk._parameters import check_integer, check_real
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk.auditing._claim import find_claim
from dpsk.auditing._publication import Layout, published
from dpsk.auditing._result import AuditResult
from dpsk.auditing._statistics import STATISTICS
from dpsk.auditing._tables import neighboring_tables
from dpsk.auditing._tests import chosen_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dpsk._privacy.certificate import Certificate
    from dpsk._privacy.elementary import Event
    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["audit"]

#: Fits on each table of every pair, before any is chosen.
_PILOT, _PILOT_SECONDS = 200, 40.0
#: Rounds: their shares of the runs, of the error probability, and how many pairs they look at.
_ROUNDS = ((0.1, 0.1, 3), (0.3, 0.2, 2), (1.0, 0.7, 1))
_FEWEST = 40
_AUTO_RUNS, _AUTO_SECONDS = 2000, 120.0
_CHUNK = 10


def audit(estimator: Any, X: Table | None = None, y: Table | None = None, *,
          claim: float | tuple[float, float] | Certificate | Event | None = None,
          runs: str | int = "auto", neighbors: str | Sequence[Any] = "worst",
          statistic: str | Sequence[str] = "auto", level: float = 0.05, n_jobs: int | None = None,
          progress: bool | Callable[..., Any] = False,
          random_state: RandomState | None = None) -> AuditResult:
    """Try to refute the privacy claim of an estimator by what its fits publish.

    The estimator is fitted many times on two tables that differ in one row, as different as
    it can be, and a test is learnt that tells from a fit which table it was. Fresh fits then
    count the errors of that test. Fewer of them than the claim allows refute it.

    Parameters
    ----------
    estimator : estimator
        Of any package, or a pipeline or ensemble; it is cloned. Its noise must be fresh in every
        fit.
    X : array-like or DataFrame of shape (n, n_features) or None, default=None
        The table whose first row is replaced. None: small ones in which nothing hides it, of
        zeros, of equal rows and of normal ones; an estimator that learns bounds of its rows, and
        refuses few, needs such bounds, or a table.
    y : array-like of shape (n,) or None, default=None
        Labels or targets beside `X`.
    claim : None, float, (float, float), Certificate or Event, default=None
        What is tested: epsilon, (epsilon, delta), or all that a certificate or its event says,
        which is more and is refuted by fewer fits. None: the certificates in `privacy_` of what is
        fitted, the total of several; else parameters named epsilon and delta.
    runs : "auto" or int, default="auto"
        Fits on either table in the last round. "auto": 2000, fewer if they would take more than
        some minutes.
    neighbors : "worst" or list of (table, table), default="worst"
        Pairs of tables to tell apart; a table is (X, y) or a dict of arguments of `fit`. They may
        differ in whatever the claim protects, a row that is removed, or a group.
    statistic : "auto", str or list of str, default="auto"
        Of "coordinate", "linear", "spread" and "values"; "auto" tries all.
    level : float, default=0.05
        Probability, at most, that a claim that holds is refuted.
    n_jobs : int or None, default=None
        Processes of joblib.
    progress : bool or callable, default=False
        True prints at most once a second, to stderr, what is being done; a callable is handed
        (fits made, text).
    random_state : int or None, default=None
        Rules the public rows of the normal table. The noise of fits is never seeded.

    Returns
    -------
    result : AuditResult
        With text, HTML and a picture.

    Raises
    ------
    ValueError
        If a parameter is out of range, nothing is claimed, noise repeats under a `NoiseSeed`, or
        the estimator refuses all tables.

    Notes
    -----
    *What is looked at.* All fitted attributes, numbers, arrays, lists and words, of all steps and
    members of an ensemble, and `decision_function`, `predict_proba`, `transform` or `predict` on
    public rows. Not time, memory, messages, nor which rows are refused with an error.

    *Procedure.* A pilot fits on every pair of tables. Three rounds follow; each learns tests from
    all fits before it, on the pairs that promise most, and judges them on fresh ones by
    Clopper-Pearson limits. The error probability is split among rounds, tests and limits, so that
    all limits hold together with probability ``1 - level``, and the audit stops at the first
    refutation.

    *What it means.* A refutation is a proof at that level. The lack of one is none: an audit
    bounds privacy from one side, tests some tables only, and sees what is published only; long
    steps or a ridge may hide there what was released.

    References
    ----------
    Jagielski, Ullman and Oprea, "Auditing differentially private machine learning", NeurIPS 2020.
    Nasr et al., "Tight auditing of differentially private machine learning", USENIX Security 2023.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.auditing import audit
    >>> model = DPLogisticRegression(epsilon=1.0, precondition=False)
    >>> found = audit(make_pipeline(StandardScaler(), model), runs=40)
    >>> found.refuted, found.evidence[-1].of.partition(".")[0]
    (True, 'standardscaler')
    """
    level = check_real("level", level, low=0, high=0.5, open_low=True, open_high=True,
                       remedy="a number in (0, 0.5), such as 0.05")
    if runs != "auto":
        runs = check_integer("runs", runs, low=_FEWEST, remedy=f"'auto' or an int >= {_FEWEST}")
    kinds = _kinds(statistic)
    if any(isinstance(value, NoiseSeed) for value in estimator.get_params().values()):
        raise ValueError("random_state: a NoiseSeed repeats the noise, and every fit would be the "
                         "same; set random_state=None on the estimator.")
    pairs = neighboring_tables(estimator, X, y, neighbors, random_state)
    start = time.monotonic()
    pairs, fitted = _accepted(estimator, pairs)
    fits = _Fits(estimator, n_jobs, progress)
    pilot, most = _sizes(runs, len(pairs), (time.monotonic() - start) / (2 * len(pairs)))
    held = find_claim(claim, estimator, fitted)
    samples = {pair: fits(pair, pilot) for pair in pairs}
    evidence: list[Any] = []
    curve: Any = None
    for share, error, count in _ROUNDS:
        size = max(_FEWEST, int(share * most))
        chosen = _promising(samples, kinds, held, size, level * error, count)
        total = sum(len(tests) for _, tests, _ in chosen)
        found = []
        for pair, tests, layout in chosen:
            fresh = fits(pair, size)
            matrices = [layout.matrix(each) for each in fresh]
            for test in tests:
                found.append(test.judge(pair.name, held, *matrices, level * error / (2 * total)))
                scores = [test.statistic.score(each) for each in matrices]
                if curve is None or found[-1].epsilon >= max(each.epsilon for each in found):
                    curve = scores
            samples[pair] = tuple(old + new for old, new in
                                  zip(samples[pair], fresh, strict=True))
        evidence += found
        if any(each.refutes for each in found):
            break
    return AuditResult(type(estimator).__name__, held, tuple(evidence), level, fits.made,
                       fits.seconds, curve)


def _kinds(statistic):
    """Return names of statistics, checked."""
    if isinstance(statistic, str) and statistic == "auto":
        return list(STATISTICS)
    kinds = [statistic] if isinstance(statistic, str) else list(statistic)
    if not kinds or not set(kinds) <= set(STATISTICS):
        raise ValueError(f"statistic={statistic!r}: must be 'auto' or among {list(STATISTICS)}.")
    return kinds


def _sizes(runs, n_pairs, seconds_each):
    """Return how many fits on either table the pilot makes, and the last round."""
    if runs != "auto":
        return min(_PILOT, runs), runs
    pilot = _PILOT_SECONDS / (2 * n_pairs * seconds_each)
    rounds = sum(2 * share * count for share, _, count in _ROUNDS)
    runs = _AUTO_SECONDS / (rounds * seconds_each)
    return (int(np.clip(pilot, _FEWEST, _PILOT)), int(np.clip(runs, 2 * _FEWEST, _AUTO_RUNS)))


def _accepted(estimator, pairs):
    """Return the pairs both of whose tables the estimator takes, and a fit."""
    taken, fitted, refusal = [], None, None
    for pair in pairs:
        try:
            for table in pair.tables:
                fitted = _fitted(estimator, table)
            taken.append(pair)
        except ValueError as error:
            refusal = error
    if not taken:
        raise refusal
    return taken, fitted


def _promising(samples, kinds, claim, runs, level, count):
    """Return (pair, tests, layout) of the pairs whose tests promise most."""
    found = []
    for pair, (first, second) in samples.items():
        layout = Layout(first + second)
        tests = chosen_tests(layout.matrix(first), layout.matrix(second), layout.names, kinds,
                             claim, runs, level / (4 * count))
        if tests:
            found.append((pair, tests, layout))
    found.sort(key=lambda each: -each[1][0].promise)
    return found[:count]


class _Fits:
    """Makes fits on both tables of a pair, and says how many it has made.

    Attributes
    ----------
    made : int
    seconds : float
        Since the start.
    """

    def __init__(self, estimator, n_jobs, progress):
        self._estimator, self._jobs = estimator, effective_n_jobs(n_jobs)
        self._progress = _printed() if progress is True else progress
        self._start, self.made = time.monotonic(), 0

    @property
    def seconds(self):
        return time.monotonic() - self._start

    def __call__(self, pair, count):
        """Return two lists of what `count` fits on either table published."""
        found = [], []
        with Parallel(n_jobs=self._jobs) as parallel:
            while len(found[0]) < count:
                sizes = [min(_CHUNK, left) for left in
                         range(count - len(found[0]), 0, -_CHUNK)][:self._jobs]
                for chunk in parallel(delayed(_chunk)(self._estimator, pair, size)
                                      for size in sizes):
                    for each, new in zip(found, chunk, strict=True):
                        each.extend(new)
                self.made += 2 * sum(sizes)
                if self._progress:
                    self._progress(self.made, f"{pair.name}, {len(found[0])} of {count}")
        return found


def _chunk(estimator, pair, count):
    """Return what fits on either table published, the tables in turns."""
    found = [], []
    for _ in range(count):
        for table, each in zip(pair.tables, found, strict=True):
            try:
                each.append(published(_fitted(estimator, table), pair.probes))
            except ValueError:
                # Some fits end so and others do not: that shows as well.
                each.append({"ended with an error": np.ones(1)})
    return found


def _fitted(estimator, table):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return clone(estimator).fit(**table)


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
