"""The audit: repeated fits on worst-case neighbors against a privacy claim."""

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

#: Fits on each table of every pair in the pilot, before pairs are chosen; and their seconds.
_PILOT, _PILOT_SECONDS = 200, 40.0
#: Default number of fits on either table in the last round, and the seconds for all rounds.
_AUTO_RUNS, _AUTO_SECONDS = 2000, 120.0


def audit(estimator: Any, X: Table | None = None, y: Table | None = None, *,
          claim: float | tuple[float, float] | Certificate | Event | None = None,
          runs: str | int = "auto", neighbors: str | Sequence[Any] = "worst",
          statistic: str | Sequence[str] = "auto", level: float = 0.05, n_jobs: int | None = None,
          progress: bool | Callable[..., Any] = False,
          random_state: RandomState | None = None) -> AuditResult:
    """Try to refute the privacy claim of an estimator from its fitted models.

    The audit fits the estimator many times on two tables that differ in one worst-case row. It
    learns a test that guesses from a fitted model which table was used, and counts the errors of
    that test on fresh fits. Fewer errors than the claim allows refute the claim.

    Parameters
    ----------
    estimator : estimator
        An estimator of any package, a pipeline or an ensemble; it is cloned. Its noise must be
        fresh in every fit.
    X : array-like or DataFrame of shape (n, n_features) or None, default=None
        An array of numbers or a DataFrame, whose first row is replaced: by rows far outside and
        within the range of the table, by another row, by a row with an unseen category and, where
        the estimator takes them, by missing values. None: small tables in which nothing hides
        the row (zeros, equal rows, normal rows and rows in [0, 0.4]).
    y : array-like of shape (n,) or None, default=None
        Labels or targets of the samples in `X`.
    claim : None, float, (float, float), Certificate or Event, default=None
        The claim to test: epsilon, (epsilon, delta), or a certificate or its event, which claims
        more and so needs fewer fits to be refuted. None: the certificate in `privacy_` of the
        fitted estimator, or the composition of several; else parameters named epsilon and delta.
    runs : "auto" or int, default="auto"
        Fits on either table in the last round. "auto": 2000, fewer if they would take more than
        some minutes.
    neighbors : "worst" or list of (table, table), default="worst"
        Pairs of tables to tell apart; a table is a tuple (X, y) or (X,), or a dict of arguments
        of `fit`. The two must differ, in whatever the claim protects: for example in a replaced
        row, a removed row, or a group of rows.
    statistic : "auto", str or list of str, default="auto"
        One or more of "coordinate", "linear", "spread" and "values"; "auto" tries all.
    level : float, default=0.05
        Upper bound on the probability that a true claim is refuted.
    n_jobs : int or None, default=None
        Number of joblib processes.
    progress : bool or callable, default=False
        True prints progress to stderr at most once a second; a callable receives
        (fits made, text).
    random_state : int or None, default=None
        Seeds the public rows of the normal table. The noise of fits is never seeded.

    Returns
    -------
    result : AuditResult
        The result, which shows itself as text, HTML and a plot.

    Raises
    ------
    ValueError
        If a parameter is out of range, nothing is claimed, noise repeats under a `NoiseSeed`,
        the tables of a pair in `neighbors` are equal, `X` is neither a DataFrame nor an array of
        numbers, or the estimator refuses a table of every pair.
    BudgetExceededError
        If a `PrivacyBudget` is open or carried by the estimator, since every fit would be charged
        to it; or if a budget of the estimator itself ends during the audit.

    Notes
    -----
    *What the audit reads.* Everything that a fitted estimator holds: public and private
    attributes, properties, steps, members, containers, frames, sparse matrices, trees, functions
    with their closures, its pickle, the types of values, the low digits of numbers, and strings
    and bytes. It also reads the outputs of these methods on public rows, each separately:
    `decision_function`, `predict_proba`, `predict_log_proba`, `transform`, `inverse_transform`,
    `predict`, `score`, `score_samples`, `sample` and `get_feature_names_out`. Fits that end with
    an error count as well; `failed` says how many did. Of arrays with more than 2000 entries, or
    6000 in all, the audit reads evenly spaced entries and the 256 that differ most between
    tables in the first fits. Of strings and bytes it reads the first 2048 and last 512 bytes. The
    result lists in `partial` whatever is too long for this, compressed bytes, objects that do not
    show their contents, and an estimator of more than 20,000 objects. The audit does not see
    time, memory, messages and files. It sets a pair of tables aside if one of them is refused
    with a ValueError before the first round, or both with any error; `set_aside` lists such
    pairs. Every fit gets a copy of its table.

    *What rules out "not refuted".* A random generator that a fit made and kept, since its noise
    may be drawn again and subtracted; and an estimator that refuses all pairs but those that
    differ in targets alone. Integers that seed noise are not recognised.

    *Procedure.* A few fits on each pair look for values without noise; a pilot fits every pair.
    Three rounds follow. Each learns tests from all fits before it, on the most promising pairs,
    and judges them on fresh fits by Clopper-Pearson limits. The error probability is split among
    rounds, tests and limits, so that all limits hold together with probability ``1 - level``. The
    audit stops at the first refutation.

    *What it means.* A refutation is a proof at that level; "not refuted" proves nothing. An audit
    bounds privacy from one side, and tests only some tables and published values; long steps or a
    ridge may hide what was released. `AuditResult.power` says how large a leak the audit would
    have found. An audit that could not find any leak says "nothing tested".

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
    # Fits that a budget refuses look the same on all tables, as if nothing leaked.
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
        # If no value ever varied, other tables may show more.
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
    """Return the validated names of statistics."""
    if isinstance(statistic, str) and statistic == "auto":
        return list(STATISTICS)
    kinds = [statistic] if isinstance(statistic, str) else list(statistic)
    if not kinds or not set(kinds) <= set(STATISTICS):
        raise ValueError(f"statistic={statistic!r}: must be 'auto' or among {list(STATISTICS)}.")
    return kinds


def _sizes(runs, n_pairs, seconds_each):
    """Return the numbers of fits on either table in the pilot and in the last round."""
    if runs != "auto":
        return min(_PILOT, runs), runs
    pilot = _PILOT_SECONDS / (2 * n_pairs * seconds_each)
    rounds = sum(2 * share * count for share, _, count in ROUNDS)
    runs = _AUTO_SECONDS / (rounds * seconds_each)
    return (int(np.clip(pilot, FEWEST, _PILOT)), int(np.clip(runs, 2 * FEWEST, _AUTO_RUNS)))
