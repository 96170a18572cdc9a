"""The audit: repeated fits on worst-case neighbors, and what they refute of a claim."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from dpsk._charging import open_budgets
from dpsk._parameters import check_integer, check_real
from dpsk._privacy.noise.seeds import NoiseSeed
from dpsk.auditing._claim import find_claim
from dpsk.auditing._fits import Fits
from dpsk.auditing._other_tables import other_tables
from dpsk.auditing._result import AuditResult
from dpsk.auditing._rounds import FEWEST, ROUNDS, Rounds
from dpsk.auditing._statistics import STATISTICS
from dpsk.auditing._survey import Survey, opened
from dpsk.auditing._tables import neighboring_tables
from dpsk.exceptions import BudgetExceededError

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
#: Fits on either table in the last round, if nothing else is asked for.
_AUTO_RUNS, _AUTO_SECONDS = 2000, 120.0


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
        The table whose first row is replaced: by rows far beyond the table and within its range,
        by another row, by one with an unseen category or, where the estimator takes them, with
        missing values. An array of numbers or a DataFrame. None: small tables in which nothing
        hides the row, of zeros, of equal rows, of normal ones and of rows in [0, 0.4].
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
        Pairs of tables to tell apart; a table is a tuple (X, y) or (X,), or a dict of arguments
        of `fit`. They may differ in whatever the claim protects, a row that is removed, or a
        group, and must differ.
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
        If a parameter is out of range, nothing is claimed, noise repeats under a `NoiseSeed`,
        the tables of a pair in `neighbors` are equal, `X` is neither a DataFrame nor an array of
        numbers, or the estimator refuses a table of every pair.
    BudgetExceededError
        If a `PrivacyBudget` is open, or is carried by the estimator, which every fit would be
        charged to; or if a budget of the estimator's own ends during the audit.

    Notes
    -----
    *What is looked at.* Everything that a fitted estimator holds: public and private attributes,
    properties, steps, members, containers, frames, sparse matrices, trees, functions with what
    they close over, its pickle, the types of values, the low digits of numbers, and all parts of
    texts and bytes. Besides, answers on public rows, each by itself: `decision_function`,
    `predict_proba`, `predict_log_proba`, `transform`, `inverse_transform`, `predict`, `score`,
    `score_samples`, `sample` and `get_feature_names_out`. A fit that ends with an error counts as
    well, and the result names how many did in `failed`. Of arrays beyond 2000 entries, or 6000 in
    all, some that are evenly spread are read, and the 256 that differ most between tables in the
    first fits. Of texts and bytes the first 2048 and last 512 bytes are read. The result names in
    `partial` what is too long for these, bytes that are compressed, objects that do not show what
    they hold, and an estimator of more than 20,000 objects. Not time, memory, messages and files,
    nor a pair of tables one of which is refused with a ValueError before the first round, or both
    with any error: the result names it in `set_aside`. Every fit gets a copy of its table.

    *What stops "not refuted".* A random generator that a fit made and kept, from which its noise
    may be drawn again and taken off; pairs that differ in targets alone, where the estimator
    refuses all others. Integers that seed noise are not recognised.

    *Procedure.* A few fits on each pair look for what has no noise; a pilot fits on every pair.
    Three rounds follow; each learns tests from all fits before it, on the pairs that promise most,
    and judges them on fresh ones by Clopper-Pearson limits. The error probability is split among
    rounds, tests and limits, so that all limits hold together with probability ``1 - level``, and
    the audit stops at the first refutation.

    *What it means.* A refutation is a proof at that level. The lack of one is none: an audit
    bounds privacy from one side, tests some tables only, and sees what is published only; long
    steps or a ridge may hide there what was released. `AuditResult.power` says how large a leak
    would have been found. An audit that could not find any says "nothing tested".

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
    >>> found.verdict, found.evidence[-1].of.partition(".")[0]
    ('refuted', 'standardscaler')
    """
    level = check_real("level", level, low=0, high=0.5, open_low=True, open_high=True,
                       remedy="a number in (0, 0.5), such as 0.05")
    if runs != "auto":
        runs = check_integer("runs", runs, low=FEWEST, remedy=f"'auto' or an int >= {FEWEST}")
    kinds = _kinds(statistic)
    held = [value for _, value in opened(estimator)]
    if any(isinstance(value, NoiseSeed) for value in held):
        raise ValueError("random_state: a NoiseSeed repeats the noise, and every fit would be the "
                         "same; set random_state=None on the estimator.")
    # Fits that a budget refuses are alike on all tables, as if there were nothing to find.
    carried = [getattr(each, "_carried", None) for each in held]
    if any(map(open_budgets, [None, *(each for each in carried if each is not None)])):
        raise BudgetExceededError(
            "audit: a PrivacyBudget is open, which would be charged for each of hundreds of fits, "
            "and would refuse them once it is used up; audit outside of the block, with the "
            "environment variable DPSK_BUDGET unset, and make models anew that were pickled "
            "inside of a block, as they charge it still.")
    fits, survey, rounds = Fits(estimator, n_jobs, progress), Survey(estimator), cast("Any", None)
    families = [neighboring_tables(estimator, X, y, neighbors, random_state)]
    if X is None and isinstance(neighbors, str):
        families += other_tables(estimator)
    for pairs, fitted, seconds in survey.taken(families):
        pilot, most = _sizes(runs, len(pairs), seconds)
        tested = find_claim(claim, estimator, fitted)
        rounds, fits.keys = Rounds(fits, kinds, tested, most, level), survey.keys
        rounds.run(pairs, pilot)
        # Where nothing ever varied, other tables may show more.
        if rounds.evidence:
            break
    found = AuditResult(type(estimator).__name__, tested, tuple(rounds.evidence), level,
                        fits.made, fits.seconds, rounds.scores,
                        failed=tuple(f"{count} with {error}" for error, count
                                     in fits.failed.most_common()),
                        set_aside=(*survey.set_aside, *(
                            f"{name}: most fits failed later" for name in sorted(fits.lost))),
                        partial=tuple(sorted(rounds.partial)),
                        generators=tuple(sorted(survey.generators)),
                        moves_features=survey.moves_features)
    return found if found.refuted else replace(found, power=rounds.power())


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
    rounds = sum(2 * share * count for share, _, count in ROUNDS)
    runs = _AUTO_SECONDS / (rounds * seconds_each)
    return (int(np.clip(pilot, FEWEST, _PILOT)), int(np.clip(runs, 2 * FEWEST, _AUTO_RUNS)))
