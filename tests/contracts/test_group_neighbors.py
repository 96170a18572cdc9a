"""A whole group of rows, replaced by hostile ones of any number: what it moves, and what it shows.

Answers of a job are replayed in jobs on neighbors, so that both ask at the same points. Then exact
totals tell of the sensitivity, and nothing else may differ.
"""

import pickle
import warnings

import numpy as np
import pytest

from dpsk.metrics import BinaryEvaluation, MulticlassEvaluation, RegressionEvaluation
from tests.contracts.tapes import spent, taped
from tests.instruments import repeated_stream

G, WHO = 40, 7
SIZES = np.resize([1, 3, 6, 2, 9], G)


def table(seed=0):
    """Return scores, labels and whose row each is."""
    rng = np.random.default_rng(seed)
    people = rng.permutation(np.repeat(np.arange(G), SIZES))
    return rng.uniform(size=len(people)), rng.integers(2, size=len(people)), people


def neighbors(scores, labels, people):
    """Yield tables with other rows of one group, behind those of others or before them."""
    stay = people != WHO
    for place, (size, score) in enumerate((size, score) for size in (1, 2, 3, 40, 1500)
                                          for score in (0.0, 0.31, 1.0, np.nan, 1e300)):
        rng = np.random.default_rng(place)
        own = np.full(size, score), rng.integers(2, size=size), np.full(size, WHO)
        if place % 3 == 0:
            own = rng.uniform(size=size), *own[1:]
        yield tuple(np.append(*(pair if place % 2 else pair[::-1])) for pair in zip(
            (scores[stay], labels[stay], people[stay]), own, strict=True))


def _binary(scores, labels, people):
    return BinaryEvaluation.from_predictions(labels, scores, groups=people, labels=[0, 1])


def _public_bins(scores, labels, people):
    return BinaryEvaluation.from_predictions(labels, scores, groups=people, labels=[0, 1],
                                             bins=7)


def _multiclass(scores, labels, people):
    guesses = (scores > 0.3).astype(int)
    return MulticlassEvaluation.from_predictions(labels, guesses, groups=people, labels=[0, 1])


def _regression(scores, labels, people):
    return RegressionEvaluation.from_predictions(
        2.0 * labels - 0.5, scores, groups=people, target_bounds=(0.0, 1.0), residual_bound=0.4)


JOBS = {"scores": _binary, "public bins": _public_bins, "labels": _multiclass,
        "numbers": _regression}


def shown(job, rows, answers=None):
    """Return all that a job shows, and the tape of its releases."""
    with repeated_stream(), taped(answers) as tape, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = job(*rows)
    return pickle.dumps((vars(found), [str(one.message) for one in warned])), tape


def largest_share(job, rows, others):
    """Return the largest share of its price that a neighbor moves an answer by."""
    face, tape = shown(job, rows)
    shares = []
    for other in others:
        changed, replayed = shown(job, other, tape.answers)
        assert changed == face and repr(replayed.public) == repr(tape.public)
        assert replayed.events == tape.events
        for event, parts, here, there in zip(tape.events, tape.parts, tape.totals,
                                             replayed.totals, strict=True):
            moves = [a - b for a, b in zip(here, there, strict=True)]
            shares.append(spent(event[0], parts, moves))
    assert max(shares) <= 1.0 + 1e-9
    return max(shares)


@pytest.mark.covering(most=4)
@pytest.mark.parametrize("name", JOBS)
def test_a_hostile_group_moves_no_total_beyond_its_price_and_shows_in_nothing_else(name):
    rows = table()
    assert largest_share(JOBS[name], rows, neighbors(*rows)) > 0.5
