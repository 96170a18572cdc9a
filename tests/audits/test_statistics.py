"""Statistics, audited as they leave: sums, histograms and medians of tables that differ in a row.

The test asks on which side of the middle between two tables a release is. Lower bounds fail to
hold with a chance of 1e-7.
"""

import numpy as np
import pytest
from audit_settings import LEVEL

from dpsk.auditing import mu_lower_bound
from dpsk.statistics import (
    describe,
    dp_count,
    dp_histogram,
    dp_mean,
    dp_median,
    dp_sum,
    dp_value_counts,
)

EPSILON, DELTA, N = 8.0, 1e-3, 41
HALF = np.repeat([0, 1], [N // 2, N - N // 2])
MU = dp_sum(HALF, bounds=(0, 1), epsilon=EPSILON, delta=DELTA).privacy_.event.mu


#: A release as a number that is larger for the second of two tables, and their middle.
RELEASES = {
    "sum": (lambda x: float(dp_sum(x, bounds=(0, 1), epsilon=EPSILON, delta=DELTA)),
            N - N // 2 - 0.5),
    "mean": (lambda x: float(dp_mean(x, bounds=(0, 1), epsilon=EPSILON, delta=DELTA)),
             (N - N // 2 - 0.5) / N),
    "histogram": (lambda x: float(np.diff(-np.asarray(dp_histogram(
        x, [-0.5, 0.5, 1.5], epsilon=EPSILON, delta=DELTA)[0]))[0]), 1 - 2 * (N - N // 2 - N / 2)),
    "count by parts": (lambda x: float(np.diff(-dp_count(
        x, by=x, categories=[0, 1], epsilon=EPSILON, delta=DELTA).value)[0]),
        1 - 2 * (N - N // 2 - N / 2)),
    "histogram by parts": (lambda x: float(np.diff(-dp_histogram(
        x, [-0.5, 0.5, 1.5], by=x, categories=[0, 1], epsilon=EPSILON, delta=DELTA)[0].value[
            [0, 1], [0, 1]])[0]), 1 - 2 * (N - N // 2 - N / 2)),
    "value counts by parts": (lambda x: float(np.diff(-dp_value_counts(
        x, [0, 1], by=x, by_categories=[0, 1], epsilon=EPSILON, delta=DELTA)[0].value[
            [0, 1], [0, 1]])[0]), 1 - 2 * (N - N // 2 - N / 2)),
    "median": (lambda x: float(dp_median(x, bounds=(0, 1), epsilon=EPSILON, delta=DELTA)), 0.5),
    "median by parts": (lambda x: float(dp_median(
        x, by=0 * x, categories=[0, 1], bounds=(0, 1), epsilon=EPSILON, delta=DELTA).value[0]),
        0.5),
    "description by parts": (lambda x: float(np.diff(-describe(
        x[:, None], by=x, categories=[0, 1], epsilon=EPSILON, delta=DELTA,
        columns={0: [0, 1]})[0][0].value[[0, 1], [0, 1]])[0]), 1 - 2 * (N - N // 2 - N / 2)),
    "description": (lambda x: float(describe(
        x[:, None], epsilon=EPSILON, delta=DELTA, columns={0: (0, 1)})[0]["mean"]),
        (N - N // 2 - 0.5) / N)}
every_release = pytest.mark.parametrize("name", RELEASES)
pytestmark = pytest.mark.filterwarnings("ignore")


def shown(name, runs):
    """Return a lower bound on mu, of the better of both sides."""
    release, middle = RELEASES[name]
    first, second = HALF, HALF.copy()
    first = np.where(np.arange(N) == N // 2, 0, HALF)
    hits = [sum(release(table.astype(int)) > middle for _ in range(runs))
            for table in (second, first)]
    return max(mu_lower_bound(hits[0], runs, hits[1], runs, level=LEVEL),
               mu_lower_bound(runs - hits[0], runs, runs - hits[1], runs, level=LEVEL))


@every_release
def test_every_release_is_a_number_on_a_side_of_the_middle(name):
    release, middle = RELEASES[name]
    assert np.isfinite(release(HALF) - middle)


@pytest.mark.audit
@every_release
def test_one_row_shows_no_more_than_the_claim(name):
    assert shown(name, 300 if name[:3] in ("des", "med") else 1500) <= MU


@pytest.mark.audit
@pytest.mark.parametrize("name", ["sum", "mean", "histogram", "count by parts",
                                  "histogram by parts", "value counts by parts"])
def test_a_third_of_the_noise_exceeds_the_claim(name, noise_times):
    assert shown(name, 1500) > 0.5 * MU
    noise_times(1 / 3)
    assert shown(name, 1500) > MU
