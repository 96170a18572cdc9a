"""The claim of one fit of a network, by brute force, and that its noise is what is declared.

One row alone has features, so long that its gradient is at the clip all the way, and its
neighbor is turned around: the first weight moves by the clip norm a step, up or down.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from dpsk import DPAUCMaximizer, DPMLPClassifier, DPMLPRegressor, _fit
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._stages import TargetMean
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.registry import coefficients

N, CLIP, STEPS, STEP, EPSILON, DELTA = 20, 0.05, 3, 1e-3, 1.0, 1e-3
#: Error probability of each Clopper-Pearson limit, and of every test of the noise.
LEVEL = 5e-8
PLAIN = {"iterate": "last", "momentum": 0.0, "decay": False}
SOLVERS = {"gd": {"solver_options": {"iterate": "last"}},
           "sgd": {"batch_size": N, "solver_options": PLAIN},
           "rrpsgd": {"batch_size": N, "solver_options": {"rounds": STEPS}}}


def make(solver, cls=DPMLPClassifier, hidden=(), **params):
    return cls(EPSILON, delta=DELTA, hidden_layer_sizes=hidden, solver=solver, max_iter=STEPS,
               clip_norm=CLIP, precondition=False,
               **{"learning_rate": STEP, **SOLVERS[solver], **params})


def rows(sign):
    """Return rows of which only the first has features, and targets; neighbors by `sign`."""
    X = np.zeros((N, 2), np.float32)
    X[0] = sign * 1e4, 0.0
    return X, np.arange(1, N + 1) % 2


# The scale of the noise, of which every run tries more, is below.
@pytest.mark.audit
@pytest.mark.parametrize("share, holds", [(1.0, True), (1 / 3, False)])
@pytest.mark.parametrize("solver", ["sgd"])
def test_fits_stay_under_the_claim_and_weak_noise_exceeds_it(solver, share, holds, noise_times):
    """Full batches are exactly mu-GDP. A sound fit fails with probability below 1e-7."""
    noise_times(share)
    runs, mu = 800, gaussian_mu(EPSILON, DELTA)
    # The mean of one of the data sets.
    threshold = STEP * STEPS * CLIP / N
    hits = []
    for sign in (1, -1):
        X, y = rows(sign)
        found = [make(solver).fit(X, y).coefs_[0][0, 0] for _ in range(runs)]
        hits.append(int(np.sum(np.array(found) > threshold)))
    epsilon = epsilon_lower_bound(hits[0], runs, hits[1], runs, delta=DELTA, level=LEVEL)
    lower = mu_lower_bound(hits[0], runs, hits[1], runs, level=LEVEL)
    print(f"{solver} x {share:.2f}: hits {hits}, epsilon >= {epsilon:.2f}, mu >= {lower:.3f} of "
          f"{mu:.3f}")
    assert (lower <= mu) == holds
    assert not holds or epsilon <= EPSILON


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("cls, hidden", [
    (DPMLPClassifier, (6, 5)), (DPMLPRegressor, ()),
    *[pytest.param(cls, hidden, marks=pytest.mark.audit)
      for cls, hidden in ((DPMLPClassifier, ()), (DPMLPRegressor, (6, 5)))]])
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_the_noise_in_the_weights_is_what_is_declared(solver, cls, hidden, monkeypatch):
    """Rows of weight near 0 show nothing, so that a fit is noise alone; chi-square at 1e-7."""
    X, y = rows(1)
    X[0] = 0.0
    X[1] = 0.1
    # From zero, where nothing is learnt, so that what is left of a fit is its noise.
    monkeypatch.setattr(_fit, "standard_normal", lambda stream, shape: np.zeros(shape))
    # The mean has noise of its own.
    monkeypatch.setattr(TargetMean, "applies", lambda *given: False)
    noise_has_its_scale(lambda: make(solver, cls, hidden, learning_rate=1.0), np.sqrt(STEPS), X, y)


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("solver, options, factor", [
    ("sgda", {"dual_share": 0.3, "momentum": 0.0}, 1 / np.sqrt(0.7)),
    ("privatediff", {"period": 1}, 1.0)])
def test_the_noise_in_the_weights_of_a_network_that_ranks(solver, options, factor, monkeypatch):
    X, y = rows(1)
    X[0] = 0.0
    X[1] = 0.1
    monkeypatch.setattr(_fit, "standard_normal", lambda stream, shape: np.zeros(shape))

    def make_ranking():
        return DPAUCMaximizer(EPSILON, delta=DELTA, hidden_layer_sizes=(6, 5), loss="auc",
                              solver=solver, max_iter=STEPS, clip_norm=CLIP, learning_rate=1.0,
                              positive_ratio=0.5, batch_size=N, precondition=False,
                              solver_options={"iterate": "last", **options})

    # Steps that fall to zero.
    falling = np.linalg.norm(1.0 - np.arange(STEPS) / STEPS)
    noise_has_its_scale(make_ranking, factor * falling, X, y)


def noise_has_its_scale(make_model, steps, X, y):
    """Check the noise in 150 fits on rows that say nothing against its declared scale.

    Parameters
    ----------
    make_model : callable () -> estimator
    steps : float
        Root of the sum of squared steps.
    X, y : ndarray
    """
    total, count = 0.0, 0
    for _ in range(150):
        model = make_model().fit(X, y, sample_weight=np.full(N, 1e-20))
        moved = coefficients(model) / (model.privacy_.noise_multiplier * CLIP / N * steps)
        total, count = total + np.sum(np.square(moved, dtype=float)), count + moved.size
    print(f"{model}: variance ratio {total / count:.4f} of {count}")
    assert chi2(count).sf(total) > LEVEL and chi2(count).cdf(total) > LEVEL
    # Two thirds of the noise, or three halves, would not pass.
    for factor in (4 / 9, 9 / 4):
        assert min(chi2(count).sf(factor * count), chi2(count).cdf(factor * count)) < LEVEL
