"""A10: vertices chosen by Frank-Wolfe, audited as they leave the oracle.

One feature and one row that is not zero, whose gradient is clipped all the way: each step is
one choice of two vertices, with the exact chances ``expit(+-e/2)`` at range e, whatever was
chosen before. That pair attains the price of a choice. Levels and bounds are those of the
audits of fits.
"""

from dataclasses import replace

import numpy as np
import pytest
from audit_settings import CHOICES, CLIP, EPSILON, LEVEL, N, gaussian_mu
from scipy.special import expit
from scipy.stats import binom
from test_fits import miss_probability

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Logistic
from dpsk._objective.penalties import L1Ball
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._problem import Problem
from dpsk._solvers import SOLVERS
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound

DELTA = 1e-3
X = np.zeros((N, 1))
X[0] = 1.0
#: (delta, steps, runs): pure epsilon, and the Gaussian price of several choices.
PLANS = {"pure": (0.0, 1, 4000), "gaussian": (DELTA, 16, 2500)}
#: The mu of a few choices is easier to refute than their epsilon.
SHARP = {"pure": EPSILON, "gaussian": -np.inf}
CLAIMS = {"pure": np.inf, "gaussian": gaussian_mu(EPSILON, DELTA)}
every_plan = pytest.mark.parametrize("plan", PLANS)


def choices(delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return the signs chosen in independent runs at the calibrated noise, and its range."""
    problem = Problem(N, LinearModel(1, None, False, 1.0), Logistic(), L1Ball(1.0), epsilon, delta)
    (name,) = CHOICES
    solver = SOLVERS[name](max_iter=steps, clip_norm=CLIP).configured(problem)
    noise = calibrate(solver.queries(problem), epsilon, delta)
    asked = solver.queries(problem)
    declared = replace(asked, answers=replace(asked.answers, count=steps * runs))
    session = Session(EntropyStream(), Ledger(declared(noise)))
    oracle = declared.run((problem, Rows(rows, np.arange(1, N + 1) % 2 * 1.0)), session, noise)
    signs = [oracle.descent_vertex(np.zeros(1))[1] for _ in range(steps * runs)]
    return np.reshape(signs, (runs, steps)), 4.0 / noise


def measured(plan, choices=choices):
    """Return lower bounds on epsilon and mu from the number of choices of one of two kinds."""
    delta, steps, runs = PLANS[plan]
    width = choices(delta, steps, 1)[1]

    def miss(threshold):
        p, q = (binom.sf(threshold, steps, expit(sign * 1.5 * width)) for sign in (1, -1))
        return miss_probability(p, q, runs, delta, CLAIMS[plan], SHARP[plan])

    threshold = min(np.arange(steps), key=miss)
    assert miss(threshold) < 1e-8
    counts = []
    for rows in (X, -X):
        signs, _ = choices(delta, steps, runs, rows)
        counts += [int(((signs > 0).sum(axis=1) > threshold).sum()), runs]
    bounds = (epsilon_lower_bound(*counts, delta=delta, level=LEVEL),
              mu_lower_bound(*counts, level=LEVEL))
    print(f"{plan}: epsilon >= {bounds[0]:.3f} of {EPSILON}, "
          f"mu >= {bounds[1]:.3f} of {CLAIMS[plan]:.3f}")
    return bounds


@pytest.mark.audit
@every_plan
def test_choices_stay_under_the_claim(plan):
    epsilon, mu = measured(plan)
    assert epsilon <= EPSILON
    assert mu <= CLAIMS[plan]


@pytest.mark.parametrize("plan", ["pure", pytest.param("gaussian", marks=pytest.mark.audit)])
def test_noise_cut_to_a_third_exceeds_the_claim(plan, noise_times):
    noise_times(1 / 3)
    epsilon, mu = measured(plan)
    assert epsilon > SHARP[plan]
    assert mu > CLAIMS[plan] or CLAIMS[plan] == np.inf


def frequency_is_accepted():
    """Test how often the better vertex is chosen, two-sided at level 1e-8."""
    signs, width = choices(0.0, 1, 5000, epsilon=2.0)
    assert width == pytest.approx(2.0, rel=1e-6)
    hits, law = (signs > 0).sum(), binom(5000, expit(1.0))
    return min(law.cdf(hits), law.sf(hits - 1)) > 0.5e-8


def test_choices_have_the_chances_of_the_exponential_mechanism():
    assert frequency_is_accepted()


@pytest.mark.parametrize("factor", [
    2 / 3, pytest.param(3 / 2, marks=pytest.mark.thorough)])
def test_chances_at_another_noise_are_rejected(factor, noise_times):
    noise_times(factor)
    assert not frequency_is_accepted()
