"""The black-box lower bounds: right numbers, right coverage, refusal of nonsense."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from dpsk.auditing import delta_lower_bound, epsilon_lower_bound, mu_lower_bound


def limits(hits, runs, neighbor_hits, neighbor_runs, level):
    """Clopper-Pearson by its definition: the p at which the count is just too unlikely."""
    low = brentq(lambda p: binom.sf(hits - 1, runs, p) - level, 1e-12, 1 - 1e-12, xtol=1e-14)
    high = brentq(lambda p: binom.cdf(neighbor_hits, neighbor_runs, p) - level,
                  1e-12, 1 - 1e-12, xtol=1e-14)
    return low, high


@pytest.mark.parametrize("counts", [(90, 100, 10, 100), (800, 1000, 3, 500), (50, 60, 0, 400)])
@pytest.mark.parametrize("level", [0.025, 1e-7])
def test_bounds_follow_from_the_definition_of_the_limits(counts, level):
    low, high = limits(*counts, level)
    assert epsilon_lower_bound(*counts, delta=0.01, level=level) == pytest.approx(
        np.log((low - 0.01) / high), rel=1e-6)
    assert delta_lower_bound(*counts, epsilon=0.3, level=level) == pytest.approx(
        low - np.exp(0.3) * high, rel=1e-6)
    assert mu_lower_bound(*counts, level=level) == pytest.approx(
        norm.ppf(low) - norm.ppf(high), rel=1e-6)


@pytest.mark.parametrize("counts", [(0, 10, 0, 10), (10, 10, 10, 10), (3, 10, 7, 10),
                                    (0, 1, 1, 1)])
def test_counts_that_prove_nothing_give_zero(counts):
    assert epsilon_lower_bound(*counts) == 0.0
    assert delta_lower_bound(*counts, epsilon=0.0) == 0.0
    assert mu_lower_bound(*counts) == 0.0


def test_a_huge_epsilon_does_not_overflow():
    assert delta_lower_bound(100, 100, 0, 100, epsilon=1e6) == 0.0


def test_the_bound_on_a_known_mechanism_fails_as_rarely_as_stated():
    """Exact coverage by summing over all counts, for N(0, 1) against N(1, 1)."""
    runs, p, q = 60, norm.sf(0.0), norm.sf(1.0)
    counts = np.arange(runs + 1)
    chance = np.outer(binom.pmf(counts, runs, p), binom.pmf(counts, runs, q))
    wrong = np.array([[mu_lower_bound(int(a), runs, int(b), runs) > 1.0 for b in counts]
                      for a in counts])
    assert 0.0 < chance[wrong].sum() <= 0.05


@pytest.mark.parametrize(("counts", "keywords", "message"), [
    ((11, 10, 0, 10), {}, r"hits=11: must be an int between 0 and runs=10"),
    ((1, 10, -1, 10), {}, r"neighbor_hits=-1: must be an int between 0 and neighbor_runs=10"),
    ((1, 0, 0, 10), {}, r"runs=0: must be an int >= 1"),
    ((1.5, 10, 0, 10), {}, r"hits=1\.5: must be an int"),
    ((1, 10, 0, 10), {"level": 0.0}, r"level=0\.0: must be a number in \(0, 0\.5\)"),
])
@pytest.mark.parametrize("bound", [epsilon_lower_bound, mu_lower_bound,
                                   lambda *a, **k: delta_lower_bound(*a, epsilon=1.0, **k)])
def test_errors_name_parameter_value_and_remedy(bound, counts, keywords, message):
    with pytest.raises(ValueError, match=message):
        bound(*counts, **keywords)


def test_delta_and_epsilon_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"delta=1\.0: must be a number in \[0, 1\)"):
        epsilon_lower_bound(1, 2, 0, 2, delta=1.0)
    with pytest.raises(ValueError, match=r"epsilon=-1: must be a finite number >= 0"):
        delta_lower_bound(1, 2, 0, 2, epsilon=-1)
