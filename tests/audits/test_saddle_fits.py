"""Whole fits of the saddle estimators stay under the claim, and exceed it at weak noise.

One row alone has gradients: the others have no features, and those of the worst-group risk a
weight of next to nothing. Its neighbor is turned around, and in another group. Either is at
the clips of both blocks all the way, so each release that reads the row moves a statistic of
what was fitted by a known amount, up for one data set and down for the other. Thresholds, levels
and false-alarm rates are those of `test_fits`.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL, N, gaussian_mu
from scipy.stats import norm
from test_fits import DELTA, miss_probability

from dpsk import DPAUCMaximizer, DPGroupDROClassifier
from dpsk._solvers import SADDLE_SOLVERS
from dpsk.auditing import epsilon_lower_bound, mu_lower_bound
from tests.registry import ESTIMATORS, documented_solvers

#: Clips of the two blocks, and steps so short that no gradient turns.
CLIP, DUAL_CLIP, STEP, DUAL_STEP = 0.05, 0.2, 1e-3, 1e-3
LABELS = np.arange(1, N + 1) % 2
ALONE = np.where(np.arange(N) == 0, 1.0, 1e-20)
BATCH = 5


@dataclass(frozen=True)
class Case:
    """A fit, and how far each release moves the parameters where it reads the changed row.

    Attributes
    ----------
    make : callable () -> estimator
    primal, dual : tuple of float
        What each release adds to the coefficient, and to the difference of the groups' weights,
        in units of a clipped gradient over the batch.
    primal_noise, dual_noise : float
        Standard deviations of the same at noise multiplier 1.
    is_joint : bool
        Whether the two blocks read the same batch.
    """

    make: callable
    primal: tuple
    dual: tuple
    primal_noise: float
    dual_noise: float
    is_joint: bool

    @property
    def rate(self):
        """float : chance that a batch holds the row."""
        return (self.make().batch_size or N) / N

    @property
    def claim(self):
        """float : the mu of the whole fit, infinite where it is not a Gaussian mechanism."""
        return gaussian_mu(EPSILON, DELTA) if self.rate == 1.0 else np.inf

    @property
    def weights(self):
        """The two numbers that make the best statistic of the two blocks."""
        return [sum(block) / noise**2 if block else 0.0 for block, noise in
                ((self.primal, self.primal_noise), (self.dual, self.dual_noise))]

    def statistic(self, model):
        """Return the log likelihood ratio of the two blocks, but for a factor."""
        size = N * self.rate
        found = size * model.coef_[0, 0] / CLIP * self.weights[0]
        if self.dual:
            first, second = model.group_weights_
            found += size * (first - second) / DUAL_CLIP * self.weights[1]
        return found

    def scale(self, z):
        """Return the standard deviation of the statistic at noise multiplier `z`."""
        return z * np.hypot(self.weights[0] * self.primal_noise,
                            self.weights[1] * self.dual_noise)

    def means(self):
        """Yield the means of the statistic on the first data set, with their chances."""
        primal = [self.weights[0] * amount for amount in self.primal]
        dual = [self.weights[1] * amount for amount in self.dual]
        amounts = ([sum(pair) for pair in zip(primal, dual, strict=True)]
                   if self.is_joint and dual else primal + dual)
        for read in product((0, 1), repeat=len(amounts)):
            chances = [self.rate if one else 1.0 - self.rate for one in read]
            yield np.prod(chances), np.dot(read, amounts)

    def tail(self, t, z):
        """Return the chance that the statistic exceeds `t` on the first data set."""
        chances, means = np.transpose(list(self.means()))
        return chances @ norm.sf((t - means) / self.scale(z))


def falling(steps):
    return STEP * (1.0 - np.arange(steps) / steps)


def sgda(make, steps, share, has_dual, batch_size=None):
    primal = falling(steps)
    return Case(
        lambda: make(solver="sgda", max_iter=steps, batch_size=batch_size, solver_options={
            "dual_share": share, "momentum": 0.0, **_OPTIONS}),
        tuple(primal), (DUAL_STEP,) * (steps * has_dual),
        np.linalg.norm(primal) / np.sqrt(1.0 - share),
        DUAL_STEP * np.sqrt(2.0 * steps / share), True)


def privatediff(make, rounds, period, has_dual, batch_size=None):
    """Differences cost next to nothing here: the row's clipped gradient does not turn."""
    primal = falling(rounds).reshape(-1, period).sum(axis=1)
    return Case(
        lambda: make(solver="privatediff", max_iter=rounds, batch_size=batch_size,
                     solver_options={"period": period, "slopes": (1e-10, 1e-10),
                                     "difference_ratio": 1e3, **_OPTIONS}),
        tuple(primal), (DUAL_STEP,) * (rounds * has_dual), np.linalg.norm(primal),
        DUAL_STEP * np.sqrt(2.0 * rounds), False)


# A group of half of the rows has twice its dual gradient.
_OPTIONS = {"iterate": "last", "dual_clip_norm": DUAL_CLIP / 2, "dual_learning_rate": DUAL_STEP}


def auc(**params):
    return _made(DPAUCMaximizer, positive_ratio=0.5, loss="auc", **params)


def groups(**params):
    return _made(DPGroupDROClassifier, group_labels=[0, 1], group_shares={0: 0.5, 1: 0.5},
                 group_penalty=0.0, **params)


def _made(cls, **params):
    return cls(EPSILON, delta=DELTA, classes=[0, 1], precondition=False, fit_intercept=False,
               clip_norm=CLIP, learning_rate=STEP, **params)


#: The dual variable of the ranking loss stays inside the fit, so it gets little of the budget.
CASES = {
    "auc-sgda": sgda(auc, 2, 0.01, False),
    "auc-sgda-poisson": sgda(auc, 4, 0.01, False, BATCH),
    "auc-privatediff": privatediff(auc, 1, 1, False),
    "auc-privatediff-poisson": privatediff(auc, 4, 2, False, BATCH),
    "groups-sgda": sgda(groups, 2, 0.5, True),
    "groups-sgda-dual": sgda(groups, 2, 0.95, True),
    "groups-sgda-poisson": sgda(groups, 4, 0.5, True, BATCH),
    "groups-privatediff": privatediff(groups, 2, 2, True),
    "groups-privatediff-poisson": privatediff(groups, 4, 2, True, BATCH),
}


def table(sign):
    """Return rows of which the first alone says something, their labels, and their groups."""
    X = np.zeros((N, 1))
    X[0] = sign
    members = np.arange(N) % 2
    members[0] = int(sign < 0)
    return X, LABELS, members


def fitted(case, sign):
    X, y, members = table(sign)
    model = case.make()
    if isinstance(model, DPAUCMaximizer):
        return model.fit(X, y)
    return model.fit(X, y, sample_weight=ALONE, groups=members)


def statistics(name, runs):
    """Return the statistics of many fits on either data set."""
    return [np.array([CASES[name].statistic(fitted(CASES[name], sign)) for _ in range(runs)])
            for sign in (1.0, -1.0)]


def threshold(name, runs, cut, epsilon):
    """Return what a statistic must exceed, for the test that best notices weak noise.

    Parameters
    ----------
    name : str
    runs : int
    cut : float
        Share of the noise at which the test must notice.
    epsilon : float
        What must be exceeded then beside the claimed mu; -inf for mu alone.
    """
    case = CASES[name]
    z = fitted(case, 1.0).privacy_.noise_multiplier

    def miss(t):
        p, q = case.tail(t, z * cut), 1.0 - case.tail(-t, z * cut)
        return miss_probability(p, q, runs, DELTA, case.claim, epsilon)

    best = min(case.scale(z) * np.linspace(-0.5, 1.5, 41), key=miss)
    assert miss(best) < 1e-8
    return best


def bounds(name, found, above):
    """Return lower bounds on epsilon and mu, the latter 0 where no claim is made of it."""
    claim, runs = CASES[name].claim, len(found[0])
    hits = [int(np.sum(one > above)) for one in found]
    counts = (hits[0], runs, hits[1], runs)
    epsilon = epsilon_lower_bound(*counts, delta=DELTA, level=LEVEL)
    mu = mu_lower_bound(*counts, level=LEVEL) if claim < np.inf else 0.0
    print(f"{name}: hits {hits} of {runs}: epsilon >= {epsilon:.3f} of {EPSILON}, "
          f"mu >= {mu:.3f} of {claim:.3f}")
    return epsilon, mu


#: Fits on each data set in `make test`, the share of the noise at which they must notice, and
#: the epsilon that they must notice.
CORE = {"auc-sgda": (1200, 1 / 3, -np.inf), "groups-privatediff": (800, 1 / 6, EPSILON)}


def test_every_estimator_with_every_saddle_solver_is_audited():
    audited = {(type(case.make()), case.make().solver) for case in CASES.values()}
    assert audited == {(cls, solver) for cls in ESTIMATORS.values()
                       for solver in documented_solvers(cls) & set(SADDLE_SOLVERS)}
    # One of each is in every run, and both kinds of batches are among the others.
    for part in (0, 1):
        assert {pair[part] for pair in audited} == {
            (type(CASES[name].make()), CASES[name].make().solver)[part] for name in CORE}
    assert {CASES[name].rate == 1.0 for name in CASES} == {True, False}


@pytest.mark.audit
@pytest.mark.parametrize("name", CORE)
def test_fits_stay_under_the_claim(name):
    found = statistics(name, CORE[name][0])
    epsilon, mu = bounds(name, found, threshold(name, *CORE[name]))
    assert epsilon <= EPSILON and mu <= CASES[name].claim


@pytest.mark.audit
@pytest.mark.parametrize("name", CORE)
def test_noise_cut_to_its_share_exceeds_the_claim(name, noise_times):
    above = threshold(name, *CORE[name])
    noise_times(CORE[name][1])
    epsilon, mu = bounds(name, statistics(name, CORE[name][0]), above)
    assert epsilon > CORE[name][2] and mu > CASES[name].claim


@pytest.mark.audit
@pytest.mark.parametrize("name", CASES)
def test_many_fits_stay_under_the_claim_and_weak_noise_exceeds_it(name, noise_times):
    """A third of the noise exceeds the mu of full batches, a sixth every epsilon."""
    runs, claim = 5_000, CASES[name].claim
    tests = [(1 / 6, EPSILON)] + [(1 / 3, -np.inf)] * (claim < np.inf)
    limits = [threshold(name, runs, *test) for test in tests]
    found = statistics(name, runs)
    for above in limits:
        epsilon, mu = bounds(name, found, above)
        assert epsilon <= EPSILON and mu <= claim
    for above, (cut, least) in zip(limits, tests, strict=True):
        noise_times(cut)
        epsilon, mu = bounds(name, statistics(name, runs), above)
        assert epsilon > least and (mu > claim or claim == np.inf)


@pytest.mark.parametrize("name", CASES)
def test_the_statistic_has_the_law_that_thresholds_rest_on(name, noise_times):
    """Without noise a fit is at one of the means that its law is made of, on either side."""
    noise_times(0.0)
    case = CASES[name]
    for sign in (1.0, -1.0):
        found = sign * case.statistic(fitted(case, sign))
        means = [mean for _, mean in case.means()]
        assert np.min(np.abs(np.array(means) - found)) < 1e-3 * max(means)
        if case.rate == 1.0:
            assert found == pytest.approx(max(means), rel=1e-3)
