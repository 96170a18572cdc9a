"""Whole fits of samplers: the log likelihood ratio of all their sums, as a fit releases them.

Row 0 alone differs between two tables, in class and in all columns. Answers are normal about what
either table has exactly, given the answers before, so that the ratio of the two is known; a point
of a grid is chosen with chances that are exponential in its score.
"""

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL, N, gaussian_mu
from scipy.special import logsumexp
from test_fits import DELTA, normal_threshold

from dpsk import DPGaussianSampler, DPTreeSampler, _ranged
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.plans import choice_event
from dpsk._stages import class_plan
from dpsk._stages.centering import shrunk
from dpsk._statistics import ends
from dpsk._statistics.quantiles import noisy_quantile
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from dpsk.generative import _margins
from tests.contracts.tapes import taped

MU, RUNS = gaussian_mu(EPSILON, DELTA), 2500
LABELS = np.arange(N) % 2
RADIUS, CONSTANT = 1.0, 0.5
#: Of mu^2, for each of two medians and four quantiles, and the share of rows beyond them.
QUANTILE_SHARE, TAIL = 0.02, 0.3
WIDTH = bounded_range_epsilon(np.sqrt(QUANTILE_SHARE) * MU)
#: What quantiles are chosen from; row 0 of the ranged fit is beyond.
GRID = np.arange(-60.0, 61.0) / 32.0


def table(sign, values):
    """Return rows and labels, row 0 with one of two values."""
    X = np.zeros((N, len(values)))
    X[0] = values if sign > 0 else -np.array(values)
    return X, np.where(np.arange(N) == 0, 0 if sign > 0 else 1, LABELS)


def released(make, sign, values):
    """Return the answers of one fit, the mu of each, and the ranges of its columns if any."""
    with taped() as tape:
        sampler = make().fit(*table(sign, values))
    return (tape.answers, [event.mu for (event,) in tape.events],
            getattr(sampler, "feature_range_", None))


def gaussian():
    return DPGaussianSampler(EPSILON, delta=DELTA, data_norm=RADIUS, classes=[0, 1])


def ranged():
    # As few rows as these learn ranges by a rule of the test only.
    return DPGaussianSampler(EPSILON, delta=DELTA, classes=[0, 1])


def gaussian_ratio(answers, mus, ranges, values):
    """Return by how much likelier answers are with row 0 as it is for sign +1."""
    *points, mean, matrices = answers
    radius = RADIUS if ranges is None else np.sqrt(2.0)
    center = shrunk(mean, 2.0 * radius / mus[-2] / N, radius)
    stds = 2.0 * radius / mus[-2] / N, np.sqrt(2.0) * (radius**2 + CONSTANT**2) / mus[-1]
    ratio = 0.0
    for sign in (1.0, -1.0):
        X, y = table(sign, values)
        for place, point in enumerate(points):
            column, which = divmod(place, 3)
            numbers = X[:, column] - (GRID[points[3 * column]] if which else 0.0)
            ratio += sign * quantile_chances(numbers, (0.5, TAIL, 1.0 - TAIL)[which])[point]
        if ranges is not None:
            low, high = ranges
            X = (np.clip(X, low, high) - 0.5 * (low + high)) / (0.5 * (high - low))
        ratio -= sign * np.sum((mean - X.mean(axis=0))**2) / (2 * stds[0]**2)
        rows = X - center
        rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1) / radius)[:, None]
        rows = np.column_stack([rows, np.full(N, CONSTANT)])
        for label in (0, 1):
            apart = matrices[label] - rows[y == label].T @ rows[y == label]
            # Half of the squared Frobenius norm, in the basis in which noise is even.
            ratio -= sign * np.sum(apart**2) / (2 * stds[1]**2)
    return ratio


def quantile_chances(numbers, q):
    """Return the logarithm of the chance of every point of the grid to be the quantile."""
    # All numbers are on the grid, or beyond.
    points, rank = np.clip(numbers, GRID[0], GRID[-1])[:, None], round(q * N)
    below, up_to = np.sum(points < GRID, axis=0), np.sum(points <= GRID, axis=0)
    scores = -0.5 * WIDTH * np.maximum(0, np.maximum(below - rank, rank - up_to))
    return scores - logsumexp(scores)


def tree():
    # Bins of one column and of the other, and no choice but to join them or not.
    return DPTreeSampler(EPSILON, delta=DELTA, classes=[0, 1],
                         columns={0: (-1.0, 0.0, 1.0), 1: (-1.0, 0.0, 1.0)})


def tree_ratio(answers, mus, ranges, values):
    ratio, pair = 0.0, answers[2] if len(answers) > 2 else None
    for sign in (1.0, -1.0):
        X, y = table(sign, values)
        cells = [(y, (X[:, j] >= 0).astype(int)) for j in (0, 1)]
        singles = np.concatenate([_counts(cell) for cell in cells])
        ratio -= sign * np.sum((answers[0] - singles)**2) * mus[0]**2 / (2 * 4.0)
        if pair is not None:
            counts = _counts((y, cells[0][1], cells[1][1]))
            ratio -= sign * np.sum((pair - counts)**2) * mus[2]**2 / (2 * 2.0)
    return ratio


def _counts(places):
    counts = np.zeros((2,) * len(places))
    np.add.at(counts, places, 1)
    return counts.ravel()


@pytest.fixture(autouse=True)
def every_pair_is_worth_a_table(monkeypatch):
    """Let the fit of a tree release all that it may."""
    monkeypatch.setattr(_margins, "_WORTH", -1e9)


@pytest.fixture(autouse=True)
def ranges_are_learnt_from_few_rows(monkeypatch):
    """Let a fit release the ends of ranges that it may, of a short grid."""
    price = choice_event(WIDTH)
    monkeypatch.setattr(ends, "distance_grid", lambda: GRID)
    monkeypatch.setattr(ends, "noisy_decimal", lambda rows, numbers, q, *given, weighted:
                        noisy_quantile(rows, numbers, q, GRID, *given))
    for home in (_ranged, class_plan):
        monkeypatch.setattr(home, "range_rule", lambda budget: (price, TAIL, price))


FITS = {"gaussian": (gaussian, [RADIUS, 0.0], gaussian_ratio),
        "ranged": (ranged, [100.0, 100.0], gaussian_ratio),
        "tree": (tree, [0.5, 0.5], tree_ratio)}
every_sampler = pytest.mark.parametrize("name", FITS)


def measured(name):
    """Return lower bounds on epsilon and mu."""
    make, values, ratio = FITS[name]
    best = MU * normal_threshold(0.9 * MU, RUNS, DELTA, MU, -np.inf)
    found = []
    for sign in (1.0, -1.0):
        hits = sum(ratio(*released(make, sign, values), values) > best for _ in range(RUNS))
        found += [int(hits), RUNS]
    return (epsilon_lower_bound(*found, delta=DELTA, level=LEVEL),
            mu_lower_bound(*found, level=LEVEL))


@every_sampler
def test_the_sums_of_a_fit_cost_no_more_than_its_budget(name):
    make, values, _ = FITS[name]
    _, mus, _ = released(make, 1.0, values)
    assert np.linalg.norm(mus) == pytest.approx(MU, rel=1e-6)


@pytest.mark.audit
@every_sampler
def test_a_fit_stays_under_its_claim(name):
    """False-alarm rate at most 1e-7 a fit."""
    epsilon, mu = measured(name)
    assert epsilon <= EPSILON and mu <= MU


@pytest.mark.audit
@every_sampler
def test_a_third_of_the_noise_exceeds_it(name, noise_times):
    noise_times(1 / 3)
    assert measured(name)[1] > MU
