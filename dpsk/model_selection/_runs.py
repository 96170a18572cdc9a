"""One run of a search: its training, and its score queries on held-out rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._context import without_threads
from dpsk._data.errors import without_warnings
from dpsk._data.passes import InPasses
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.certificate import Enforced
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.model_selection._holdout import trained
from dpsk.model_selection._scoring import RowScore, Scorer

if TYPE_CHECKING:
    from typing import Any

__all__ = ["enforced_bounds", "noises_of", "scored", "shares_of", "told", "told_score",
           "trained_run", "trusted_facts"]


@without_threads()
def trained_run(plan, admission, after, part, model):
    """Return the trained models of a run, from which candidates are made."""
    # Worker processes print their warnings, which would reveal the number of runs.
    if after is None:
        return [without_warnings(trained, model, plan, admission, part)]
    return without_warnings(after.trained, model, plan, admission, part)


@without_threads()
def scored(models, plan, scorers, after, asks, held):
    """Score a run; return its rank, its model, the chosen index and noisy means.

    The best run has the largest rank. The index is that of the candidate that was chosen among
    those of the run, and scores are computed from the means.
    """
    # The position of a group's rows depends on how many rows other groups have.
    placed = models if held.members is None else [InPasses(model) for model in models]
    place, events = 0, iter(plan.score_events)

    def ask(event, columns, diameter):
        # Rounded averages over groups may exceed the diameter where nothing clips them.
        moved = Sensitivity(diameter if len(columns) == 1 else diameter * (1.0 + 1e-9),
                            terms=plan.n_holdout, size=len(columns))
        return asks(event, lambda inside: np.array([held.total(each) for each in columns]),
                    moved, divisor=plan.n_holdout)

    first = next(iter(scorers.values()))
    if after is not None:
        sums: list[Any] = []

        def read(inside):
            if not sums:
                sums.append(np.array([held.total(0.5 - each) for each in after.losses(
                    placed, first, held.X, held.y)]))
            return sums[0].copy()

        if plan.choices > 1:
            # Sums of numbers in [-1/2, 1/2] change by at most 1, up or down: a spread of 2.
            apart = Sensitivity(2.0, "gumbel", terms=plan.n_holdout, size=plan.choices,
                                rounded=False)
            place = int(asks(plan.choice, read, apart, select=np.argmax))
        moved = Sensitivity(1.0, terms=plan.n_holdout, size=1)
        mean = asks(next(events), lambda inside: read(inside)[[place]], moved,
                    divisor=plan.n_holdout)
        return float(mean[0]), after.made(models, place), place, [[mean]]
    means = []
    for scorer in scorers.values():
        own = [next(events) for _ in scorer.shares]
        noises = noises_of(scorer, own, plan.n_holdout)
        # A RowScore sees one row at a time, so positions do not matter.
        shown = models[0] if isinstance(scorer, RowScore) else placed[0]
        means.append(scorer.released(
            lambda place, columns, own=own, scorer=scorer: ask(
                own[place], columns, scorer.diameters[place]), shown, held.X, held.y,
            plan.n_holdout, noises))
    order = first.order(means[0], plan.n_holdout)
    # A NaN score ranks below all others.
    return (-np.inf if np.isnan(order) else order), models[0], place, means


def shares_of(scorers):
    """Return the fraction of mu^2 of every sum; half is for the score that chooses.

    A single score gets all of mu^2.
    """
    each = [1.0] if len(scorers) == 1 else [0.5] + [0.5 / (len(scorers) - 1)] * (len(scorers) - 1)
    return tuple(whole * share for whole, scorer in zip(each, scorers.values(), strict=True)
                 for share in scorer.shares)


def noises_of(scorer, events, n_rows):
    """Return the noise standard deviations of the means that a score is computed from."""
    return [diameter / (n_rows * event.mu)
            for diameter, event in zip(scorer.diameters, events, strict=True)]


def told(scorer, noises, means, n_rows):
    """Return the published score and its standard error."""
    error = scorer.error(means, noises, n_rows)
    return told_score(scorer.name, scorer.value(means, n_rows), error, *scorer.range), error


def enforced_bounds(scorers, declared):
    """Return the enforced bounds on the loss of a row."""
    found = (getattr(scorer, "errors", scorer) for scorer in scorers.values())
    return [Enforced("score_bound", float(each.bound),
                     "default" if declared is None else "declared", "loss of one row in scoring="
                     f"{each.name!r}; larger ones, and those that are no number, are set to it")
            for each in found if isinstance(each, Scorer)]


def trusted_facts(scorers):
    """Return the unverified assumptions about scores."""
    return [f"scoring={name!r}: that it scores a row by what that row holds and by nothing of "
            "rows before" for name, each in scorers.items() if isinstance(each, RowScore)]


def told_score(name: str, score: float, noise: float, low: float, high: float) -> float:
    """Return a noisy score clipped to its range; NaN, with a warning, if too noisy.

    It is too noisy if its standard error exceeds the score or a quarter of the range.

    Parameters
    ----------
    name : str
        Name of the score.
    score : float
        The released score.
    noise : float
        Its standard error.
    low, high : float
        Range of the score.
    """
    inside = min(max(score, low), high)
    if noise <= min(abs(inside), (high - low) / 4.0):
        return inside
    warn(
        f"best_score_ is NaN: the noise on scoring={name!r} has a standard error of {noise:.2g}, "
        "larger than the score itself or a quarter of its range; use a larger epsilon, more rows, "
        "or a larger test_size.",
        PrivacyWarning, stacklevel=4)
    return math.nan
