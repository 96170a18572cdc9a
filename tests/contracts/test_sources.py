"""Rows in blocks train the bits that one array trains, and fail without a half-fitted model."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from dpsk import DPLogisticRegression, DPMLPClassifier, DPRidge
from dpsk._data import parted
from dpsk._data.chunked import ChunkedRows, HeldChunks
from dpsk._data.groups import Groups
from dpsk._data.parted import Threads, in_places
from dpsk._data.source import Rows
from dpsk._estimator import DPEstimator
from dpsk._models import LinearModel, WhitenedModel
from dpsk._models.ranges import RangedRows
from dpsk._objective.losses import Logistic
from dpsk._privacy.ledger import Ledger
from dpsk._sums.exact_sums import ExactSums
from dpsk._sums.linear_sums import float_sums, grid_sums, max_norm_sums, whitened_grid_sums
from dpsk._sums.parted_sums import sums_over
from dpsk.sources import NpyFiles, ParquetFiles
from dpsk.testing import NoiseSeed
from tests.contracts.columns import spread
from tests.data.sources import Blocks, ChangingBlocks, FailingBlocks
from tests.estimators.pairs import build
from tests.registry import (
    coefficients,
    every_fit,
    is_linear,
    make_estimator,
    training_rows,
)

CUTS = {"empty": [7, 7, 30], "many": range(3, 78, 3)}


def seeded(cls, solver, **params):
    return make_estimator(cls, solver, random_state=NoiseSeed(0), **params)


def part_of(rows, start, stop):
    """Return some of the rows, as those of a place."""
    X = rows.X[start:stop]
    return ChunkedRows(HeldChunks([X]), (len(X),), rows.n_features, rows.dtype, False,
                       rows.y[start:stop], offsets=(start,))


@pytest.mark.covering(most=12)
@every_fit
def test_blocks_train_what_one_array_trains(cls, solver):
    model = build(cls, solver, random_state=NoiseSeed(0), max_iter=8)
    X, y = training_rows(model)
    whole = coefficients(model.fit(X, y))
    for cuts in CUTS.values():
        source = Blocks(X, cuts, y)
        found = coefficients(clone(model).fit(source))
        # Sums of networks are of single precision: their last bits follow the order.
        rtol = 0.0 if is_linear(cls) else 1e-4
        np.testing.assert_allclose(found, whole, rtol=rtol, atol=rtol)


@every_fit
def test_places_without_rows_make_no_difference(cls, solver, monkeypatch):
    model = build(cls, solver, random_state=NoiseSeed(0), max_iter=8)
    X, y = training_rows(model)
    whole = coefficients(model.fit(X, y))
    read = DPEstimator._read_rows
    monkeypatch.setattr(DPEstimator, "_read_rows", lambda self, *args: in_places(
        Threads(2), [part_of(read(self, *args), *ends)
                     for ends in ((0, 0), (0, 1), (1, 1), (1, 80), (80, 80))]))
    rtol = 0.0 if is_linear(cls) else 1e-4
    np.testing.assert_allclose(coefficients(clone(model).fit(X, y)), whole, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("kind", [grid_sums, float_sums])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_sums_over_no_rows_are_zero(make, kind):
    rows = Rows(make(np.zeros((0, 4))), np.zeros(0))
    sums = kind(LinearModel(4, None, True, 2.0), Logistic(), rows, 0.7,
                *([30] if kind is grid_sums else []), n_samples=60)
    np.testing.assert_array_equal(sums.gradient(np.ones(5)), np.zeros(5))


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fit", [
    lambda X, y: DPLogisticRegression(random_state=NoiseSeed(0)).fit(X, y),
    lambda X, y: DPLogisticRegression(precondition="unit_norm",
                                      random_state=NoiseSeed(0)).fit(X, y),
    lambda X, y: DPRidge(random_state=NoiseSeed(0)).fit(X, 3.0 * y)])
def test_what_is_learnt_of_rows_in_blocks_is_the_same(fit, dtype):
    X, y = training_rows(DPLogisticRegression(), n=4000)
    X = (X * [1.0, 10.0, 0.1, 3.0]).astype(dtype)
    whole = fit(X, y)
    plain, cached = Blocks(X, [1000, 1001]), Blocks(X, [5, 900, 3000], cache_bytes=1 << 30)
    for source in (plain, cached):
        model = fit(source, y)
        # Norms of mapped rows in single precision may round another way in other blocks.
        few = 1e-5 if dtype is np.float32 else 0.0
        np.testing.assert_allclose(coefficients(model), coefficients(whole), rtol=few, atol=few)
        assert model.coef_.dtype == dtype and model.data_norm_ == whole.data_norm_
    rows = sparse.csr_matrix(X)
    np.testing.assert_array_equal(coefficients(fit(Blocks(rows, [17, 2000]), y)),
                                  coefficients(fit(rows, y)))
    # The cache saves the passes of the steps.
    assert cached.passes <= plain.passes - model.n_iter_ + 1


def test_names_come_from_the_first_block():
    pandas = pytest.importorskip("pandas")
    X, y = training_rows(DPLogisticRegression())

    class Frames(Blocks):
        def blocks(self):
            for block in super().blocks():
                yield pandas.DataFrame(block, columns=list("abcd"))

    model = DPLogisticRegression().fit(Frames(X, [30]), y)
    assert list(model.feature_names_in_) == list("abcd") and model.n_features_in_ == 4


def test_files_are_read_as_their_arrays(tmp_path):
    X, y = training_rows(DPLogisticRegression(), n=500)
    weights = np.linspace(0.1, 1.0, 500)
    whole = DPLogisticRegression(random_state=NoiseSeed(0)).fit(X, y, weights)
    paths = {}
    for name, array in (("X", X), ("y", y), ("w", weights)):
        paths[name] = [tmp_path / f"{name}{part}.npy" for part in range(3)]
        for path, part in zip(paths[name], np.array_split(array, 3), strict=True):
            np.save(path, part)
    files = NpyFiles(paths["X"], paths["y"], paths["w"])
    assert (files.n, files.n_features) == (500, 4)
    model = DPLogisticRegression(random_state=NoiseSeed(0)).fit(files)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    mapped = np.load(paths["X"][0], mmap_mode="r")
    np.testing.assert_array_equal(
        DPLogisticRegression(random_state=NoiseSeed(0)).fit(mapped, y[:len(mapped)]).coef_,
        DPLogisticRegression(random_state=NoiseSeed(0)).fit(X[:167], y[:167]).coef_)


def test_parquet_is_read_as_its_columns(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    X, y = training_rows(DPLogisticRegression(), n=500)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for part in range(2):
        rows = slice(250 * part, 250 * (part + 1))
        frame[rows].assign(label=np.where(y[rows], "yes", "no")).to_parquet(
            tmp_path / f"{part}.parquet")
    source = ParquetFiles(tmp_path, "label", batch_size=100)
    model = DPLogisticRegression(random_state=NoiseSeed(0)).fit(source)
    whole = DPLogisticRegression(random_state=NoiseSeed(0)).fit(frame, np.where(y, "yes", "no"))
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="'other' is no column"):
        ParquetFiles(tmp_path, "other")


@pytest.mark.parametrize("fails, how", [(1, ValueError), (1, OSError), (2, ValueError),
                                        (4, OSError), (4, None)])
def test_what_cannot_be_read_leaves_no_half_fitted_model(fails, how, monkeypatch):
    X, y = training_rows(DPLogisticRegression(), n=4000)
    charged = []
    kept = Ledger.charge
    monkeypatch.setattr(Ledger, "charge", lambda self, event: (charged.append(event),
                                                               kept(self, event))[1])
    model = DPLogisticRegression().fit(X, y)
    before, _ = dict(vars(model)), charged.clear()
    source = FailingBlocks(X, [1000, 2000], fails=fails, how=how)
    with pytest.raises((ValueError, RuntimeError), match="X could not be read") as caught:
        model.fit(source, y)
    assert "31337" not in str(caught.value) and caught.value.__context__ is None
    # Nothing is charged before a pass that a release asks for.
    assert bool(charged) == (fails > 1)
    assert {name: vars(model)[name] for name in before} == before


@pytest.mark.parametrize("changes", [2, 3, 4])
@pytest.mark.parametrize("entry", [0.125, 1e6, np.nan, np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_rows_that_change_between_passes_are_refused(make, entry, changes):
    X, y = training_rows(DPLogisticRegression())
    source = ChangingBlocks(make(X), [30], changes=changes, entry=entry)
    # A row that is not the one that was bounded could move a sum by any amount.
    with pytest.raises(RuntimeError, match="block 1 gave"):
        seeded(DPLogisticRegression, "gd").fit(source, y)


@pytest.mark.parametrize("convert", [
    lambda X: X.tolist(), lambda X: X.astype(object), lambda X: np.asfortranarray(X),
    lambda X: X.astype(np.float16), lambda X: X.astype(np.float32), lambda X: X > 0,
    lambda X: (10 * X).astype(np.int8), lambda X: X.astype(str),
    lambda X: sparse.csc_matrix((100 * (X > 0)).astype(np.int8)),
    lambda X: sparse.csr_matrix((np.full(8, 100, np.int8), np.zeros(8, int),
                                 np.linspace(0, 8, len(X) + 1).astype(int)), (len(X), 4))])
def test_blocks_of_any_kind_are_those_of_every_pass(convert):
    X, y = training_rows(DPLogisticRegression())

    class Converted(Blocks):
        def blocks(self):
            yield from map(convert, super().blocks())

    source = Converted(X, [30])
    # As narrow as a caller may count.
    source.n, source.n_features = np.int16(source.n), np.int8(source.n_features)
    model = seeded(DPLogisticRegression, "gd").fit(source, y)
    blocks = [convert(X[:30]), convert(X[30:])]
    whole = sparse.vstack([sparse.csr_matrix(block, dtype=float) for block in blocks]) if (
        sparse.issparse(blocks[0])) else np.concatenate(blocks)
    found = seeded(DPLogisticRegression, "gd").fit(whole, y)
    np.testing.assert_array_equal(model.coef_, found.coef_)


def test_what_can_be_read_once_is_refused_before_it_is_charged(monkeypatch):
    monkeypatch.setattr(Ledger, "charge", None)
    X, y = training_rows(DPLogisticRegression())
    source = Blocks(X, [30])
    blocks = source.blocks()
    source.__class__ = type("Once", (Blocks,), {"blocks": lambda self: blocks})
    with pytest.raises(ValueError, match="must start a new pass"):
        DPLogisticRegression().fit(source, y)


@pytest.mark.parametrize("data_norm", [1e-3, 1.0, 100.0, 1e5])
@pytest.mark.parametrize("epsilon", [0.1, 10.0, 100.0])
def test_whole_units_fit_into_a_cache(data_norm, epsilon):
    X, y = training_rows(DPLogisticRegression(), n=400)
    X = X * [1.0, 1e3, 30.0, 1e4]
    params = {"data_norm": data_norm, "epsilon": epsilon, "precondition": False, "max_iter": 5}
    whole = seeded(DPLogisticRegression, "gd", **params).fit(X, y)
    found = seeded(DPLogisticRegression, "gd", **params).fit(
        Blocks(X, [100, 250], cache_bytes=1 << 30), y)
    np.testing.assert_array_equal(found.coef_, whole.coef_)


@pytest.mark.parametrize("blocks, match", [
    (lambda X, y: Blocks(np.where(X > 2.0, np.nan, X), [30], y), "contains NaN"),
    (lambda X, y: Blocks(np.where(X > 2.0, np.inf, X), [30], y), "contains infinity"),
    (lambda X, y: Blocks(X.astype(str), [30], y), None),
    (lambda X, y: Blocks(X, [30], y[:, None]), r"y: block 0 has a shape"),
    (lambda X, y: Blocks(X, [30], y, -np.ones(80)), "sample_weight: must be finite"),
    (lambda X, y: Blocks(X, [30], y, np.zeros(80)), "at least one (non-zero number|must not be)"),
    (lambda X, y: Blocks(X[:1], [], y[:1]), "minimum of 2 is required"),
    (lambda X, y: Blocks(X, [30]), "requires y to be passed"),
    (lambda X, y: Blocks(X, [30], np.zeros(80)), "one class")])
def test_bad_blocks_are_refused_as_bad_arrays_are(blocks, match):
    X, y = training_rows(DPLogisticRegression())
    source = blocks(X, y)
    if match is None:
        DPLogisticRegression().fit(source)
        return
    with pytest.raises(ValueError, match=match):
        DPLogisticRegression().fit(source)


def test_a_source_that_says_something_else_is_refused():
    X, y = training_rows(DPLogisticRegression())
    source = Blocks(X, [30], y)
    source.n = 81
    with pytest.raises(ValueError, match="says n=81"):
        DPLogisticRegression().fit(source)
    source.n = 80
    with pytest.raises(ValueError, match="y is given to fit, and comes with the blocks"):
        DPLogisticRegression().fit(source, y)


def test_networks_refuse_sparse_blocks():
    X, y = training_rows(DPMLPClassifier())
    with pytest.raises(TypeError, match="dense data is required"):
        DPMLPClassifier().fit(Blocks(sparse.csr_matrix(X), [30], y))


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("kind, args, exact", [
    (grid_sums, (0.7, 30), True), (float_sums, (0.7,), False), (max_norm_sums, (0.7,), False),
    (ExactSums, (), False)])
def test_sums_over_places_are_those_over_the_table(kind, args, exact, count):
    X, y = training_rows(DPLogisticRegression(), n=60)
    rows, theta = Rows(X, y.astype(float)), np.linspace(-1.0, 1.0, 5)
    model = LinearModel(4, None, True, 2.0)
    whole = sums_over(kind, model, Logistic(), rows, *args)
    parted = sums_over(kind, model, Logistic(), spread(rows, count), *args)
    rtol = 0.0 if exact else 1e-13
    np.testing.assert_allclose(parted.gradient(theta), whole.gradient(theta), rtol=rtol)
    if not exact:
        chosen = np.array([0, 3, 17, 29, 30, 58, 59])
        np.testing.assert_allclose(parted.gradient(theta, chosen), whole.gradient(theta, chosen),
                                   rtol=rtol)
    for name in ("resolution", "n_samples", "clip_norm", "clips", "smoothness", "rounding"):
        assert getattr(parted, name) == getattr(whole, name)


@pytest.mark.parametrize("cuts", [[], [1, 2, 20_000], range(500, 40_000, 1700)], ids=len)
def test_whitened_sums_of_many_rows_have_one_value(cuts):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40_000, 3)), rng.integers(2, size=40_000).astype(float)
    matrix = np.rint(1024.0 * (np.eye(4) + 0.3 * rng.normal(size=(4, 4)))) / 1024.0
    model = WhitenedModel.of(LinearModel(3, None, True, 1.0), matrix)
    rows, theta = Rows(X, y), rng.normal(size=4)
    whole = sums_over(whitened_grid_sums, model, Logistic(), rows, 0.3)
    sizes = tuple(np.diff([0, *cuts, 40_000]))
    chunked = ChunkedRows(HeldChunks(np.split(X, list(cuts))), sizes, 3, X.dtype, False, y)
    for other in (chunked, spread(rows, 3)):
        sums = sums_over(whitened_grid_sums, model, Logistic(), other, 0.3)
        np.testing.assert_array_equal(sums.gradient(theta), whole.gradient(theta))
        np.testing.assert_array_equal(sums.curvature(theta, 0.5), whole.curvature(theta, 0.5))
    plain = float_sums(model, Logistic(), rows, 0.3)
    # Cut to 18 bits and not to those that 40,000 rows would leave of a double.
    np.testing.assert_allclose(whole.gradient(theta), plain.gradient(theta), rtol=3e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_not_held_are_those_that_are(dtype):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)).astype(dtype), np.arange(500) % 3
    row_map = RangedRows(np.full(3, 0.25), np.full(3, -1.0), np.full(3, 2.0), dtype)
    given = Rows(X, y, rng.uniform(size=500), groups=Groups.of(np.arange(500) // 2))
    viewed, held = given.viewed(row_map), given.mapped(row_map)
    for part in (slice(0, 500), slice(7, 90), np.array([3, 3, 499])):
        for one, other in zip(viewed.take(part), held.take(part), strict=True):
            np.testing.assert_array_equal(one, other)
    for part in (slice(0, 500), slice(7, 90)):
        viewed.write(part, out := np.empty((part.stop - part.start, 3)))
        np.testing.assert_array_equal(out, held.X[part])
    np.testing.assert_array_equal(viewed.norms(slice(0, 500)), held.norms(slice(0, 500)))
    assert (viewed.n_features, viewed.dtype, viewed.n_units) == (3, np.dtype(dtype), 250)
    parts = [part.take(slice(0, len(part))).X for part in viewed.split(3)]
    np.testing.assert_array_equal(np.concatenate(parts), held.X)
    np.testing.assert_array_equal(X, given.X)
    for method, value in (("mapped", row_map), ("viewed", row_map), ("with_features", X[:, :1])):
        one, other = (getattr(rows, method)(value) for rows in (viewed, given.mapped(row_map)))
        np.testing.assert_array_equal(one.take(slice(0, 500)).X, other.take(slice(0, 500)).X)
        assert one.groups is given.groups and one.weights is given.weights
    alone = Rows(X, y).viewed(row_map).subset(np.array([3, 499]))
    np.testing.assert_array_equal(alone.X, held.X[[3, 499]])
    narrow = LinearModel(3, None, True, 0.5, 0.1)
    np.testing.assert_array_equal(viewed.clipped_by(narrow).X, held.clipped_by(narrow).X)
    assert viewed.clipped_by(LinearModel(3, None, True, 0.5)) is viewed


@pytest.mark.parametrize("width, entries", [(8, 4), (64, 64)])
def test_the_number_of_entries_of_sparse_rows_starts_no_thread(monkeypatch, width, entries):
    """It is private, and other programs can count threads: one entry less changes none."""
    started, start = [], threading.Thread.start
    monkeypatch.setattr(parted, "_openmp_effective_n_threads", lambda: 2)
    monkeypatch.setattr(threading.Thread, "start",
                        lambda self: (started.append(self.name), start(self)))
    n, found = (1 << 20) // entries, []
    for count in (1 << 20, (1 << 20) - 1):
        X = sparse.csr_matrix((np.ones(count), np.arange(count) % width, np.minimum(
            np.arange(n + 1) * entries, count)), (n, width))
        started.clear()
        DPLogisticRegression(epsilon=1.0, delta=1e-8, data_norm=2.0, solver="gd", max_iter=1,
                             classes=[0, 1]).fit(X, np.arange(n) % 2)
        found.append(sum(name.startswith("dpsk") for name in started))
    assert found[0] == found[1] and (found[0] > 0) == (n * min(width, 32) >= 1 << 20)
