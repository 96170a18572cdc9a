"""Coefficients are drawn in by the known size of their noise, and keep the mean prediction."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from dpsk import DPLogisticRegression
from dpsk._models import LinearModel
from dpsk._objective.losses import Logistic
from dpsk._privacy.events import Composed
from dpsk._solvers import SOLVERS
from dpsk._stages import Shrinkage, Whitening, few_columns, shrinkage
from dpsk._stages.whitening import Spectrum
from dpsk.testing import NoiseSeed
from tests.registry import make_problem

P = 6
outputs = pytest.mark.parametrize("shape", [(P,), (P, 3)])


@dataclass
class Noise:
    """Stands for an oracle with noise of one size, and its first answer."""

    noise_std: float
    answer: np.ndarray | None = None


def stage_of(seed=0, mean=True, mean_noise=0.0):
    """Return a stage after whitening that released some spectrum, the problem and that."""
    rng = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(rng.normal(size=(P, P)))
    spectrum = Spectrum(directions, rng.uniform(0.01, 0.2, P), np.ones(P), np.eye(P),
                        np.eye(P - 1))
    if mean:
        spectrum = replace(spectrum, mean=rng.normal(size=P), mean_noise=np.full(P, mean_noise))
    whitening = Whitening(LinearModel(P - 1, None, True, 1.0), np.float64)
    whitening.spectrum = spectrum
    problem = make_problem("squared", n_samples=1000, n_features=P, alpha=0.0,
                           fit_intercept=False, effective_rank=P)
    stage, given = Shrinkage(whitening), SOLVERS["gd"]()
    assert stage.applies(problem, given, given.configured(problem))
    assert stage.event(problem) == Composed(())
    return stage, problem, spectrum


@outputs
@pytest.mark.parametrize("noise_std", [0.0, 1e-3, 0.05, 1e3])
def test_the_mean_prediction_stays_and_the_rest_is_multiplied(shape, noise_std):
    stage, problem, spectrum = stage_of()
    theta = np.random.default_rng(1).normal(size=shape)
    found = stage.release(problem, Noise(noise_std), theta)
    np.testing.assert_allclose(spectrum.mean @ found, spectrum.mean @ theta, atol=1e-12)
    along = np.multiply.outer(spectrum.mean, spectrum.mean @ theta) / (
        spectrum.mean @ spectrum.mean)
    factors = (found - along) / (theta - along)
    np.testing.assert_allclose(factors, factors.flat[0], atol=1e-9)
    assert -1e-9 <= factors.flat[0] <= 1.0 + 1e-12


@outputs
def test_without_noise_nothing_changes_and_in_noise_the_mean_alone_is_left(shape):
    theta = np.random.default_rng(2).normal(size=shape)
    stage, problem, spectrum = stage_of()
    np.testing.assert_array_equal(stage.release(problem, Noise(0.0), theta), theta)
    found = stage.release(problem, Noise(1e6), theta)
    np.testing.assert_allclose(
        found, np.multiply.outer(spectrum.mean, spectrum.mean @ found) / (
            spectrum.mean @ spectrum.mean), atol=1e-9)
    stage, problem, _ = stage_of(mean=False)
    np.testing.assert_allclose(stage.release(problem, Noise(1e6), theta), 0.0, atol=1e-9)


@pytest.mark.parametrize("size", [1e160, 1e200, 1e300])
def test_coefficients_beyond_all_bounds_stay_numbers(size):
    theta = size * np.random.default_rng(2).normal(size=P)
    for mean_noise in (0.0, 1e3):
        stage, problem, _ = stage_of(mean_noise=mean_noise)
        with np.errstate(all="ignore"):
            assert np.isfinite(stage.release(problem, Noise(1.0), theta)).all()


def test_a_mean_row_of_noise_holds_coefficients_back():
    theta = np.random.default_rng(3).normal(size=P)
    kept = []
    for mean_noise in (0.0, 0.1, 1.0, 1e3):
        stage, problem, _ = stage_of(mean_noise=mean_noise)
        kept.append(np.linalg.norm(stage.release(problem, Noise(1e6), theta)))
    assert kept == sorted(kept) and kept[0] < 0.9 * kept[-1]
    assert kept[-1] == pytest.approx(np.linalg.norm(theta), rel=1e-3)


@pytest.mark.parametrize("size", [0.3, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("clip", [0.1, 0.3, 1.0])
def test_the_curvature_of_clipped_slopes_is_that_of_rows_of_coin_flips(clip, size):
    """Within six standard errors of a mean over 400,000 rows."""
    rng, loss = np.random.default_rng(8), Logistic()
    scores, labels = size * rng.normal(size=400_000), rng.integers(0, 2, 400_000) * 1.0
    slopes = np.clip(loss.gradient(labels, scores.copy()), -clip, clip)
    found = shrinkage._clipped_share(loss, clip, size) * loss.smoothness
    error = np.std(slopes * scores) / math.sqrt(len(scores)) / size**2
    assert abs(found - np.mean(slopes * scores) / size**2) < 6 * error + 1e-3 / size


def logistic_fits(signal, seeds=200, std=0.02):
    """Return a stage, and of every seed the oracle and the coefficients of logistic descent.

    All gradients are `signal` and noise.
    """
    stage, _, _ = stage_of()
    problem = make_problem("logistic", n_samples=1000, n_features=P, alpha=0.0,
                           fit_intercept=False, effective_rank=P)
    weights = stage._weights(problem, 1.0)[1]
    fits, directions = [], stage._whitening.spectrum.directions
    for seed in range(seeds):
        answers = signal + std * np.random.default_rng(seed).normal(size=(weights.shape[1], P))
        theta = -directions @ (weights * (answers @ directions).T).sum(axis=1)
        fits.append((Noise(std, answers[0]), theta))
    return stage, problem, fits


def share_kept(stage, problem, oracle, theta):
    """Return the factor of the part of coefficients across the mean row."""
    mean = stage._whitening.spectrum.mean
    along = mean * (mean @ theta) / (mean @ mean)
    factors = (stage.release(problem, oracle, theta) - along) / (theta - along)
    np.testing.assert_allclose(factors, factors[0], atol=1e-12)
    return factors[0]


def test_logistic_coefficients_of_noise_are_left_out_and_those_of_a_signal_are_kept():
    """The first answer is in the coefficients, which thus agree with it in noise as well."""
    stage, problem, fits = logistic_fits(np.zeros(P))
    assert np.mean([share_kept(stage, problem, *fit) for fit in fits]) < 0.25
    stage, problem, fits = logistic_fits(np.full(P, 0.2))
    assert min(share_kept(stage, problem, *fit) for fit in fits) > 0.7


def test_a_logistic_signal_in_covariances_that_noise_hides_is_kept():
    """Many categories depend on one number; the released moment shows little of it."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(6000, 1))
    levels = 10.0 + 3.5 * (hidden + rng.normal(size=(6000, 12)))
    X = np.eye(20)[np.clip(levels, 0, 19).astype(int)].reshape(6000, 240) / math.sqrt(12)
    y = (hidden[:, 0] + 0.3 * rng.normal(size=6000) > 0.0).astype(int)
    losses = [log_loss(y[3000:], DPLogisticRegression(
        0.5, data_norm=1.0, random_state=NoiseSeed(seed)).fit(X[:3000], y[:3000]).predict_proba(
            X[3000:])) for seed in range(5)]
    assert np.mean(losses) < 0.46


MANY = 60


def of_many(theta, linked=(), shared=1.0):
    """Return what is left of parameters of uncorrelated columns and a constant, in noise of 1.

    `linked` columns vary together, and along (1, ..., 1) the mean square is `shared`.
    """
    covariance = np.eye(MANY)
    directions, _ = np.linalg.qr(np.column_stack([np.ones(MANY), np.eye(MANY)[:, 1:]]))
    directions = np.block([[directions, np.zeros((MANY, 1))], [np.zeros(MANY), 1.0]])
    moments = np.append(shared, np.ones(MANY))
    for one, other in linked:
        covariance[one, other] = covariance[other, one] = 0.5
    spectrum = Spectrum(directions, moments, np.ones(MANY + 1), np.eye(MANY + 1), covariance,
                        np.append(np.linspace(-1.0, 1.0, MANY), 1.0), np.zeros(MANY + 1))
    whitening = Whitening(LinearModel(MANY, None, True, 1.0), np.float64)
    whitening.spectrum = spectrum
    problem = make_problem("squared", n_samples=1000, n_features=MANY + 1, alpha=0.0,
                           fit_intercept=False, effective_rank=MANY)
    stage, given = Shrinkage(whitening), SOLVERS["gd"]()
    assert stage.applies(problem, given, given.configured(problem))
    gain = np.linalg.norm(stage._weights(problem, 1.0)[1][1])
    found = stage.release(problem, Noise(1.0 / gain), np.asarray(theta))
    np.testing.assert_allclose(spectrum.mean @ found, spectrum.mean @ theta, atol=1e-9)
    return found[:-1]


@pytest.mark.parametrize("size", [1.0, 2.0])
@pytest.mark.parametrize("shape", [(MANY + 1,), (MANY + 1, 2)])
def test_few_columns_that_stand_out_are_kept_and_the_others_are_not(shape, size):
    """Also where noise is larger than its mechanism alone makes it; 7 deviations of any noise."""
    theta = size * np.random.default_rng(5).uniform(-1.7, 1.7, shape)
    theta[[3, 20, 41]] = 40.0
    found = of_many(theta)
    assert (found[[3, 20, 41]] > 38.0).all()
    others = np.delete(np.arange(MANY), [3, 20, 41])
    assert np.abs(found[others]).max() < 0.2 * np.abs(theta[others]).max()


def test_columns_that_vary_together_are_kept_together():
    theta = np.random.default_rng(6).uniform(-1.7, 1.7, MANY + 1)
    theta[[3, 20]] = 40.0
    found = of_many(theta, linked=[(3, 4)]) / theta[:-1]
    assert found[3] == pytest.approx(found[4]) and found[3] > 0.95 and abs(found[21]) < 0.2


def test_small_effects_of_many_columns_are_not_lost_beside_large_ones():
    theta = np.random.default_rng(5).choice([-5.0, 5.0], MANY + 1)
    theta[[3, 20, 41]] = 300.0
    kept = np.delete(of_many(theta) / theta[:-1], [3, 20, 41])
    assert (kept > 0.7).all()


def test_what_many_columns_share_is_not_left_out_column_by_column():
    """A column alone has the size of its noise, and the direction of all of them does not."""
    theta = np.append(np.random.default_rng(5).choice([-1.0, 1.0], MANY), 0.0)
    theta[[3, 20, 41]] = 40.0
    others = np.delete(np.arange(MANY), [3, 20, 41])
    assert np.abs(of_many(theta, shared=30.0)[others]).mean() < 0.3
    theta[others] = 1.0
    assert of_many(theta, shared=30.0)[others].mean() > 0.8


def test_where_many_columns_matter_all_are_multiplied_alike():
    theta = np.random.default_rng(7).normal(scale=4.0, size=MANY + 1)
    mean = np.append(np.linspace(-1.0, 1.0, MANY), 1.0)
    along = (mean * (mean @ theta) / (mean @ mean))[:-1]
    factors = (of_many(theta) - along) / (theta[:-1] - along)
    np.testing.assert_allclose(factors, factors[0])
    assert 0.7 < factors[0] < 1.0


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_noise_of_answers_is_predicted_where_the_loss_is_a_square(epsilon):
    """The variances of 2000 fits of a square whose answers have noise, to a fifth: of each 6
    deviations, so that twelve are all within but with a chance of 4e-8."""
    stage, problem, spectrum = stage_of()
    problem = replace(problem, epsilon=epsilon)
    solver = SOLVERS["gd"]().configured(problem)
    # Of residuals of a usual size, those that the clip leaves alone; half of them at most.
    left = math.erf(solver.clip_norm / problem.geometry.usual_norm / (0.25 * math.sqrt(2.0)))
    assert (left < 0.5) == (epsilon < 0.1)
    curvatures = min(0.5, left) * problem.loss.smoothness * spectrum.moments
    rng, std = np.random.default_rng(4), 0.01
    matrix = (spectrum.directions * curvatures) @ spectrum.directions.T

    class Square:
        def gradient(self, theta):
            return matrix @ theta + std * rng.normal(size=theta.shape)

    fits = solver.minimize(Square(), problem.penalty, np.zeros((P, 2000))).theta
    found = ((spectrum.directions.T @ fits) ** 2).mean(axis=1)
    predicted = (std * np.linalg.norm(stage._weights(problem, 1.0)[1], axis=1)) ** 2
    np.testing.assert_allclose(predicted, found, rtol=0.2)


@pytest.mark.parametrize("size", [*range(20, 40), 1501])
def test_sums_of_logarithms_are_those_one_by_one(size):
    values = 10.0 ** np.random.default_rng(0).uniform(-9.0, 0.0, (2, 3, size))
    values[0] = 1e-9
    np.testing.assert_allclose(few_columns._sum_of_logs(values), np.log(values).sum(axis=-1),
                               rtol=1e-13)


@pytest.mark.parametrize("n_blocks", [few_columns._FEW_BLOCKS, few_columns._FEW_BLOCKS + 1])
def test_all_variances_at_once_are_as_one_after_another(n_blocks, monkeypatch):
    rng = np.random.default_rng(0)
    noises, sizes = 0.1 + rng.random(n_blocks), np.ones(n_blocks)
    energies = noises * rng.chisquare(1, n_blocks)
    energies[:5] *= 100.0
    found = few_columns.shares_of_few(energies, noises, sizes)
    for few in (0, 1000):
        monkeypatch.setattr(few_columns, "_FEW_BLOCKS", few)
        np.testing.assert_array_equal(
            few_columns.shares_of_few(energies, noises, sizes), found)
