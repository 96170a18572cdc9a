"""Worst cases with a known law: for each solver, settings under which its claim is attained.

In every data set the changed row is the only one whose gradient has a component along the
direction `u`, and its gradient is longer than the clip norm all the way, so each step moves
the statistic ``theta . u`` by exactly the clip norm, up for one data set and down for its
neighbor. Its law is then known in closed form, in the unit of that total movement.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binom, gamma, norm
from scipy.stats import laplace as laplace_law

from dpsk import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
)

N = 20
CLIP = 0.05
EPSILON = 1.0
#: Error probability of each Clopper-Pearson limit; a bound rests on two of them.
LEVEL = 5e-8


@dataclass(frozen=True)
class Setting:
    """How one solver is audited.

    Attributes
    ----------
    params : dict
        Parameters of the estimator, delta included.
    unit : float
        How far the changed row moves the statistic from where it would be without it.
    tail : callable (t, z, dimension) -> float
        Probability that the statistic over `unit` exceeds `t` on the data set, at noise
        multiplier `z`; the neighbor's law is its mirror image.
    noise : callable (z) -> float
        Scale of the noise in each coordinate of theta.
    is_gaussian : bool
        Whether the whole fit is exactly mu-GDP.
    law : {"normal", "gamma", "laplace"}
        Law of the noise: normal in each coordinate, Laplace in each, or with density
        proportional to ``exp(-length)``.
    cut : float
        Share of its noise with which the fit must exceed its claim: a third, or what a quarter
        of the time shows.
    runs : int
        Fits on each data set that every test run makes.
    families : tuple of str
        Of FAMILIES, those that every test run audits; `make audit` tries all.
    """

    params: dict
    unit: float
    tail: callable
    noise: callable
    is_gaussian: bool = False
    law: str = "normal"
    cut: float = 1 / 3
    runs: int = 4_000
    families: tuple = ()

    @property
    def is_pure(self):
        return self.params["delta"] == 0


def gd(delta, steps=4, step=1e-3, **options):
    """Plain steps, last iterate: the sum of all answers, a sufficient statistic."""
    params = dict(solver="gd", delta=delta, max_iter=steps, learning_rate=step,
                  precondition=False, solver_options={"accelerate": False, "iterate": "last",
                                                      **options})
    return Setting(
        params, step * steps * CLIP / N,
        lambda t, z, dimension: norm.sf((t - 1) * np.sqrt(steps) / z),
        lambda z: step * np.sqrt(steps) * z * CLIP / N, is_gaussian=True,
        families=("squared",))


def newton(delta, step=1e-3):
    """One gradient, with all of the budget; Hessians are audited in test_curvature_releases."""
    params = dict(solver="newton", delta=delta, max_iter=1, learning_rate=step,
                  precondition=False)
    return Setting(params, step * CLIP / N, lambda t, z, dimension: norm.sf((t - 1) / (2 * z)),
                   lambda z: 2 * step * z * CLIP / N, is_gaussian=True, runs=4_000,
                   families=("logistic",))


def sgd(delta, steps=8, batch_size=5, step=1e-3, solver="sgd", families=("huber",),
        cut=1 / 4, runs=2_000, **options):
    """Poisson batches: the row enters a binomial number of them."""
    rate = batch_size / N
    params = dict(solver=solver, delta=delta, max_iter=steps, learning_rate=step,
                  batch_size=batch_size, precondition=False,
                  solver_options=options or {"iterate": "last"})
    counts = np.arange(steps + 1)
    weights = binom.pmf(counts, steps, rate)
    return Setting(
        params, step * steps * CLIP / batch_size,
        lambda t, z, dimension: weights @ norm.sf((t - counts / steps) * np.sqrt(steps) / z),
        lambda z: step * np.sqrt(steps) * z * CLIP / batch_size, cut=cut, runs=runs,
        families=families)


def threshold(delta, solver="stgd", steps=2, batches=1, step=1e-3, families=("logistic",)):
    """Checked gradients: the row shows where its half answers, and it is in either half.

    It shows in about half of the answers, so the claim is far from attained. With Laplace noise
    one step is made, whose statistic has a Laplace law.
    """
    pure, size = delta == 0, N // (2 * batches)
    draw = laplace_law if pure else norm
    params = dict(solver=solver, delta=delta, max_iter=steps * batches, learning_rate=step,
                  solver_options={"iterate": "last"})
    if solver == "minibatch_stgd":
        params["batch_size"] = N // batches
    # All batches make noise; the row's own makes `steps` of them.
    spread = np.sqrt(steps * batches)

    def tail(t, z, dimension):
        declared = multiplier(delta, steps)
        fires = draw.sf((3 * declared - 1) / (4 * z))
        counts = np.arange(steps + 1)
        weights = 0.5 * (binom.pmf(counts, steps, fires) + binom.pmf(counts, steps, 1 - fires))
        return weights @ draw.sf((t - counts / steps) * steps / (z * spread))

    return Setting(params, step * steps * CLIP / size, tail,
                   lambda z: step * spread * z * CLIP / size,
                   law="laplace" if pure else "normal", cut=1 / 20, runs=1_000,
                   families=families)


def multiplier(delta, steps):
    """Return the noise of checked answers over the clip norm, by the theory."""
    if delta == 0:
        return 2.5 * steps / EPSILON
    return np.sqrt(4.25 * steps) / gaussian_mu(EPSILON, delta)


def anchored(solver, delta, lengths, share=0.9, step=1e-3):
    """Anchors: clipped gradients that do not turn have no differences but their small noise.

    An epoch moves the statistic by the average of its steps' progress (and, where the next one
    goes on from its last iterate, by all of it), along one noisy gradient.
    """
    steps, epochs, rate = sum(lengths), len(lengths), 5 / N
    params = dict(solver=solver, delta=delta, max_iter=steps, learning_rate=step, batch_size=5,
                  precondition=False, solver_options={"epochs": epochs, "anchor_share": share})
    skipped = epochs if solver == "svrg" else 1
    odds = share / (1 - share)
    ratio = np.sqrt(epochs / (odds * (steps - skipped))) / rate
    weights = np.array([(length + 1) / 2 for length in lengths])
    if solver == "svrgpp":
        weights[:-1] = lengths[:-1]
    unit, spread = step * CLIP / N * weights.sum(), step * CLIP / N * np.linalg.norm(weights)
    return Setting(params, unit,
                   lambda t, z, dimension: norm.sf((t - 1) * unit / (ratio * z * spread)),
                   lambda z: ratio * z * spread, cut=1 / 4, runs=2_000, families=("hinge",))


def accmd(delta, steps=3, step=1e-3):
    """Mirror steps well inside a wide ball: a weighted sum of the answers."""
    params = dict(solver="accmd", delta=delta, max_iter=steps, penalty="l2_ball", radius=10.0,
                  learning_rate=step / 100.0)
    # How far each answer of unit size has moved the result at the end.
    mirrored, point = np.zeros(steps), np.zeros(steps)
    for k in range(steps):
        mirrored[k] = step * (k + 2) / 4
        point += 2 / (k + 2) * (mirrored - point)
    unit, spread = CLIP / N * point.sum(), CLIP / N * np.linalg.norm(point)
    return Setting(params, unit, lambda t, z, dimension: norm.sf((t - 1) * unit / (z * spread)),
                   lambda z: z * spread, is_gaussian=True, cut=1 / 4, runs=2_000,
                   families=("logistic",))


def last_iterate(delta, alpha=0.5, steps=6, step=1e-3):
    """Noisy steps that contract: the shift and the noise fade alike, so the price is attained."""
    params = dict(solver="last_iterate", delta=delta, alpha=alpha, max_iter=steps,
                  learning_rate=step)
    shares = (1 - step * alpha)**np.arange(steps)
    unit, spread = step * CLIP / N * shares.sum(), step * CLIP / N * np.linalg.norm(shares)
    return Setting(params, unit, lambda t, z, dimension: norm.sf((t - 1) * unit / (z * spread)),
                   lambda z: z * spread, is_gaussian=True, cut=1 / 4, runs=2_000,
                   families=("hinge",))


def output_perturbation(delta, alpha, steps=4, step=0.5, families=()):
    """Noiseless steps on a linear loss and a ridge: the sensitivity is attained."""
    params = dict(solver="output_perturbation", delta=delta, alpha=alpha, max_iter=steps,
                  learning_rate=step, precondition="auto" if delta == 0 else False)
    unit = step * CLIP / N * sum((1 - step * alpha)**k for k in range(steps))
    if delta == 0:
        def tail(t, z, dimension):
            return spherical_tail((t - 1) / (2 * z), dimension)
    else:
        def tail(t, z, dimension):
            return norm.sf((t - 1) / (2 * z))
    return Setting(params, unit, tail, lambda z: 2 * unit * z, is_gaussian=delta > 0,
                   law="gamma" if delta == 0 else "normal",
                   runs=2_500 if delta == 0 else 4_000, families=families)


def certified(delta, alpha=0.5, tolerance=1e-3):
    """The minimizer of a linear loss and a ridge, with the distance that certifies it."""
    params = dict(solver="output_perturbation", delta=delta, alpha=alpha, precondition=False)
    unit = CLIP / (N * alpha)
    return Setting(params, unit,
                   lambda t, z, dimension: norm.sf((t - 1) / (2 * z * (1 + tolerance))),
                   lambda z: 2 * unit * z * (1 + tolerance), is_gaussian=True,
                   cut=1 / 4, runs=2_000, families=("poisson",))


def objective_perturbation(delta, alpha=0.5, families=()):
    """The minimizer of a linear loss and a ridge: noise in the objective shows undiminished.

    The tolerance is so fine that the second noise vanishes beside the first.
    """
    params = dict(solver="objective_perturbation", delta=delta, alpha=alpha, precondition=False,
                  solver_options={"ridge": alpha, "tolerance": 1e-9})
    unit = CLIP / (N * alpha)
    if delta == 0:
        def tail(t, z, dimension):
            return spherical_tail((t - 1) / z, dimension)
    else:
        def tail(t, z, dimension):
            return norm.sf((t - 1) / z)
    return Setting(params, unit, tail, lambda z: unit * z,
                   law="gamma" if delta == 0 else "normal", families=families)


#: For every solver, its settings as functions of delta. A new solver needs an entry.
SETTINGS = {
    "accmd": {"ball": accmd},
    "gd": {"plain": gd},
    "newton": {"gradient": newton},
    "sgd": {"poisson": sgd},
    # A number of rounds that is given stands for one that was drawn.
    "rrpsgd": {"rounds": lambda delta: sgd(delta, steps=4, solver="rrpsgd", rounds=4, cut=1 / 6,
                                           runs=1_000, families=("poisson",))},
    "stgd": {"gaussian": threshold,
             "pure": lambda delta: threshold(0.0, steps=1, families=("hinge",))},
    "minibatch_stgd": {"gaussian": lambda delta: threshold(
        delta, "minibatch_stgd", steps=1, batches=2, families=("logistic",))},
    "svrg": {"anchors": lambda delta: anchored("svrg", delta, (2, 2))},
    "svrgpp": {"anchors": lambda delta: anchored("svrgpp", delta, (2, 4))},
    "last_iterate": {"ridge": last_iterate},
    # With delta > 0 its law is further from its claim: audited in test_objective.
    "objective_perturbation": {
        "pure": lambda delta: objective_perturbation(0.0, families=("logistic",))},
    "output_perturbation": {
        "ridge": lambda delta: output_perturbation(delta, alpha=0.5, families=("huber",)),
        "pure": lambda delta: output_perturbation(0.0, alpha=0.0, families=("logistic",)),
        "certified": certified,
    },
}

#: Solvers whose releases are audited as they leave the oracle, in test_releases.
RELEASES = {"sufficient_statistics"}
#: Solvers whose choices are audited as they leave the oracle, in test_choices.
CHOICES = {"frank_wolfe"}


def audits(solver):
    """Return the (setting name, family name) pairs of a solver, those of every run first."""
    pairs = []
    for name, make in SETTINGS[solver].items():
        setting = make(1e-3)
        for family, data in FAMILIES.items():
            if accepts(data, setting):
                pairs.append((name, family, family in setting.families))
    return pairs


def accepts(data, setting):
    """Whether the estimator of a family takes the solver of a setting."""
    try:
        data.make(**setting.params).fit(*data.rows)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Family:
    """An estimator with a data set and its neighbor.

    Attributes
    ----------
    make : callable (**params) -> estimator
    rows, neighbor : (X, y)
    direction : ndarray
        Unit vector along minus the changed row's gradient in `rows`.
    """

    make: callable
    rows: tuple
    neighbor: tuple
    direction: np.ndarray

    def statistic(self, model):
        theta = model.coef_.ravel()
        if model.fit_intercept:
            theta = np.append(theta, model.intercept_)
        return theta @ self.direction


def _opposite_rows(cls, y, sign=1.0):
    """Features turned around, target kept; the other rows are orthogonal."""
    X = np.tile([0.0, 1.0], (N, 1))
    X[0] = 1.0, 0.0
    turned = X.copy()
    turned[0] = -1.0, 0.0
    return Family(
        lambda **params: cls(EPSILON, fit_intercept=False, clip_norm=CLIP, **params),
        (X, y), (turned, y), np.array([sign, 0.0]))


def _opposite_targets(cls):
    """Target turned around, with an intercept; the other rows are orthogonal to (x, 1)."""
    X = np.tile([-1.0, 0.0], (N, 1))
    X[0] = 1.0, 0.0
    y = np.where(np.arange(N) % 2, -1.0, 1.0)
    turned = y.copy()
    turned[0] = -1.0
    return Family(lambda **params: cls(EPSILON, clip_norm=CLIP, data_norm=1.0, **params),
                  (X, y), (X, turned), np.array([1.0, 0.0, 1.0]) / np.sqrt(2))


_LABELS = np.arange(1, N + 1) % 2
FAMILIES = {
    "logistic": _opposite_rows(DPLogisticRegression, _LABELS),
    "hinge": _opposite_rows(DPLinearSVC, _LABELS),
    "huber": _opposite_targets(DPHuberRegressor),
    "squared": _opposite_targets(DPLinearRegression),
    "ridge": _opposite_targets(lambda *args, **params: DPRidge(*args, **{"alpha": 0.0,
                                                                         **params})),
    # Targets of 0, which the mean of exp(0) overshoots by as much as anything can.
    "poisson": _opposite_rows(DPPoissonRegressor, np.zeros(N), sign=-1.0),
}


def spherical_tail(t, dimension):
    """Tail of one coordinate of a vector with density proportional to ``exp(-||z||)``."""
    if t < 0:
        return 1.0 - spherical_tail(-t, dimension)
    power = dimension - 2

    def integrand(angle):
        return gamma.sf(t / np.cos(angle), dimension) * np.sin(angle)**power

    total = quad(lambda angle: np.sin(angle)**power, 0, np.pi)[0]
    return quad(integrand, 0, np.pi / 2)[0] / total


def gaussian_mu(epsilon, delta):
    """The mu whose (epsilon, delta) curve passes through this point, by its definition."""
    def excess(mu):
        return (norm.cdf(mu / 2 - epsilon / mu)
                - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta)

    return brentq(excess, 1e-2, 1e2, xtol=1e-14)
