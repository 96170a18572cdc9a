"""Moments, and fits that begin with one, audited as they leave the oracles.

Here several releases make up one claim, so the statistic is the log likelihood ratio of all of
them, between a data set and its worst neighbor, over its standard deviation at the claimed
noise: normal with means half a `shift` above and below 0. Thresholds and levels are those of
the audits of fits.
"""

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from audit_settings import CLIP, EPSILON, LEVEL, RELEASES, N, gaussian_mu
from scipy.stats import chi2
from test_fits import DELTA, RUNS, normal_threshold

from dpsk import DPLinearRegression, DPLogisticRegression, DPMLPClassifier
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._queries.least_squares import LeastSquaresOracle
from dpsk._stages import (
    RowCentering,
    Shrinkage,
    WeightBound,
    center_rounds,
    centering,
    network_whitening,
    temperature_scaling,
    weight_bound,
    whitening,
)
from dpsk._stages.whitening import moment_budget
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.registry import make_problem

MU = gaussian_mu(EPSILON, DELTA)
#: What a whitened fit spends on the moment by its public rule; the steps get the rest.
MU_MOMENT = moment_budget(SimpleNamespace(epsilon=EPSILON, delta=DELTA))
MU_STEPS = np.sqrt(MU**2 - MU_MOMENT**2)
#: Cosine at which moment and gradients together reveal most of two rows, and how much.
SHARE = (MU_MOMENT / MU)**2
COSINE = max(-1.0, -(1 - SHARE) / (4 * SHARE))
MU_WHOLE = MU * np.sqrt(SHARE * (1 - COSINE**2) + (1 - SHARE) * (1 - COSINE) / 2)
STEPS, STEP = 3, 1e-3
#: How far a clipped row moves theta; the noise beside it.
REACH = STEP * STEPS * CLIP / N
THETA_STD = REACH / STEPS * np.sqrt(STEPS) * 2 * np.sqrt(STEPS) / MU_STEPS
MOMENT_STD = np.sqrt(2) / MU_MOMENT
JOINT_STD = np.sqrt(4.5) / MU
#: Share of the budget for the slopes in the temperature: the usual fiftieth is too little to see.
SLOPES_SHARE = 0.9
MU_SLOPES = np.sqrt(SLOPES_SHARE) * MU
#: Share for the mean of rows, and for counts of weights: the usual ones are too little to see.
MEAN_SHARE = 0.9
MU_MEAN = np.sqrt(MEAN_SHARE) * MU
#: The second moment before a network has a constant 1/2 in it, and here the same share.
NETWORK_MOMENT_STD = np.sqrt(2) * 1.25 / MU_MEAN


@pytest.fixture
def released(monkeypatch):
    """Return a list to which oracles add the moments that they answer with."""
    answers, best_factor = [], temperature_scaling.best_factor
    # Coefficients are those that were released, with their noise.
    monkeypatch.setattr(Shrinkage, "applies", lambda *given: False)

    def record(home, name, seen=lambda answer: answer):
        ask = getattr(home, name)

        def recorded(*args):
            answer = ask(*args)
            answers[:] = [seen(answer)]
            return answer

        monkeypatch.setattr(home, name, recorded)

    best_factor = temperature_scaling.best_factor

    def recorded_factor(oracle, penalty, theta):
        slopes = []
        seen = SimpleNamespace(
            noise_std=oracle.noise_std,
            gradient=lambda factor: slopes.append(oracle.gradient(factor)[0]) or slopes[-1:])
        factor = best_factor(seen, penalty, theta)
        answers[:] = [np.array(slopes), theta]
        return factor

    record(whitening, "noisy_second_moment")
    record(network_whitening, "noisy_second_moment")
    record(LeastSquaresOracle, "moments")
    record(centering, "noisy_mean", lambda answer: answer[0])
    record(center_rounds, "noisy_mean", lambda answer: answer[0])
    monkeypatch.setattr(temperature_scaling, "best_factor", recorded_factor)
    monkeypatch.setattr(temperature_scaling, "SLOPES_SHARE", SLOPES_SHARE)
    monkeypatch.setattr(centering, "MEAN_SHARE", MEAN_SHARE)
    # One mean of rows of norm 1: its bound is a choice, which is audited as such.
    monkeypatch.setattr(center_rounds, "ROW_MEAN_SHARES", (MEAN_SHARE, MEAN_SHARE))
    monkeypatch.setattr(center_rounds, "_n_rounds", lambda problem: 1)
    monkeypatch.setattr(center_rounds, "released_norm", lambda *given: 1.0)
    monkeypatch.setattr(network_whitening, "NETWORK_MOMENT_SHARE", MEAN_SHARE)
    record(weight_bound, "noisy_powers")
    monkeypatch.setattr(weight_bound, "WEIGHT_SHARES", (MEAN_SHARE, MEAN_SHARE))
    return answers


@dataclass(frozen=True)
class Case:
    """A data set, a neighbor and what is seen of a fit.

    Attributes
    ----------
    make : callable () -> estimator
    rows, neighbor : (X, y)
    statistic : callable (model, released, case) -> float
    shift : float
        Distance between the means of the statistic's two laws, of variance 1.
    mu : float
        The claim.
    is_sharp : bool
        Whether a third of the noise must break the claimed epsilon as well as mu.
    runs : int
        Fits on each data set.
    """

    make: callable
    rows: tuple
    neighbor: tuple
    statistic: callable
    shift: float
    mu: float
    is_sharp: bool = False
    runs: int = RUNS

    @property
    def epsilon(self):
        """The claim; a part of the budget is held to its mu alone."""
        return EPSILON if self.mu == MU else np.inf


def ratio(answer, rows, neighbor, std):
    """Return the log likelihood ratio of a normal answer between its two means."""
    return np.sum((answer - (rows + neighbor) / 2) * (rows - neighbor)) / std**2


def whitened(**params):
    return DPLogisticRegression(
        EPSILON, delta=DELTA, fit_intercept=False, precondition=True, solver="gd",
        clip_norm=CLIP, max_iter=STEPS, learning_rate=STEP,
        solver_options={"accelerate": False, "iterate": "last"}, **params)


def theta_of(model):
    return np.linalg.solve(model.preconditioner_, model.coef_.ravel())


def moment_ratio(model, released, case):
    sums = [X.T @ X for X, _ in (case.rows, case.neighbor)]
    return ratio(N * released[0], *sums, MOMENT_STD) / case.shift


def whole_ratio(model, released, case):
    # Of the gradients only that of row 0 does not cancel.
    images = [X[0] @ model.preconditioner_ for X, _ in (case.rows, case.neighbor)]
    means = [REACH * image / np.linalg.norm(image) for image in images]
    sums = [X.T @ X for X, _ in (case.rows, case.neighbor)]
    return (ratio(N * released[0], *sums, MOMENT_STD)
            + ratio(theta_of(model), *means, THETA_STD)) / case.shift


def joint_ratio(model, released, case):
    matrix, vector = released[0]
    squares = [X.T @ X for X, _ in (case.rows, case.neighbor)]
    products = [X.T @ y for X, y in (case.rows, case.neighbor)]
    return (ratio(matrix, *squares, JOINT_STD) + ratio(vector, *products, JOINT_STD)) / case.shift


def tempered():
    return DPLogisticRegression(
        EPSILON, delta=DELTA, fit_intercept=False, precondition=False, temperature=True,
        solver="gd", clip_norm=CLIP, max_iter=1, learning_rate=STEP, classes=[0, 1])


def slopes_ratio(model, released, case):
    # Of the scores only that of row 0 is not zero; its slopes are cut on either side.
    clip, std = slopes_clip_and_std(released)
    # Rows of label 1 pull towards scores of their own sign.
    toward = -np.sign(released[1][0]) * N * released[0].sum()
    return 2.0 * clip * toward / std**2 / case.shift


def slopes_clip_and_std(released):
    share = temperature_scaling.slope_clip(SimpleNamespace(usual_weight=1.0))
    clip = share * np.linalg.norm(released[1])
    # Four slopes, each moved by twice the clip.
    return clip, 4.0 * clip / MU_SLOPES


def centered():
    return DPMLPClassifier(
        EPSILON, delta=DELTA, hidden_layer_sizes=(), precondition=True, data_norm=1.0,
        solver="gd", clip_norm=CLIP, max_iter=1, learning_rate=STEP, classes=[0, 1])


class StageAlone:
    """A stage that releases something of rows, as an estimator."""

    solver = "gd"

    def __init__(self, make, weigh=None):
        self._make, self._weigh = make, weigh

    def fit(self, X, y):
        problem = make_problem(n_samples=N, n_features=2, epsilon=EPSILON, delta=DELTA)
        stage = self._make()
        session = Session(EntropyStream(), Ledger(stage.event(problem)))
        weights = None if self._weigh is None else self._weigh(y)
        stage.release(problem, Rows(X, y, weights), session)
        return self


def powers_ratio(model, released, case):
    # Labels 0 and 1 are weights 1 and 2: rows at the 64th and at the next power.
    counts = [np.bincount(64 + y, minlength=129) for _, y in (case.rows, case.neighbor)]
    return ratio(released[0], *counts, np.sqrt(2.0) / MU_MEAN) / case.shift


def mean_ratio(model, released, case):
    sums = [X.sum(axis=0) for X, _ in (case.rows, case.neighbor)]
    return ratio(N * released[0], *sums, 2.0 / MU_MEAN) / case.shift


def whitened_network():
    return DPMLPClassifier(
        EPSILON, delta=DELTA, hidden_layer_sizes=(), precondition="whitening", data_norm=1.0,
        solver="gd", clip_norm=CLIP, max_iter=1, learning_rate=STEP, classes=[0, 1])


def network_moment_ratio(model, released, case):
    sums = [X.T @ X for X, _ in (case.rows, case.neighbor)]
    return ratio(N * released[0][:2, :2], *sums, NETWORK_MOMENT_STD) / case.shift


def table(first, y):
    """Return rows of which only the first has a gradient that does not cancel."""
    X = np.zeros((N, 2))
    X[2:10, 0] = X[10:, 1] = 1.0
    X[0] = first
    return X, y


LABELS = np.arange(1, N + 1) % 2
ZEROS = np.zeros((N, 2))
ONES = np.where(np.arange(N) == 0, 1.0, 0.0)


def single(first):
    X = ZEROS.copy()
    X[0] = first
    return X


TURNED = (COSINE, np.sqrt(1 - COSINE**2))
CASES = {
    "moment": Case(whitened, table((1, 0), LABELS), table((0, 1), LABELS), moment_ratio,
                   MU_MOMENT, MU_MOMENT, runs=8000),
    "whole": Case(whitened, table((1, 0), LABELS), table(TURNED, LABELS), whole_ratio,
                  MU_WHOLE, MU, runs=1500),
    "slopes": Case(tempered, (single((1, 0))[:, :1], ONES), (single((1, 0))[:, :1], ZEROS[:, 0]),
                   slopes_ratio, MU_SLOPES, MU_SLOPES, runs=1500),
    "mean": Case(centered, (single((1, 0)), LABELS), (single((-1, 0)), LABELS), mean_ratio,
                 MU_MEAN, MU_MEAN, runs=1500),
    "row_mean": Case(partial(StageAlone, RowCentering), (single((1, 0)), LABELS),
                     (single((-1, 0)), LABELS), mean_ratio, MU_MEAN, MU_MEAN, runs=1500),
    # Targets are weights less 1.
    "weights": Case(partial(StageAlone, WeightBound, partial(np.add, 1.0)), (ZEROS, LABELS),
                    (ZEROS, np.where(ONES, 1 - LABELS, LABELS)), powers_ratio, MU_MEAN, MU_MEAN,
                    runs=1500),
    # What the constant costs is not seen in the block of the features.
    "network_moment": Case(whitened_network, (single((1, 0)), LABELS), (single((0, 1)), LABELS),
                           network_moment_ratio, MU_MEAN / 1.25, MU_MEAN, runs=4000),
    # The angle at which squares and products cost exactly the declared mu.
    "joint": Case(
        lambda: DPLinearRegression(EPSILON, delta=DELTA, fit_intercept=False,
                                   solver="sufficient_statistics"),
        (single((1, 0)), ONES), (single((0.5, np.sqrt(0.75))), -ONES), joint_ratio, MU, MU,
        is_sharp=True),
}
every_case = pytest.mark.parametrize("name", CASES)


def every(*names):
    """Return a mark of all cases, of which every run tries `names` and `make audit` all."""
    return pytest.mark.parametrize("name", [
        pytest.param(name, marks=() if name in names else pytest.mark.audit) for name in CASES])


def test_every_solver_listed_here_is_audited_here():
    assert {case.make().solver for case in CASES.values()} >= RELEASES


def measured(case, released):
    """Return lower bounds on epsilon and mu."""
    epsilon = EPSILON if case.is_sharp else -np.inf
    threshold = normal_threshold(case.shift, case.runs, DELTA, case.mu, epsilon)
    model, counts = case.make(), []
    for rows in (case.rows, case.neighbor):
        hits = sum(bool(case.statistic(model.fit(*rows), released, case) > threshold)
                   for _ in range(case.runs))
        counts += [hits, case.runs]
    bounds = (epsilon_lower_bound(*counts, delta=DELTA, level=LEVEL),
              mu_lower_bound(*counts, level=LEVEL))
    print(f"hits {counts[0]} and {counts[2]} of {case.runs}: epsilon >= {bounds[0]:.3f} of "
          f"{case.epsilon:.3f}, mu >= {bounds[1]:.3f} of {case.mu:.3f}")
    return bounds


@every()
def test_releases_stay_under_the_claim(name, released):
    epsilon, mu = measured(CASES[name], released)
    assert epsilon <= CASES[name].epsilon
    assert mu <= CASES[name].mu


# Every run tries the scale of the noise, which rejects a third of it as well.
@every()
def test_noise_cut_to_a_third_exceeds_the_claim(name, released, noise_times):
    noise_times(1 / 3)
    epsilon, mu = measured(CASES[name], released)
    assert epsilon > CASES[name].epsilon or not CASES[name].is_sharp
    assert mu > CASES[name].mu


def squared_lengths(name, released, fits):
    """Return the sum of squares of the noise over its calibrated scale, and its law."""
    model, total = CASES[name].make(), 0.0
    for _ in range(fits):
        model.fit(ZEROS, LABELS if name != "joint" else np.zeros(N))
        if name == "joint":
            matrix, vector = released[0]
            total += (np.square(matrix).sum() + np.square(vector).sum()) / JOINT_STD**2
        elif name == "slopes":
            total += np.square(N * released[0]).sum() / slopes_clip_and_std(released)[1]**2
        elif name in ("mean", "row_mean"):
            total += np.square(N * released[0]).sum() / (2.0 / MU_MEAN)**2
        elif name == "weights":
            counts = np.bincount(64 + LABELS, minlength=129)
            total += np.square(released[0] - counts).sum() / 2.0 * MU_MEAN**2
        elif name == "network_moment":
            total += np.square(N * released[0][:2, :2]).sum() / NETWORK_MOMENT_STD**2
        else:
            total += np.square(N * released[0]).sum() / MOMENT_STD**2
        if name == "whole":
            total += np.square(theta_of(model)).sum() / THETA_STD**2
    # There are four slopes; a symmetric matrix of size 2 has three coordinates.
    degrees = {"mean": 2, "row_mean": 2, "moment": 3, "network_moment": 3, "slopes": 4,
               "whole": 5, "joint": 5, "weights": 129}
    return total, chi2(fits * degrees[name])


def scale_is_accepted(name, released):
    """Test the noise of zero rows against its calibrated scale, two-sided, at level 1e-8."""
    total, law = squared_lengths(name, released, 250)
    return min(law.cdf(total), law.sf(total)) > 0.5e-8


@pytest.mark.covering(most=2)
@every_case
def test_noise_has_the_calibrated_scale(name, released):
    assert scale_is_accepted(name, released)


# Too much noise is no leak.
@pytest.mark.covering(most=2)
@every_case
@pytest.mark.parametrize("factor", [2 / 3, pytest.param(3 / 2, marks=pytest.mark.audit)])
def test_noise_of_another_scale_is_rejected(name, factor, released, noise_times):
    noise_times(factor)
    assert not scale_is_accepted(name, released)


@pytest.mark.audit
def test_moment_noise_of_another_scale_is_rejected_by_itself(released, monkeypatch):
    symmetric = samplers.symmetric_normal
    for factor in (2 / 3, 3 / 2):
        monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape, factor=factor:
                            factor * symmetric(stream, shape))
        assert not scale_is_accepted("moment", released)
        assert not scale_is_accepted("whole", released)
