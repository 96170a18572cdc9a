"""Quantiles of numbers that are all multiples of a step, most of which many rows share."""

import numpy as np
import pytest

from dpsk.statistics import describe, dp_quantile
from dpsk.testing import NoiseSeed

N, SEEDS = 5000, 40
#: By name: a step, and a draw of multiples of it.
DRAWS = {
    "fifths": (0.2, lambda rng, n: np.round(rng.normal(size=n) * 5) / 5),
    "quarters": (0.25, lambda rng, n: np.round(rng.exponential(4.0, size=n) * 4) / 4),
    "tens": (10.0, lambda rng, n: np.round(rng.normal(30.0, 20.0, size=n), -1)),
    "thousands": (1000.0, lambda rng, n: np.round(rng.lognormal(10.0, 0.8, size=n), -3)),
    "integers": (1000.0, lambda rng, n: np.round(rng.lognormal(10.0, 0.8, n), -3).astype(int))}


def missed(draw, q, **options):
    """Count seeds in which the interval misses the quantile, and return its ends."""
    rng, count, ends = np.random.default_rng(1), 0, []
    for seed in range(SEEDS):
        x = draw(rng, N)
        low, high = dp_quantile(x, q, random_state=NoiseSeed(seed), **options).interval()
        count += not low <= np.quantile(x, q, method="inverted_cdf") <= high
        ends += [low, high]
    return count, np.array(ends)


@pytest.mark.covering(most=5)
@pytest.mark.parametrize("bounds", [None, (-10.0, 200_000.0)])
@pytest.mark.parametrize("q", [0.1, 0.25, 0.9])
@pytest.mark.parametrize("name", DRAWS)
def test_intervals_beside_atoms_hold_and_end_on_multiples(name, q, bounds):
    """If intervals cover .95, 9 of 40 miss once in 5,000 runs; between atoms 10 to 20 missed."""
    step, draw = DRAWS[name]
    count, ends = missed(draw, q, **({} if bounds is None else {"bounds": bounds}))
    assert count < 9
    # They are the decimals, also of steps that no float is.
    np.testing.assert_array_equal(ends, np.round(np.rint(ends / step) * step, 9))


@pytest.mark.parametrize("draw", [
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.exponential(size=n)),
    lambda rng, n: np.where(rng.random(n) < 0.5, 10.0, rng.uniform(0.0, 20.0, size=n))])
def test_one_common_number_and_small_ones_are_no_steps(draw):
    """Else the widest interval would be a step of 5 or more; whole numbers may be its ends."""
    _, ends = missed(draw, 0.9, epsilon=8.0)
    assert np.ptp(ends.reshape(-1, 2), axis=1).max() < 4.0


def test_steps_are_found_in_descriptions_of_columns_and_of_parts():
    X = DRAWS["thousands"][1](np.random.default_rng(0), 40_000)[:, None]
    for parts in ({}, {"by": np.arange(len(X)) % 2, "categories": [0, 1]}):
        shown = describe(X, epsilon=4.0, random_state=NoiseSeed(0), **parts).numbers
        for column in shown.values():
            for name in ("25%", "50%", "75%"):
                ends = np.array(column[name].interval())
                np.testing.assert_array_equal(ends, np.round(ends, -3))


def test_multiples_of_a_step_may_be_closer_than_floats_are():
    """Then they are no points; choices from them raised an IndexError. As above, 9 may miss."""
    low, high = 1e20, 1e20 + 1e6
    count, ends = missed(lambda rng, n: low + 1e6 * rng.random(n), 0.5, bounds=(low, high))
    assert count < 9 and ends.min() >= low and ends.max() <= high
