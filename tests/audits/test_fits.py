"""Full fits on neighboring data sets stay under the claim, and exceed it at weak noise.

The event is "the statistic exceeds a threshold". The threshold comes from the theory alone,
before any fit: of the values on a grid, the one at which a fit with noise cut to the `cut` of
its setting (a third where the claim is attained) would pass as private with the smallest
probability. True and weakened noise face the same test.

Each bound rests on two Clopper-Pearson limits at level 5e-8, the bounds on epsilon and mu
on the same two, so a sound solver fails a test with probability at most 1e-7. Both counts
must err at once to refute a true claim, so under the laws of `audit_settings` all tests of
a default run together fail with probability below 1e-12. Noise cut so goes unnoticed
with a probability that is computed exactly, and asserted to be below 1e-8 a test.
"""

from functools import lru_cache

import numpy as np
import pytest
from audit_settings import (
    CHOICES,
    EPSILON,
    FAMILIES,
    LEVEL,
    RELEASES,
    SETTINGS,
    audits,
    gaussian_mu,
)
from scipy.special import betaincinv
from scipy.stats import binom, norm

from dpsk._solvers import SOLVERS
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound

RUNS = 5_000
DELTA = 1e-3

ALL = [(pytest.param(solver, name, family, id=f"{solver}-{name}-{family}"), always)
       for solver in SOLVERS if solver in SETTINGS for name, family, always in audits(solver)]
CASES = [case for case, always in ALL if always]
OTHERS = [case for case, always in ALL if not always]
#: Batches, of all kinds of rows; the scale of every solver's noise is in test_cases.
BY_DEFAULT = ("sgd",)


def test_every_solver_and_every_family_is_audited():
    assert set(SOLVERS) == set(SETTINGS) | RELEASES | CHOICES
    cases = [case.values for case in CASES]
    assert {(solver, name) for solver, name, _ in cases} == {
        (solver, name) for solver in SETTINGS for name in SETTINGS[solver]}
    assert {family for *_, family in cases} | {"ridge"} == set(FAMILIES)


# Fits at full noise fail where noise is a third of what it should be, as weakened fits show.
@pytest.mark.audit
@pytest.mark.parametrize(("solver", "name", "family"), CASES)
def test_fits_stay_under_the_claim(solver, name, family):
    epsilon, mu, claim = measured(solver, name, family, DELTA, runs_of(solver, name))
    assert epsilon <= EPSILON
    assert mu <= claim


@pytest.mark.thorough
@pytest.mark.parametrize(("solver", "name", "family"), [
    pytest.param(*case.values, id=case.id,
                 marks=() if case.values[0] in BY_DEFAULT else pytest.mark.audit)
    for case in CASES])
def test_noise_cut_to_its_share_exceeds_the_claim(solver, name, family, noise_times):
    noise_times(SETTINGS[solver][name](DELTA).cut)
    epsilon, mu, claim = measured(solver, name, family, DELTA, runs_of(solver, name))
    assert epsilon > EPSILON
    assert mu > claim or claim == np.inf


@pytest.mark.audit
@pytest.mark.parametrize(("solver", "name", "family"), OTHERS)
def test_other_families(solver, name, family, noise_times):
    test_fits_stay_under_the_claim(solver, name, family)
    test_noise_cut_to_its_share_exceeds_the_claim(solver, name, family, noise_times)


@pytest.mark.audit
@pytest.mark.parametrize(("solver", "name", "family"), CASES)
def test_small_delta(solver, name, family, noise_times):
    check_small_delta(solver, name, family, 1e-5, 20_000, noise_times)


def check_small_delta(solver, name, family, delta, runs, noise_times):
    # Half of the fits show what a deeper cut leaves of the noise.
    runs //= 1 if runs_of(solver, name) >= 4_000 else 2
    epsilon, mu, claim = measured(solver, name, family, delta, runs)
    assert epsilon <= EPSILON
    assert mu <= claim
    noise_times(SETTINGS[solver][name](delta).cut)
    epsilon, mu, claim = measured(solver, name, family, delta, runs)
    assert epsilon > EPSILON
    assert mu > claim or claim == np.inf


@pytest.mark.audit
@pytest.mark.parametrize(("solver", "name", "family"), [
    case for case in CASES if case.values[0] in ("gd", "sgd")])
def test_very_small_delta(solver, name, family, noise_times):
    # One full and one sampled mechanism: what a smaller delta changes is the calibration.
    check_small_delta(solver, name, family, 1e-6, 40_000, noise_times)


def runs_of(solver, name):
    return SETTINGS[solver][name](DELTA).runs


def measured(solver, name, family, delta, runs):
    """Return lower bounds on epsilon and mu from full fits, and the claimed mu.

    The claim is infinite where the fit as a whole is not a Gaussian mechanism.
    """
    setting, threshold, claim = prepared(solver, name, family, delta, runs)
    data = FAMILIES[family]
    counts = (hits(data, setting, data.rows, threshold, runs), runs,
              hits(data, setting, data.neighbor, threshold, runs), runs)
    epsilon = epsilon_lower_bound(*counts, delta=setting.params["delta"], level=LEVEL)
    mu = mu_lower_bound(*counts, level=LEVEL)
    print(f"{solver} {name} {family}: delta {setting.params['delta']:g}, hits {counts[0]} and "
          f"{counts[2]} of {runs}: epsilon >= {epsilon:.3f} of {EPSILON}, "
          f"mu >= {mu:.3f} of {claim:.3f}")
    return epsilon, mu, claim


def hits(data, setting, rows, threshold, runs):
    model = data.make(**setting.params)
    limit = threshold * setting.unit
    return sum(bool(data.statistic(model.fit(*rows)) > limit) for _ in range(runs))


@lru_cache
def prepared(solver, name, family, delta, runs):
    """Return the setting, the threshold in its unit, and the claimed mu."""
    setting, data = SETTINGS[solver][name](delta), FAMILIES[family]
    claim = gaussian_mu(EPSILON, delta) if setting.is_gaussian else np.inf
    # The noise multiplier is public and the same in every fit.
    z = data.make(**setting.params).fit(*data.rows).privacy_.noise_multiplier
    dimension = len(data.direction)

    def miss(t):
        p = setting.tail(t, z * setting.cut, dimension)
        q = 1.0 - setting.tail(-t, z * setting.cut, dimension)
        return miss_probability(p, q, runs, setting.params["delta"], claim)

    spread = setting.noise(z) / setting.unit
    threshold = min(spread * np.linspace(-0.5, 1.5, 41), key=miss)
    assert miss(threshold) < 1e-8
    return setting, threshold, claim


def miss_probability(p, q, runs, delta, claim, epsilon=EPSILON):
    """Return the probability that chances `p` and `q` of the event do not refute the claim."""
    counts = np.arange(runs + 1)
    low = np.zeros(runs + 1)
    low[1:] = betaincinv(counts[1:], runs - counts[1:] + 1, LEVEL)
    high = 1.0 - low[::-1]
    # For each count on the neighbor, the lower limit that both bounds need.
    needed = delta + np.exp(epsilon) * high
    if claim < np.inf:
        needed = np.maximum(needed, norm.cdf(norm.ppf(high) + claim))
    least = np.searchsorted(low, needed, side="right")
    return float(binom.pmf(counts, runs, q) @ binom.cdf(least - 1, runs, p))


def normal_threshold(shift, runs, delta, claim, epsilon=EPSILON):
    """Return the threshold that finds a third of the noise in a normal log likelihood ratio.

    The ratio has means half a `shift` above and below 0 and variance 1 at the claimed noise. It
    misses that with a probability below 1e-8.
    """
    def miss(t):
        p, q = (norm.sf(3 * (t - half)) for half in (shift / 2, -shift / 2))
        return miss_probability(p, q, runs, delta, claim, epsilon)

    best = min(np.linspace(-1.0, 1.5, 51), key=miss)
    assert miss(best) < 1e-8
    return best
