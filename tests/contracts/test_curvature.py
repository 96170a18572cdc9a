"""Noisy Hessians: bounded row by row, exact where sums are, and enough for Newton's method."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPLogisticRegression
from dpsk._data.source import Rows
from dpsk._defaults.auto import auto_solver
from dpsk._defaults.newton import hessians_are_sharp, newton_steps
from dpsk._mechanism.sensitivity import Noise, rounding_margin
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel, WhitenedModel
from dpsk._objective.losses import LOSSES
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._queries import Curvatures
from dpsk._solvers.second_order.newton import NewtonDescent
from dpsk._sums.linear_sums import float_sums, grid_sums, whitened_grid_sums
from dpsk.testing import NoiseSeed
from tests.registry import make_loss, make_problem, make_targets

_N, _P = 60, 4
SCALAR = sorted(name for name, cls in LOSSES.items()
                if make_loss(name).convex and not cls.vector_output)
KINDS = ("float", "grid", "whitened")
every_kind = pytest.mark.parametrize("kind", KINDS)


def _sums(kind, loss, X, y, weights=None, clip_norm=0.3, weight_bound=4.0):
    plain = LinearModel(_P, None, True, 1.0)
    rows = Rows(X, y, weights, weight_bound)
    if kind == "float":
        return float_sums(plain, loss, rows, clip_norm)
    if kind == "grid":
        return grid_sums(plain, loss, rows, clip_norm, 36)
    matrix = np.linalg.qr(np.random.default_rng(5).normal(size=(_P + 1, _P + 1)))[0]
    matrix = np.rint((matrix * [2.0, 1.0, 0.5, 0.3, 1.0]) * 2.0**22) * 2.0**-22
    return whitened_grid_sums(WhitenedModel.of(plain, matrix), loss, rows, clip_norm)


def _table(name, seed=0, n=_N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, _P)) * 10.0 ** rng.integers(-6, 3, size=(n, 1))
    return X, make_targets(name, n, rng), rng.uniform(0.0, 5.0, size=n)


@pytest.mark.covering
@every_kind
@pytest.mark.parametrize("name", SCALAR)
def test_no_row_adds_more_than_its_bound(kind, name):
    """Each row by itself, of any length: its matrix has no negative eigenvalue and a small one."""
    X, y, weights = _table(name)
    for bound in (1e-3, 0.2):
        for i in range(_N):
            sums = _sums(kind, make_loss(name), X[i:i + 1], y[i:i + 1], weights[i:i + 1])
            allowed, _ = sums.curvature_bound(bound)
            for theta in (np.zeros(_P + 1), np.full(_P + 1, 3.0)):
                values = np.linalg.eigvalsh(sums.curvature(theta, bound))
                assert values[-1] <= allowed and values[0] >= -1e-12 * bound
                assert np.sum(values > 1e-9 * bound) <= 1


@every_kind
def test_rows_that_are_read_again_are_as_they_were(kind):
    X, y, weights = _table("logistic")
    sums, theta = _sums(kind, make_loss("logistic"), X, y, weights), np.full(_P + 1, 0.3)
    gradient, curvature = sums.gradient(theta), sums.curvature(theta, 0.2)
    sums.gradient(-theta)
    np.testing.assert_array_equal(sums.curvature(theta, 0.2), curvature)
    np.testing.assert_array_equal(sums.gradient(theta), gradient)


@every_kind
def test_long_rows_keep_the_bound_where_squares_of_their_scales_have_few_bits(kind):
    for exponent in np.linspace(152.0, 158.0, 60):
        X = np.array([[10.0**exponent, 0.0, 0.0, 0.0]])
        sums = _sums(kind, make_loss("logistic"), X, np.ones(1), clip_norm=10.0)
        found = np.linalg.norm(sums.curvature(np.zeros(_P + 1), 1e-14))
        assert found <= sums.curvature_bound(1e-14)[0]


@every_kind
@pytest.mark.parametrize("name", [name for name in SCALAR if not make_loss(name).piecewise])
def test_without_clips_it_is_the_hessian(kind, name):
    X, y, weights = _table(name)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    sums = _sums(kind, make_loss(name), X, y, weights, clip_norm=20.0)
    theta = 0.1 * np.ones(_P + 1)
    found, wanted = sums.curvature(theta, 1e3), np.zeros((_P + 1, _P + 1))
    for i, step in enumerate(1e-2 * np.eye(_P + 1)):
        # Two differences cancel what third derivatives leave of one.
        one, two = (sums.gradient(theta + k * step) - sums.gradient(theta - k * step)
                    for k in (1, 2))
        wanted[i] = (8.0 * one - two) / 12e-2
    share = 0.2 if "poisson" in name else 1e-2
    np.testing.assert_allclose(found, wanted, rtol=0, atol=share * np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["grid", "whitened"])
def test_sums_are_exact_in_any_order_and_container(kind):
    X, y, weights = _table("logistic", n=5000)
    order = np.random.default_rng(1).permutation(5000)
    theta = np.linspace(-1.0, 1.0, _P + 1)
    loss = make_loss("logistic")
    first = _sums(kind, loss, X, y, weights).curvature(theta, 0.1)
    for other in (_sums(kind, loss, X[order], y[order], weights[order]),
                  _sums(kind, loss, np.asfortranarray(X), y, weights)):
        np.testing.assert_array_equal(other.curvature(theta, 0.1), first)
    whole = np.abs(X) > 0.01
    dense = _sums(kind, loss, X * whole, y, weights).curvature(theta, 0.1)
    csr = _sums(kind, loss, sparse.csr_matrix(X * whole), y, weights).curvature(theta, 0.1)
    np.testing.assert_allclose(csr, dense, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_a_gradient_beside_a_curvature_has_the_bits_of_one_alone(container):
    X, y, weights = _table("logistic", n=5000)
    X[::7] *= 100.0
    loss, points = make_loss("logistic"), np.random.default_rng(2).normal(size=(2, _P + 1))

    def opened():
        return _sums("whitened", loss, container(X), y, weights, clip_norm=0.3)

    alone, beside = opened(), opened()
    for at, asked in ((0, 0), (0, 1), (1, 1)):
        beside.curvature(points[at], 0.1)
        for _ in range(2):
            np.testing.assert_array_equal(beside.gradient(points[asked]),
                                          alone.gradient(points[asked]))


def test_a_grid_sum_is_that_of_its_rows():
    X, y, weights = _table("logistic", n=300)
    theta, loss = np.linspace(-1.0, 1.0, _P + 1), make_loss("logistic")
    sums = _sums("grid", loss, X, y, weights)
    total = [[Fraction(0)] * (_P + 1) for _ in range(_P + 1)]
    unit = sums.entry._products_unit(0.1)
    for part in map(sums.entry.take, sums.entry.blocks()):
        roots = np.sqrt(sums._curvatures(sums.entry.point(theta), part, 0.1)[0]) / unit
        for row, root, scale in zip(part[0], roots, part[2], strict=True):
            entries = [Fraction(float(np.trunc(value * (root * scale)))) for value in row]
            entries.append(Fraction(float(np.trunc(root))))
            for i, left in enumerate(entries):
                for j, right in enumerate(entries):
                    total[i][j] += left * right
    exact = np.array([[float(value) for value in line] for line in total]) * unit**2
    np.testing.assert_array_equal(sums.curvature(theta, 0.1), exact)


@every_kind
def test_replaced_rows_move_a_sum_by_no_more_than_is_priced(kind):
    """Rows at right angles attain it but for head-room."""
    loss, bound = make_loss("logistic"), 0.05
    X = np.eye(_P)[[0, 1]] * [[1.0], [1.0]]
    y, theta, moved = np.ones(1), np.zeros(_P + 1), []
    for left, right in ((X[:1], X[1:]), (X[:1], -X[:1]), (1e-3 * X[:1], X[:1])):
        matrices = [_sums(kind, loss, rows, y, clip_norm=10.0).curvature(theta, bound)
                    for rows in (left, right)]
        moved.append(np.linalg.norm(matrices[0] - matrices[1]))
    largest = _sums(kind, loss, X[:1], y, clip_norm=10.0).curvature_bound(bound)[0]
    assert max(moved) <= np.sqrt(2.0) * largest


def _oracle(shares, mu, model, rows):
    """Return an oracle of logistic losses at prices of `shares` of mu^2."""
    declared = Curvatures(shares, 0.3, 0.05)
    problem = replace(make_problem("logistic"), n_samples=len(rows), model=model)
    return declared.run((problem, rows), Session(EntropyStream(), Ledger(declared(1.0 / mu))),
                        1.0 / mu)


def test_a_hessian_is_symmetric():
    """Symmetric noise would show what rounding leaves between both triangles of a sum."""
    size = 30
    matrix = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))[0]
    model = WhitenedModel.of(LinearModel(size, None, False, 1.0), matrix)
    rows = Rows(np.random.default_rng(1).normal(size=(2000, size)), np.ones(2000))
    hessian = _oracle((1.0,), 1e5, model, rows).hessian(np.zeros(size))
    np.testing.assert_array_equal(hessian, hessian.T)


def test_the_edge_is_that_of_the_noise_with_what_rounding_adds():
    """A map that lengthens some rows far more than others makes rounding a part of the noise."""
    matrix = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0] * [1.0, 1e-6]
    model = WhitenedModel.of(LinearModel(2, None, False, 1.0), matrix)
    oracle = _oracle((1.0,), 1.0, model, Rows(np.eye(2)[[0] * 2000], np.ones(2000)))
    oracle.hessian(np.zeros(2))
    bound = oracle._sums.curvature_bound(0.05)[0]
    assert oracle.hessian_edge > 1.5 * np.sqrt(2.0) * bound / 2000 * 2.0


def test_no_answer_comes_beyond_the_plan():
    X, y, _ = _table("logistic")
    oracle = _oracle((0.5, 0.5), 1.0, LinearModel(_P, None, True, 1.0), Rows(X, y))
    oracle.hessian(np.zeros(_P + 1))
    oracle.gradient(np.zeros(_P + 1))
    for answer in (oracle.hessian, oracle.gradient):
        with pytest.raises(RuntimeError, match="plan"):
            answer(np.zeros(_P + 1))


@pytest.mark.parametrize("least", [1e-12, 0.5])
def test_noise_fills_its_grid_whatever_the_shares(least, monkeypatch):
    """Doubles of more units are too far apart to hide which of them was added."""
    scales, draw = [], Noise.draw
    monkeypatch.setattr(Noise, "draw", lambda noise, stream, shape: (
        scales.append(noise.scale / noise.unit), draw(noise, stream, shape))[1])
    X, y, _ = _table("logistic")
    oracle = _oracle((least, 1.0 - least), 1.0, LinearModel(_P, None, True, 1.0), Rows(X, y))
    oracle.gradient(np.zeros(_P + 1))
    oracle.gradient(np.zeros(_P + 1))
    assert max(scales) <= 2.0**46


@pytest.mark.parametrize("max_iter", [1, 2, 8, 60, 3000])
def test_shares_of_many_steps_are_none_too_small(max_iter):
    problem = make_problem("logistic")
    shares = NewtonDescent(max_iter=max_iter).configured(problem).queries(problem).shares
    gradients = [shares[0], *shares[2::2]]
    assert len(shares) == 2 * max_iter - 1
    assert np.sum(shares) == pytest.approx(1.0, rel=1e-12)
    assert gradients == sorted(gradients) and gradients[-1] <= 1025.0 * gradients[0]


@pytest.mark.parametrize("n_samples, keeps", [(10**4, False), (10**7, True)])
def test_sharp_hessians_are_kept(n_samples, keeps):
    problem = replace(make_problem("logistic", alpha=0.0), n_samples=n_samples)
    solver = NewtonDescent().configured(problem)
    hessians = len(solver.queries(problem).shares) - solver.max_iter
    assert solver.keep_hessians is keeps
    assert hessians == (np.ceil(np.log2(solver.max_iter)) if keeps else solver.max_iter - 1)


@pytest.mark.parametrize("max_iter, hessians", [(1, 0), (2, 1), (4, 2), (5, 3), (8, 3), (9, 4)])
def test_kept_hessians_are_new_before_powers_of_two(max_iter, hessians):
    problem = make_problem("logistic")
    solver = NewtonDescent(max_iter=max_iter, keep_hessians=True).configured(problem)
    shares = solver.queries(problem).shares
    assert len(shares) == max_iter + hessians
    assert np.sum(shares) == pytest.approx(1.0, rel=1e-12)


def test_steps_of_sharp_hessians_grow_with_the_signal():
    problem = make_problem("logistic", alpha=0.0)
    ample = [replace(problem, n_samples=int(size)) for size in np.geomspace(1e4, 1e9, 30)]
    steps = [newton_steps(each) for each in ample if hessians_are_sharp(each)]
    assert steps == sorted(steps) and steps[0] == 7 and steps[-1] == 12


def test_rounding_of_float_sums_is_priced_beside_their_distance():
    """Two sums are each off by n u times n bounds; what moves is sqrt(2) bounds."""
    X, y, _ = _table("logistic")
    bound, terms = _sums("float", make_loss("logistic"), X, y).curvature_bound(0.2)
    assert np.sqrt(2.0) * bound * terms**2 >= 2.0 * 0.2 * _N**2


def test_rounding_of_exact_sums_of_more_bits_than_a_double_is_priced():
    """Rows at right angles, as long as the clip leaves them, in tables of so many rows."""
    n_samples, bound = 2**36, 0.2
    rows = Rows(np.zeros((1, 2)), np.zeros(1))
    sums = grid_sums(LinearModel(2, None, False, 1.0), make_loss("logistic"), rows, 0.3, 10,
                    n_samples=n_samples)
    row = int(bound * (1.0 - 2.0**-24)**2 / sums.entry._products_unit(bound)**2)
    largest, terms = sums.curvature_bound(bound)
    priced, worst = np.sqrt(2.0) * largest * rounding_margin(terms), 0.0
    for fewer in np.random.default_rng(0).integers(2**40, size=(500, 2)):
        moved, others = [], [n_samples // 2 * row - int(less) for less in fewer]
        for whole in ((others[0] + row, others[1]), (others[0], others[1] + row)):
            parts = np.zeros((2, 2, 2))
            for i, entry in enumerate(whole):
                parts[:, i, i] = entry >> 26, entry & (1 << 26) - 1
            moved.append(sums.finish_curvature(parts, bound))
        worst = max(worst, np.linalg.norm(moved[1] - moved[0]))
    assert 0.9999 * priced < worst <= priced


def test_newton_needs_few_passes_for_what_descent_needs_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 5)) * [1.0, 3.0, 0.5, 1.0, 2.0]
    y = (X @ [1.0, -1.0, 0.5, 0.0, 0.2] + rng.logistic(size=30_000) > 0).astype(int)
    params = {"data_norm": float(np.linalg.norm(X, axis=1).max()), "delta": 1e-9}
    exact = DPLogisticRegression(np.inf, **params).fit(X, y).coef_
    gaps, passes = {}, {}
    for solver in ("newton", "gd"):
        model = DPLogisticRegression(4.0, solver=solver, random_state=NoiseSeed(0), **params)
        gaps[solver] = np.linalg.norm(model.fit(X, y).coef_ - exact) / np.linalg.norm(exact)
        passes[solver] = model.n_iter_
    assert gaps["newton"] < 0.05 and passes["gd"] > 3 * passes["newton"]


@pytest.mark.parametrize("params", [{"alpha": 1e300}, {"alpha": 1e-3, "learning_rate": 1e300}])
def test_penalties_far_beyond_the_curvature_are_no_error(params):
    X, y, _ = _table("logistic")
    model = DPLogisticRegression(solver="newton", precondition="unit_norm", **params)
    assert np.isfinite(model.fit(X, y).coef_).all()


@pytest.mark.parametrize("options", [{"hessian_share": 1e-4}, {"hessian_share": 1.0},
                                     {"curvature_clip": 0.0}, {"curvature_clip": 1e-300},
                                     {"longest_step": -1.0}, {"keep_hessians": 2}])
def test_bad_options_are_named(options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        DPLogisticRegression(solver="newton", solver_options=options).fit(
            np.eye(20), np.arange(20) % 2)


def test_auto_takes_it_where_there_is_signal_for_hessians():
    problem = make_problem("logistic", alpha=0.0)
    for n_samples, name in ((10**3, "gd"), (10**7, "newton")):
        assert auto_solver(replace(problem, n_samples=n_samples)) == name
