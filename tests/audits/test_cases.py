"""Known mistakes must fail here, and what this package does instead must pass.

The numbers A3, A4 and A8 are those of the list of audit cases in the design notes. All
statistical tests hold for any seed: their false-alarm rates are stated and sum to below 1e-6.
"""

import hashlib

import numpy as np
import pytest
from audit_settings import (
    CLIP,
    EPSILON,
    FAMILIES,
    LEVEL,
    SETTINGS,
    N,
    gaussian_mu,
    multiplier,
)
from scipy.stats import chi2, gamma, norm

import dpsk._fit
from dpsk import noise_scale
from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian, tally
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._solvers import SOLVERS
from dpsk.auditing import epsilon_lower_bound
from dpsk.testing import NoiseSeed


def exact_delta(mu, epsilon):
    """The curve of N(0, 1) against N(mu, 1), as two tail probabilities of the loss."""
    return norm.sf(epsilon / mu - mu / 2) - np.exp(epsilon) * norm.sf(epsilon / mu + mu / 2)


# A3: the textbook formula for Gaussian noise is not valid at large epsilon.

@pytest.mark.parametrize(("epsilon", "delta", "k"), [
    (10.0, 1e-2, 1.25), (8.0, 1e-3, 1.25), (9.0, 1e-5, 1.25), (9.2, 1e-6, 1.25),
    (8.5, 1e-2, 2.0), (9.8, 1e-5, 2.0)])
def test_the_classical_gaussian_formula_breaks_its_claim(epsilon, delta, k):
    mu = epsilon / np.sqrt(2 * np.log(k / delta))
    assert exact_delta(mu, epsilon) > delta


def test_the_classical_gaussian_formula_at_ten_has_four_times_the_delta_claimed():
    assert exact_delta(10 / np.sqrt(2 * np.log(125)), 10.0) == pytest.approx(0.0406, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(10.0, 1e-2), (1.0, 1e-2), (20.0, 1e-6),
                                                (0.05, 1e-12), (9.0, 1e-5)])
def test_our_gaussian_calibration_keeps_its_claim_and_is_tight(epsilon, delta):
    scale = calibrate(lambda z: Gaussian(2 / z), epsilon, delta)
    assert exact_delta(2 / scale, epsilon) <= delta * (1 + 1e-9)
    assert exact_delta(2 / (scale * 0.999), epsilon) > delta
    assert accountant.delta(Gaussian(2 / scale), epsilon) <= delta
    assert noise_scale(epsilon, delta, steps=1, n_samples=N, sensitivity=1.0) == pytest.approx(
        scale, rel=1e-9)


# A4: two candidates fitted with one seed, each at half the budget.

def shared_seed_epsilon(runs):
    """Lower bound on epsilon from the difference of two candidates with one seed.

    One clips far below the length of the changed row's gradient, the other not at all, and
    their learning rates make the noise alike: with shared noise the difference is exact. The
    threshold is 0, by symmetry.
    """
    data = FAMILIES["logistic"]
    params = dict(SETTINGS["gd"]["plain"](0.5e-3).params, delta=0.5e-3)
    step = params.pop("learning_rate")
    models = (data.make(**params, learning_rate=step),
              data.make(**params, learning_rate=step * CLIP))
    models[1].clip_norm = 1.0
    for model in models:
        model.epsilon = EPSILON / 2

    def hits(rows):
        total = 0
        for seed in range(runs):
            key = NoiseSeed(seed)
            clipped, free = (data.statistic(model.set_params(random_state=key).fit(*rows))
                             for model in models)
            total += clipped > free
        return int(total)

    # In units of the noise the clipped candidate moves twice as far along the changed row.
    return epsilon_lower_bound(hits(data.rows), runs, hits(data.neighbor), runs,
                               delta=1e-3, level=LEVEL)


@pytest.mark.thorough
def test_one_seed_for_two_candidates_reveals_a_row_if_the_stream_is_keyed_by_it_alone(
        monkeypatch):
    monkeypatch.setattr(dpsk._fit, "open_stream", lambda seed, context: KeyedStream(
        hashlib.sha256(str(seed).encode()).digest()))
    assert shared_seed_epsilon(200) > 2 * EPSILON


@pytest.mark.audit
def test_one_seed_for_two_candidates_stays_within_the_total_budget():
    """False-alarm rate at most 1e-7; the seeds are fixed, so it never varies."""
    assert shared_seed_epsilon(1000) <= EPSILON


# A8: the noise has the calibrated scale, neither less nor more.

NOISE_CASES = [pytest.param(solver, name, id=f"{solver}-{name}") for solver in SOLVERS
               for name in SETTINGS.get(solver, [])]


def noise_scale_is_accepted(solver, name, fits):
    """Test the noise in full fits against its calibrated scale, two-sided, at level 1e-8.

    Rows of zeros have zero gradients, so theta is the noise alone. Its scaled squared length
    is chi-squared; with the density of pure epsilon its scaled length is Gamma. Exact laws,
    under which half of the scale is ten or more standard deviations away from that of 250 fits,
    and 2/3 and 3/2 are of 500. So is the sum of magnitudes of Laplace noise.
    """
    setting = SETTINGS[solver][name](1e-3)
    model = FAMILIES["logistic"].make(**setting.params)
    X, y = np.zeros((N, 2)), np.arange(N) % 2
    noise = np.array([model.fit(X, y).coef_.ravel() for _ in range(fits)])
    noise /= setting.noise(calibrated_multiplier(setting, model))
    if setting.law == "laplace":
        law, total = gamma(noise.size), np.abs(noise).sum()
    elif setting.law == "gamma":
        law, total = gamma(noise.size), np.linalg.norm(noise, axis=1).sum()
    else:
        law, total = chi2(noise.size), np.square(noise).sum()
    return min(law.cdf(total), law.sf(total)) > 0.5e-8


def effective_steps(params):
    """Return the number of full-price releases that the solver's noisy steps amount to."""
    if params["solver"] != "last_iterate":
        return params["max_iter"]
    shares = (1 - params["learning_rate"] * params["alpha"])**np.arange(params["max_iter"])
    return shares.sum()**2 / np.square(shares).sum()


def calibrated_multiplier(setting, model):
    """Return the noise multiplier, by the theory where that is a formula."""
    if setting.is_pure and setting.params["solver"] == "objective_perturbation":
        # A hundredth is for the tolerance; the curvature of a row is at most a quarter.
        return 2.0 / (0.99 * EPSILON - np.log1p(0.25 / (N * setting.params["alpha"])))
    if setting.law == "gamma":
        return 1.0 / EPSILON
    stated = model.privacy_.noise_multiplier
    if "stgd" in setting.params["solver"]:
        rounds = max(tally(model.privacy_.event).values())
        assert stated == pytest.approx(multiplier(setting.params["delta"], rounds), rel=1e-6)
    if setting.is_gaussian:
        # What a full-price release of one step costs, as standard deviations of the noise.
        whole = ("output_perturbation", "newton")
        sensitivity = 1.0 if setting.params["solver"] in whole else 2.0
        steps = 1 if sensitivity == 1.0 else effective_steps(setting.params)
        mu = gaussian_mu(EPSILON, setting.params["delta"])
        assert stated == pytest.approx(sensitivity * np.sqrt(steps) / mu, rel=1e-6)
    return stated


@pytest.mark.covering(most=2)
@pytest.mark.parametrize(("solver", "name"), NOISE_CASES)
def test_noise_has_the_calibrated_scale(solver, name):
    assert noise_scale_is_accepted(solver, name, 250)


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("factor, fits", [
    (1 / 2, 250), pytest.param(2 / 3, 500, marks=pytest.mark.audit),
    pytest.param(3 / 2, 500, marks=pytest.mark.audit)])
@pytest.mark.parametrize(("solver", "name"), NOISE_CASES)
def test_noise_of_another_scale_is_rejected(solver, name, factor, fits, noise_times):
    noise_times(factor)
    assert not noise_scale_is_accepted(solver, name, fits)
