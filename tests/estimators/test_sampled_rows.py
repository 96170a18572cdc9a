"""Rows that samplers draw: seeds, classes, containers, ranges, and what they are without noise."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from dpsk import DPWGAN, DPGaussianSampler, DPTreeSampler
from dpsk.exceptions import PrivacyWarning
from tests.estimators.sampled import COLUMNS, fitted, numbers, rows, table
from tests.registry import every_sampler


@every_sampler
def test_draws_are_repeated_by_an_int_and_cost_nothing(cls):
    sampler = fitted(cls)
    before = pickle.dumps(sampler)
    one, other, third, fourth = (sampler.sample(50, random_state=seed)[0]
                                 for seed in (3, 3, 4, None))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third) and not np.array_equal(one, fourth)
    assert pickle.dumps(sampler) == before


@every_sampler
def test_classes_are_drawn_in_proportion_or_as_asked_for(cls):
    X, y = rows(300)
    labels = np.array(["a", "b", "c"])[np.minimum(y * 3 // 2, 2) % 3]
    sampler = fitted(cls, X, labels, epsilon=np.inf)
    np.testing.assert_allclose(sampler.class_prior_, [np.mean(labels == name) for name in "abc"],
                               atol=1e-4)
    _, drawn = sampler.sample(20_000, random_state=0)
    # Six standard deviations of a share.
    np.testing.assert_allclose([np.mean(drawn == name) for name in "abc"], sampler.class_prior_,
                               atol=6 * math.sqrt(0.25 / 20_000))
    one, ones = sampler.sample(4000, y="b", random_state=0)
    assert set(ones) == {"b"}
    order = np.array(["c", "a"] * 2000)
    both, asked = sampler.sample(4000, y=order, random_state=0)
    assert list(asked) == list(order)
    if cls is DPWGAN:
        # Its rows are clipped to (-1, 1) where no bounds are declared.
        return
    for part, name in ((one, "b"), (both[::2], "c"), (both[1::2], "a")):
        np.testing.assert_allclose(part.mean(axis=0), X[labels == name].mean(axis=0), atol=0.2)


@every_sampler
def test_bad_requests_are_refused(cls):
    with pytest.raises(NotFittedError):
        cls().sample()
    sampler = fitted(cls)
    for given in (0, -1, 1.5, "all", None):
        with pytest.raises(ValueError, match="n_samples"):
            sampler.sample(given)
    for labels in ([0, 9], [0, None], ["0", "1"], [0.5, 0.0]):
        with pytest.raises(ValueError, match="y holds a label outside classes_; ask for rows of"):
            sampler.sample(2, y=labels)
    with pytest.raises(ValueError, match=r"y of shape \(3,\)"):
        sampler.sample(2, y=[0, 1, 1])
    with pytest.raises(ValueError, match="random_state"):
        sampler.sample(2, random_state=-1)
    unlabeled = fitted(cls, rows()[0], None)
    assert unlabeled.sample(5).shape == (5, 3)
    assert not hasattr(unlabeled, "classes_") and not hasattr(unlabeled, "class_prior_")
    with pytest.raises(ValueError, match="fitted without labels"):
        unlabeled.sample(2, y=0)
    # A fit without labels forgets those of an earlier one.
    assert not hasattr(sampler.fit(rows()[0]), "classes_")


@every_sampler
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_of_rows_is_kept(cls, dtype):
    X, y = rows()
    sampler = fitted(cls, X.astype(dtype), y)
    assert sampler.sample(3)[0].dtype == dtype
    if cls is DPGaussianSampler:
        assert sampler.center_.dtype == sampler.covariances_.dtype == dtype


def test_whole_numbers_stay_whole_and_within_their_bounds():
    X = np.random.default_rng(0).integers(0, 7, size=(200, 2))
    sampler = DPTreeSampler(columns={0: (0, 6), 1: (0, 6)}, n_bins=3).fit(X)
    drawn = sampler.sample(500)
    assert drawn.dtype == X.dtype and set(np.unique(drawn)) == set(range(7))
    assert [len(edges) for edges in sampler.bins_] == [4, 4]


def test_a_frame_comes_back_as_it_went_in():
    frame, y = table(), np.arange(90) % 2
    sampler = DPTreeSampler(epsilon=5.0, columns=COLUMNS).fit(frame, y)
    drawn, labels = sampler.sample(400, random_state=0)
    assert list(drawn.columns) == list(frame.columns) and len(labels) == 400
    assert list(map(str, drawn.dtypes)) == list(map(str, frame.dtypes))
    assert drawn["age"].between(17, 90).all() and drawn["height"].between(1.0, 2.5).all()
    assert set(drawn["town"]) <= {"north", "south", "west"}
    assert list(sampler.feature_names_in_) == list(frame.columns)
    public = " ".join(sampler.privacy_.public)
    assert "categories of 1 columns (declared)" in public
    assert "categories of 2 columns (taken from the dtype)" in public
    plain = DPGaussianSampler().fit(frame[["age", "height"]]).sample(3)
    assert isinstance(plain, pd.DataFrame) and list(plain.columns) == ["age", "height"]


def test_rows_that_are_drawn_are_within_declared_ranges():
    X, y = rows()
    ranges = [-1.0, -2.0, 0.0], [1.0, 0.5, 3.0]
    sampler = fitted(DPGaussianSampler, X, y, feature_range=ranges, epsilon=0.1)
    drawn, _ = sampler.sample(1000)
    assert np.all((drawn >= ranges[0]) & (drawn <= ranges[1]))


@pytest.mark.parametrize("epsilon", [3.0, np.inf])
def test_columns_in_any_unit_come_back_in_it(epsilon):
    """Tolerances are ten deviations beyond the largest error of twelve runs."""
    X, y = rows(20_000, n_features=6, n_classes=2)
    scale = np.logspace(-3, 3, 6)
    X *= scale
    learnt, plain = (fitted(DPGaussianSampler, X, y, epsilon=epsilon, feature_range=given)
                     for given in ("auto", None))
    drawn, labels = learnt.sample(20_000, random_state=0)
    for label in (0, 1):
        own, real = drawn[labels == label], X[y == label]
        np.testing.assert_allclose(own.mean(axis=0) / scale, real.mean(axis=0) / scale, atol=0.1)
        np.testing.assert_allclose(own.std(axis=0) / scale, 1.0, atol=0.15)
    assert np.all((drawn >= learnt.feature_range_[0]) & (drawn <= learnt.feature_range_[1]))
    if epsilon < np.inf:
        assert plain.sample(2000, random_state=0)[0][:, 0].std() > 10 * scale[0]


@pytest.mark.parametrize("usual, other", [(0.0, 1.0), (1.0, 0.0), (2.0, 1.0), (-1.0, -2.0)])
def test_ranges_reach_beyond_the_number_that_most_entries_are(usual, other):
    X = np.full((4000, 2), usual)
    X[::2000] = other
    low, high = fitted(DPGaussianSampler, X, epsilon=8.0).feature_range_
    assert np.all((low <= other) & (other <= high) & (high - low < 3.0))


@pytest.mark.parametrize("epsilon", [30.0, np.inf])
@pytest.mark.parametrize("value", [0.0, 1.0, -3e5, 1e25, 1e35, -1e200])
def test_columns_of_one_number_come_back(value, epsilon):
    X = np.column_stack([np.full(500, value), np.random.default_rng(0).normal(size=500)])
    drawn = fitted(DPGaussianSampler, X, epsilon=epsilon).sample(500, random_state=0)
    assert np.isfinite(drawn).all()
    # What the grid of a private fit, and single precision, can hold.
    held = np.clip(value, -1e12, 1e12) if epsilon < np.inf else np.clip(value, -1e30, 1e30)
    assert np.median(drawn[:, 0]) == pytest.approx(held, rel=0.6, abs=0.3)
    assert drawn[:, 1].std() == pytest.approx(1.0, abs=0.4)


@pytest.mark.parametrize("n_components, feature_range", [
    (None, None), (3, None), (None, (-9, 9)), (None, "auto")])
def test_without_noise_a_gaussian_sampler_has_the_moments_of_the_rows(n_components, feature_range):
    X, y = rows(400, n_features=5)
    X = X @ np.diag([1.0, 0.5, 2.0, 1.0, 0.1])
    sampler = fitted(DPGaussianSampler, X, y, epsilon=np.inf, n_components=n_components,
                     feature_range=feature_range)
    assert not sampler.privacy_.is_private
    scale = 1.0 if feature_range is None else 0.5 * np.diff(sampler.feature_range_, axis=0)
    V = sampler.components_
    np.testing.assert_allclose(sampler.center_, X.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-4)
    np.testing.assert_allclose(sampler.class_prior_, np.bincount(y) / 400, atol=1e-6)
    for label in range(3):
        own = (X[y == label] - X.mean(axis=0)) @ V.T / scale
        np.testing.assert_allclose(sampler.means_[label], own.mean(axis=0), atol=1e-4)
        np.testing.assert_allclose(sampler.covariances_[label], np.cov(own.T, bias=True),
                                   atol=1e-3)
    if n_components:
        # The subspace is that of the main directions, and the rest of the columns is beside it.
        centered = X - X.mean(axis=0)
        _, _, main = np.linalg.svd(centered, full_matrices=False)
        np.testing.assert_allclose(np.abs(main[:3] @ V.T).max(axis=1), 1.0, atol=1e-3)
        rest = (centered**2).mean(axis=0) - ((centered @ V.T @ V)**2).mean(axis=0)
        np.testing.assert_allclose(sampler.noise_variance_, rest, atol=1e-3)


def test_without_noise_a_tree_has_the_tables_of_the_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    first = rng.integers(3, size=600)
    second = (first + (rng.random(600) < 0.2)) % 3
    third = np.where(rng.random(600) < 0.7, second, y)
    X = np.column_stack([first, second, third])
    labels = [0, 1, 2]
    sampler = fitted(DPTreeSampler, X, y, epsilon=np.inf,
                     columns={0: labels, 1: labels, 2: labels})
    assert sampler.parents_.tolist() == [-1, 0, 1]
    for column, parent in enumerate(sampler.parents_):
        given = np.zeros(600, int) if parent < 0 else X[:, parent]
        exact = np.zeros((2, 3 if parent >= 0 else 1, 3))
        np.add.at(exact, (y, given, X[:, column]), 1)
        exact /= exact.sum(axis=2, keepdims=True)
        found = sampler.tables_[column].reshape(exact.shape)
        np.testing.assert_allclose(found, exact, atol=1e-6)
    drawn, labels = sampler.sample(30_000, random_state=0)
    for label in (0, 1):
        own, real = drawn[labels == label], X[y == label]
        # Six standard deviations of a share of 13,000.
        for a, b in ((0, 1), (1, 2)):
            np.testing.assert_allclose(
                np.histogram2d(own[:, a], own[:, b], bins=3)[0] / len(own),
                np.histogram2d(real[:, a], real[:, b], bins=3)[0] / len(real), atol=0.025)


@pytest.mark.parametrize("cls", [DPGaussianSampler, DPTreeSampler])
def test_as_epsilon_grows_a_fit_tends_to_the_one_without_noise(cls):
    X, y = rows(3000)
    params = {"feature_range": (-6, 8)}
    if cls is DPTreeSampler:
        # A chain with rows in every cell, so that the forest is the same whatever the noise.
        steps = np.random.default_rng(0).choice(3, p=[0.7, 0.2, 0.1], size=X.shape)
        X, params = np.cumsum(steps, axis=1) % 3, {"columns": dict.fromkeys(range(3), (0, 2))}
    exact = numbers(fitted(cls, X, y, epsilon=np.inf, **params))
    errors = [max(np.abs(one - other).max() for one, other in zip(
        numbers(fitted(cls, X, y, epsilon=epsilon, **params)), exact, strict=True)
        if one.shape == other.shape and one.size > 1) for epsilon in (1e2, 1e5)]
    assert errors[1] < 0.02 and errors[1] < errors[0]


@pytest.mark.parametrize("solver", ["sgda", "privatediff"])
def test_without_noise_a_generator_learns_from_its_critic_where_classes_are(solver):
    X, y = rows(2000, n_classes=2)
    X[y == 1] += 3.0
    sampler = fitted(DPWGAN, X, y, epsilon=np.inf, feature_range=(-5, 9), solver=solver,
                     init="random", max_iter=150, hidden_layer_sizes=32,
                     generator_hidden_layer_sizes=32)
    # By chance it would be half of them; fits differ by .025.
    drawn, labels = sampler.sample(1000, random_state=0)
    nearest = np.argmin([np.square(drawn - X[y == label].mean(axis=0)).sum(axis=1)
                         for label in (0, 1)], axis=0)
    assert np.mean(nearest == labels) > 0.7


def test_a_generator_starts_from_the_laws_of_its_classes():
    X, y = rows(3000, n_classes=2)
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    X[y == 1] += 3.0
    sampler = fitted(DPWGAN, X, y, epsilon=10.0, feature_range=(-6, 10), n_noise=3, max_iter=1,
                     generator_hidden_layer_sizes=64)
    drawn, labels = sampler.sample(4000, random_state=0)
    for label in (0, 1):
        own, other = X[y == label], drawn[labels == label]
        np.testing.assert_allclose(other.mean(axis=0), own.mean(axis=0), atol=0.25)
        # Units over their mean square lose some of the length of three normals.
        assert 0.5 < np.trace(np.cov(other.T)) / np.trace(np.cov(own.T)) < 1.1
        np.testing.assert_allclose(np.corrcoef(other.T), np.corrcoef(own.T), atol=0.2)
    with_start, without = (fitted(DPWGAN, X, y, init=init).privacy_.event
                           for init in ("moments", "random"))
    assert with_start != without


def test_a_generator_draws_frames_of_numbers_and_categories():
    frame, y = table(), np.arange(90) % 2
    sampler = fitted(DPWGAN, frame, y, columns=COLUMNS)
    drawn, labels = sampler.sample(400, random_state=0)
    assert list(drawn.columns) == list(frame.columns) and len(labels) == 400
    assert list(map(str, drawn.dtypes)) == list(map(str, frame.dtypes))
    assert drawn["age"].between(17, 90).all() and drawn["height"].between(1.0, 2.5).all()
    assert set(drawn["town"]) <= {"north", "south", "west"}


@every_sampler
def test_a_class_without_rows_can_be_asked_for_and_is_hardly_ever_drawn(cls):
    X, y = rows(600, n_classes=2)
    for epsilon in (np.inf, 2.0):
        sampler = fitted(cls, X, y, classes=[0, 1, 9], epsilon=epsilon)
        drawn, labels = sampler.sample(50, y=9)
        assert np.isfinite(drawn).all() and set(labels) == {9}
        assert sampler.class_prior_[2] < 0.2


@every_sampler
def test_rows_do_not_follow_parameters_that_are_set_after_the_fit(cls):
    X, y = rows()
    ranged = {"columns": {place: (-3.0, 5.0) for place in range(3)}}
    if cls is DPGaussianSampler:
        ranged = {"feature_range": (-3.0, 5.0)}
    sampler = fitted(cls, X, y, **ranged)
    before = sampler.sample(30, random_state=0)
    after = sampler.set_params(**dict.fromkeys(ranged)).sample(30, random_state=0)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("share", [0.03, 0.97])
@pytest.mark.parametrize("dtype", [float, int])
def test_a_tree_keeps_rare_numbers_of_columns_that_are_mostly_one_number(share, dtype):
    rng = np.random.default_rng(0)
    X = pd.DataFrame((rng.random((6000, 3)) < share).astype(dtype), columns=["a", "b", "c"])
    with pytest.warns(PrivacyWarning, match=r"mostly one number.*\(column a, b, c\)"):
        sampler = fitted(DPTreeSampler, X)
    drawn = sampler.sample(6000, random_state=0)
    for name in X:
        assert set(np.round(drawn[name], 6)) >= {0.0, 1.0}
        assert drawn[name].mean() == pytest.approx(X[name].mean(), abs=0.02)
        assert drawn[name].std() == pytest.approx(X[name].std(), abs=0.05)
