"""Sums by composition have the bits of a second implementation with a clip in every class.

Both round alike where blocks are alike: they are made as short in one as in the other.
"""

import numpy as np
import pytest
from scipy import sparse

from dpsk._data.source import Rows
from dpsk._models import MLP, LinearModel, ScaleModel, WhitenedModel
from dpsk._models.states import LinearValues, NetworkValues
from dpsk._objective.losses import HuberizedHinge, Logistic, Multinomial, OneVsRest, Squared
from dpsk._objective.saddle.auc_square import AUCSquare
from dpsk._objective.saddle.group_risk import GroupRisk
from dpsk._objective.saddle.projected_bellman import ProjectedBellman
from dpsk._privacy.noise.grids import grid_bits
from dpsk._sums import float_entry, grid_entry, group_sums, saddle_sums, transition_sums
from dpsk._sums.differences import DifferenceSums
from dpsk._sums.exact_sums import ExactSums
from dpsk._sums.group_sums import GroupSums
from dpsk._sums.linear_sums import float_sums, grid_sums, max_norm_sums, whitened_grid_sums
from dpsk._sums.network_sums import NetworkSums
from dpsk._sums.parted_sums import sums_over
from dpsk._sums.saddle_sums import SaddleSums
from dpsk._sums.transition_sums import SemiGradientSums, TransitionSums
from tests.contracts.columns import spread
from tests.instruments import ranked
from tests.reference import grid_sums as old_grid
from tests.reference import group_sums as old_group
from tests.reference import network_sums as old_network
from tests.reference import parted_sums as old_parted
from tests.reference import row_sums as old_row
from tests.reference import saddle_sums as old_saddle
from tests.reference import transition_sums as old_transition
from tests.reference import variants as old_variants

N, WIDTH, CLIP = 300, 5, 0.3
CONTAINERS = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sparse.csr_matrix}
every_container = pytest.mark.parametrize("container", CONTAINERS)
every_dtype = pytest.mark.parametrize("dtype", ["f4", "f8"])
weights_or_none = pytest.mark.parametrize("weighted", [False, True])
every_width = pytest.mark.parametrize("outputs", [None, 1, 2, 3, 4])
BATCH, UNITS = (np.random.default_rng(7).permutation(N)[:95],
                np.random.default_rng(8).permutation(60)[:41])
few_or_all = pytest.mark.parametrize("chosen", [None, BATCH], ids=["all", "batch"])
units_or_all = pytest.mark.parametrize("units", [None, UNITS], ids=["all", "batch"])


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Let every table have several blocks, which are the same in both implementations."""
    for module in (float_entry, old_row):
        monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * WIDTH * 70)
        monkeypatch.setattr(module, "_CSR_ROWS", 70)
    for module in (grid_entry, old_grid):
        monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * WIDTH * 80)
        monkeypatch.setattr(module, "_CSR_ROWS", 80)
    for module in (group_sums, old_group, saddle_sums, old_saddle):
        monkeypatch.setattr(module, "_ENTRIES", WIDTH * 64)
        monkeypatch.setattr(module, "_CSR_ROWS", 64)
    for module in (transition_sums, old_transition):
        monkeypatch.setattr(module, "_ENTRIES", 200)


def table(container="dense", dtype="f8", outputs=None, weighted=False, labels=None, seed=0):
    """Return rows, some short, some far too long and some not finite in their squares."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, WIDTH)) * np.exp(rng.normal(size=(N, 1)))
    X[rng.random(X.shape) < 0.3] = 0.0
    X[5], X[6], X[7] = 0.0, 1e30, 1e-30
    y = rng.integers(outputs or 2, size=N).astype("i8" if outputs else "f8")
    weights = rng.exponential(size=N) if weighted else None
    groups = None if labels is None else ranked(labels)
    return Rows(CONTAINERS[container](X.astype(dtype)), y, weights, 2.0, groups=groups)


def loss_of(outputs):
    if outputs == 1:
        return OneVsRest(HuberizedHinge(0.7), 1)
    return Multinomial() if outputs else Logistic()


def linear(outputs=None, **fields):
    return LinearModel(WIDTH, outputs, True, 2.0, **fields)


def whitened(outputs=None, **fields):
    matrix = np.eye(WIDTH + 1) + 0.2 * np.random.default_rng(9).normal(size=(WIDTH + 1,) * 2)
    return WhitenedModel.of(linear(outputs, **fields), np.rint(1024 * matrix) / 1024)


def points(model, count=2, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=model.shape) * 10.0**power for power in range(count)]


def same(ask, new, old, rounding=0.0):
    """Assert that two sums answer alike, but for rounding, and that the answer is one."""
    with np.errstate(all="ignore"):
        found, expected = ask(new), ask(old)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [
        (found, expected)]
    for one, other in pairs:
        assert np.isfinite(other).all() and np.any(other != 0.0)
        np.testing.assert_allclose(one, other, rtol=0.0, atol=rounding * np.abs(other).max())


def both(kinds, *args, **settings):
    with np.errstate(all="ignore"):
        return [kind(*args, **settings) for kind in kinds]


BITS = grid_bits(N, CLIP, 3.0 * CLIP)
#: (new, reference), the arguments after the clip.
LINEAR = {"l2": ((float_sums, old_row.RowSums), ()), "l1": ((float_sums, old_row.RowSums), (1,)),
          "max": ((max_norm_sums, old_variants.MaxNormSums), ()),
          "grid": ((grid_sums, old_grid.GridSums), (BITS,)),
          "grid l1": ((grid_sums, old_grid.GridSums), (BITS, 1))}


@pytest.mark.covering
@pytest.mark.parametrize("kind", LINEAR)
@every_container
@every_dtype
@every_width
@weights_or_none
def test_gradients_of_linear_maps(kind, container, dtype, outputs, weighted):
    rows, model = table(container, dtype, outputs, weighted), linear(outputs)
    for clip in (CLIP, 1e-3, 1e3):
        kinds, more = LINEAR[kind]
        new, old = both(kinds, model, loss_of(outputs), rows, clip, *more)
        for theta in points(model):
            for chosen in (None, BATCH):
                if chosen is None or "grid" not in kind:
                    same(lambda sums, theta=theta, chosen=chosen: sums.gradient(theta, chosen),
                         new, old)
        same(lambda sums, theta=theta: sums.scores(theta).X, new, old)
        for name in ("clip_norm", "clips", "smoothness", "risk_at_zero", "rounding",
                     "resolution", "arithmetic", "n_samples"):
            assert getattr(new, name) == getattr(old, name)


@pytest.mark.covering
@pytest.mark.parametrize("kind", ["float", "grid"])
@every_container
@every_dtype
@every_width
@weights_or_none
def test_gradients_of_whitened_rows(kind, container, dtype, outputs, weighted):
    rows = table(container, dtype, outputs, weighted)
    kinds = ((float_sums, old_row.RowSums) if kind == "float"
             else (whitened_grid_sums, old_grid.WhitenedGridSums))
    for fields in ({}, {"homogeneous": True}, {"unit": 0.3}):
        model = whitened(outputs, **fields)
        new, old = both(kinds, model, loss_of(outputs), rows, CLIP)
        for theta in points(model):
            same(lambda sums, theta=theta: sums.gradient(theta), new, old)
        same(lambda sums, theta=theta: sums.scores(theta).X, new, old)
        assert new.rounding_terms(N) == old.rounding_terms(N)


@pytest.mark.covering
@pytest.mark.parametrize("kind", ["float", "grid", "whitened", "whitened float"])
@every_container
@every_dtype
@weights_or_none
def test_curvatures(kind, container, dtype, weighted):
    rows = table(container, dtype, None, weighted)
    model = whitened() if "whitened" in kind else linear()
    kinds, more = {"float": ((float_sums, old_row.RowSums), ()),
                   "whitened float": ((float_sums, old_row.RowSums), ()),
                   "grid": ((grid_sums, old_grid.GridSums), (BITS,)),
                   "whitened": ((whitened_grid_sums, old_grid.WhitenedGridSums), ())}[kind]
    for loss in (Logistic(), Squared()):
        new, old = both(kinds, model, loss, rows, CLIP, *more)
        for theta in points(model):
            for bound in (0.2, 1e-3):
                same(lambda sums, theta=theta, bound=bound: (
                    sums.curvature(theta, bound), sums.gradient(theta)), new, old)
                assert new.curvature_bound(bound) == old.curvature_bound(bound)
            if "float" in kind:
                same(lambda sums, theta=theta: sums.hessian(theta), new, old)


@pytest.mark.covering
@every_container
@every_dtype
@every_width
@weights_or_none
@few_or_all
def test_differences(container, dtype, outputs, weighted, chosen):
    rows, model = table(container, dtype, outputs, weighted), linear(outputs)
    new, old = both((DifferenceSums, old_variants.DifferenceSums), model, loss_of(outputs), rows,
                    CLIP)
    anchor, far = points(model)
    same(lambda sums: sums.anchor_gradient(anchor), new, old)
    for theta in (anchor + 1e-3, far):
        bound = new.bound(theta, anchor)
        assert bound == old.bound(theta, anchor) > 0.0
        same(lambda sums, theta=theta, bound=bound: sums.difference(theta, anchor, bound, chosen),
             new, old)


@pytest.mark.covering
@every_container
@every_dtype
@every_width
@weights_or_none
def test_exact_sums(container, dtype, outputs, weighted):
    rows, model = table(container, dtype, outputs, weighted), linear(outputs)
    new, old = both((ExactSums, old_variants.ExactSums), model, loss_of(outputs), rows)
    theta = points(model, 1)[0]
    for ask in ("gradient", "value", "majorant", "hessian"):
        # Rows without curvature are left out, which nothing has to hide.
        same(lambda sums, ask=ask: getattr(sums, ask)(theta), new, old,
             1e-13 if ask in ("majorant", "hessian") else 0.0)


LABELS = np.random.default_rng(3).permutation(np.repeat(np.arange(60), 5))


@pytest.mark.covering
@every_container
@every_dtype
@pytest.mark.parametrize("outputs", [None, 3])
@weights_or_none
@units_or_all
@pytest.mark.parametrize("kind", ["plain", "whitened", "ray"])
def test_groups_of_rows(kind, container, dtype, outputs, weighted, units):
    if kind == "ray" and (container == "csr" or outputs):
        pytest.skip("scores along a ray are dense and as many as outputs")
    model = {"plain": linear, "whitened": whitened,
             "ray": lambda outputs: ScaleModel(WIDTH, None, False, 2.0)}[kind](outputs)
    rows = table(container, dtype, outputs, weighted, LABELS)
    if kind == "ray":
        rows = Rows(rows.X[:, :1].copy(), rows.y, rows.weights, 2.0, groups=rows.groups)
    for clip in (1e-2, 1.0):
        new, old = both((GroupSums, old_group.GroupSums), model, loss_of(outputs), rows, CLIP,
                        clip)
        for theta in points(model):
            same(lambda sums, theta=theta: sums.gradient(theta, units), new, old)


@pytest.mark.covering
@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("sizes, linear_path", [((), None), ((4,), None), ((18, 3), 0.5)])
@weights_or_none
@pytest.mark.parametrize("grouped", [False, True])
@units_or_all
def test_networks(outputs, sizes, linear_path, weighted, grouped, units):
    rows = table("dense", "f4", outputs, weighted, LABELS if grouped else None)
    model = MLP(WIDTH, sizes, outputs, "relu", 2.0, linear_path)
    for clip in (CLIP, 1e3):
        new, old = both((NetworkSums, old_network.NetworkSums), model, loss_of(outputs), rows,
                        clip)
        for theta in points(model):
            same(lambda sums, theta=theta: sums.gradient(theta, units), new, old)


@pytest.mark.parametrize("kind", ["linear", "mlp"])
@pytest.mark.parametrize("name", ["auc", "groups"])
@every_container
@weights_or_none
@few_or_all
def test_blocks_of_saddle_problems(kind, name, container, weighted, chosen):
    if kind == "mlp" and container == "csr":
        pytest.skip("rows of a network are dense")
    loss = AUCSquare(0.3) if name == "auc" else GroupRisk(Logistic(), (0.5, 0.3, 0.2), 0.1, 10.0)
    model = linear() if kind == "linear" else MLP(WIDTH, (5,), None, "tanh", 2.0)
    rows = table(container, "f8" if kind == "linear" else "f4", None, weighted)
    y = (rows.y > 0).astype(float)
    if name == "groups":
        y = np.column_stack([y, np.random.default_rng(2).integers(3, size=N)])
    rows = rows.with_targets(lambda _: y)
    rng = np.random.default_rng(4)
    new, old = both((SaddleSums, old_saddle.SaddleSums), model, loss, rows, CLIP, 0.1)
    size = model.dimension + loss.n_extra
    ends = [(rng.normal(size=size), loss.dual_set.project(rng.random(loss.dual_set.size)))
            for _ in range(2)]
    # Factors are divided by the weights of groups in another order.
    rounding = 1e-14 if name == "groups" else 0.0
    same(lambda sums: sums.gradients(*ends[0], chosen), new, old, rounding)
    same(lambda sums: sums.dual_gradient(*ends[0], chosen), new, old)
    for clip in (1e-3, 1.0):
        same(lambda sums, clip=clip: sums.differences(*ends, clip, chosen), new, old, rounding)


@pytest.mark.parametrize("kind", ["linear", "network"])
@pytest.mark.parametrize("grouped", [False, True])
@units_or_all
def test_transitions(kind, grouped, units):
    box, rng = np.array([[-1.0, 1.0], [-2.0, 2.0]]), np.random.default_rng(5)
    model = LinearValues(2, box) if kind == "linear" else NetworkValues(2, box, width=4)
    y = np.column_stack([rng.uniform(-1, 1, N), (rng.random(N) < 0.8).astype(float)])
    groups = ranked(LABELS) if grouped else None
    rows = Rows(rng.uniform(-1, 1, (N, 4)), y, groups=groups)
    loss = ProjectedBellman(0.9, model.dimension, grouped)
    ends = [(rng.normal(size=model.dimension), 0.3 * rng.normal(size=model.dimension))
            for _ in range(2)]
    new, old = both((TransitionSums, old_transition.TransitionSums), model, loss, rows, 0.5, 0.3)
    same(lambda sums: sums.gradients(*ends[0], units), new, old)
    same(lambda sums: sums.dual_gradient(*ends[0], units), new, old)
    same(lambda sums: sums.differences(*ends, 0.2, units), new, old)
    new, old = both((SemiGradientSums, old_transition.SemiGradientSums), model, loss, rows, 0.3)
    same(lambda sums: sums.gradient(ends[0][0], units), new, old)


PLACES = {**LINEAR, "whitened": ((whitened_grid_sums, old_grid.WhitenedGridSums), ()),
          "exact": ((ExactSums, old_variants.ExactSums), ())}


@pytest.mark.covering
@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("count", [1, 3])
@every_container
@every_dtype
def test_linear_maps_in_places(kind, count, container, dtype):
    rows, kinds = spread(table(container, dtype), count), PLACES[kind]
    model = whitened() if kind == "whitened" else linear()
    args = () if kind == "exact" else (CLIP, *kinds[1])
    with np.errstate(all="ignore"):
        new, old = (over(cls, model, Logistic(), rows, *args)
                    for over, cls in zip((sums_over, old_parted.sums_over), kinds[0],
                                         strict=True))
    for theta in points(model):
        same(lambda sums, theta=theta: sums.gradient(theta), new, old)
        if kind in ("l2", "max"):
            same(lambda sums, theta=theta: sums.gradient(theta, BATCH), new, old)
            same(lambda sums, theta=theta: sums.hessian(theta), new, old)
        if kind in ("l2", "grid", "whitened"):
            same(lambda sums, theta=theta: sums.curvature(theta, 0.2), new, old)
        if kind == "exact":
            for ask in ("value", "majorant", "hessian"):
                same(lambda sums, theta=theta, ask=ask: getattr(sums, ask)(theta), new, old,
                     0.0 if ask == "value" else 1e-13)


@pytest.mark.parametrize("count", [1, 3])
def test_other_sums_in_places(count):
    anchor, far = points(linear())
    new, old = (over(cls, linear(), Logistic(), spread(table(), count), CLIP)
                for over, cls in ((sums_over, DifferenceSums),
                                  (old_parted.sums_over, old_variants.DifferenceSums)))
    same(lambda sums: sums.anchor_gradient(anchor), new, old)
    bound = new.bound(far, anchor)
    same(lambda sums: sums.difference(far, anchor, bound), new, old)
    # A place that was lost has another anchor, or none.
    same(lambda sums: sums.difference(anchor, far, bound, BATCH), new, old)
    rows = spread(table("dense", "f4"), count)
    model, loss = MLP(WIDTH, (5,), None, "tanh", 2.0), AUCSquare(0.3)
    new, old = (over(cls, model, Logistic(), rows, CLIP)
                for over, cls in ((sums_over, NetworkSums),
                                  (old_parted.sums_over, old_network.NetworkSums)))
    same(lambda sums: sums.gradient(points(model)[0]), new, old)
    rows = rows.with_targets(lambda y: (y > 0).astype(float))
    new, old = (over(cls, model, loss, rows, CLIP, 0.1)
                for over, cls in ((sums_over, SaddleSums),
                                  (old_parted.sums_over, old_saddle.SaddleSums)))
    primal = np.append(points(model)[0], np.zeros(loss.n_extra))
    dual = loss.dual_set.project(np.full(loss.dual_set.size, 0.3))
    same(lambda sums: sums.gradients(primal, dual), new, old)
    same(lambda sums: sums.dual_gradient(primal, dual, rows=BATCH), new, old)
    same(lambda sums: sums.differences((primal, dual), (0.9 * primal, dual), 0.1), new, old)
