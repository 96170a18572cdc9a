"""Samplers: parameters, rows and labels in and out, certificates, seeds, and no noise."""

import math
import pickle
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import Certificate, DPGaussianSampler, DPTreeSampler, _fit
from dpsk._privacy.events import tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import streams
from dpsk._privacy.noise.streams import KeyedStream
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.registry import SAMPLERS, every_sampler

SECRET = 31337.25
_REFUSED = {
    "epsilon": [0, -1.0, math.nan, -math.inf, "1", None, True],
    "delta": [0, 0.0, -1e-9, 1.0, math.nan, "auto", False],
    "random_state": [-1, 1.5, "seed", True, np.random.default_rng(0)],
    "verbose": ["yes", -1, 1.5, None],
}
_OWN = {
    DPGaussianSampler: {
        "n_components": [0, -1, 1.5, "all", True],
        "data_norm": [0, -1.0, math.nan, math.inf, "max", True],
        "feature_range": [1.0, (1, 0), (0, 0), (0, math.nan), (0, math.inf), "01", (0, 1, 2),
                          ([0, 0], [1, 1, 1]), ([[0]], [[1]]), (0, 1e-101)]},
    DPTreeSampler: {
        "n_bins": [0, -1, 1.5, "many", True],
        "columns": [["age"], {0: 3}, {0: (1,)}, {0: (1, 0)}, {0: (0, math.nan)}, {0: []},
                    {0: ["a", "a"]}, {0: ("a", "b")}, {0: [[1]]}]},
}
every_bad_value = pytest.mark.parametrize("cls, name, value", [
    (cls, name, value) for cls in SAMPLERS.values()
    for name, values in {**_REFUSED, **_OWN[cls]}.items() for value in values])


def rows(n=90, n_features=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, n_features)) + y[:, None], y


def table(n=90, seed=0):
    """Return a frame of columns of several kinds."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.integers(18, 91, size=n), "height": rng.uniform(1.4, 2.1, size=n),
        "town": rng.choice(["north", "south"], size=n), "member": rng.random(n) < 0.5,
        "size": pd.Categorical(rng.choice(["s", "m"], size=n), ["s", "m", "l"], ordered=True)})


COLUMNS = {"age": (17, 90), "height": (1.0, 2.5), "town": ["north", "south", "west"]}


def fitted(cls, X=None, y=None, **params):
    if X is None:
        X, y = rows()
    return cls(**{"epsilon": 3.0, "delta": 1e-4, "random_state": NoiseSeed(0), **params}).fit(X, y)


@pytest.fixture
def silent(monkeypatch):
    """Fail where noise is drawn."""
    for stream in (streams.EntropyStream, streams.KeyedStream):
        monkeypatch.setattr(stream, "words", lambda self, count: pytest.fail("noise was drawn"))


@parametrize_with_checks([cls(random_state=seed) for cls in SAMPLERS.values()
                          for seed in (None, NoiseSeed(0))])
def test_scikit_learns_checks(estimator, check):
    """All of them; what repeats a fit is skipped where noise does not repeat, by the tag."""
    check(estimator)


@every_bad_value
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=name) as caught:
        cls(**{name: value}).fit(object(), None)
    text = str(caught.value)
    assert "must be" in text
    shown = type(value).__name__ if name == "random_state" else repr(
        next(iter(value.values())) if isinstance(value, dict) else value)
    assert shown in text


@every_sampler
def test_every_parameter_has_its_constraint_declared(cls):
    known = cls().get_params()
    assert set(known) - set(cls._constraints) == {"classes"}
    for name, value in known.items():
        if name in cls._constraints:
            cls._constraints[name](name, value)


@pytest.mark.parametrize("sampler, match", [
    (DPGaussianSampler(n_components=4), "n_components=4: must be at most .* 3"),
    (DPGaussianSampler(feature_range=([0, 0], 1)), "feature_range"),
    (DPGaussianSampler(data_norm=None, epsilon=0.01), "data_norm=None: n=90 rows"),
    (DPTreeSampler(columns={7: (0, 1)}), "columns has 7, which is no column"),
    (DPTreeSampler(columns={0: ["a", "b"]}), "column 0 holds a value outside"),
    (DPTreeSampler(classes=[0, 1]), "y holds a label outside classes"),
    (DPGaussianSampler(classes=[0]), "at least two")])
def test_what_does_not_go_with_the_rows_is_refused(sampler, match, silent):
    with pytest.raises(ValueError, match=match):
        sampler.fit(*rows())


@every_sampler
def test_classes_without_labels_are_refused(cls, silent):
    with pytest.raises(ValueError, match=r"classes=.*no"):
        cls(classes=[0, 1]).fit(rows()[0])


@every_sampler
@pytest.mark.parametrize("bad", ["nan", "word", "label", "short"])
def test_rows_that_are_refused_are_not_quoted(cls, bad, silent):
    X, y = rows()
    X[3, 1] = SECRET
    X = X.astype(object)
    if bad == "nan":
        X[4, 1] = math.nan
    elif bad == "word":
        X[4, 1] = f"secret {SECRET}"
    elif bad == "label":
        y = y + 0.1 * SECRET
    else:
        y = y[:-1]
    with pytest.raises(ValueError) as caught, warnings.catch_warnings(record=True) as warned:
        cls().fit(X, y)
    said = str(caught.value) + "".join(str(one.message) for one in warned)
    assert "31337" not in said and "secret" not in said and "3133" not in said
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_category_that_was_not_declared_is_not_quoted(silent):
    frame = table()
    frame.loc[3, "town"] = "Secretville"
    with pytest.raises(ValueError, match="column 'town' holds") as caught:
        DPTreeSampler(columns=COLUMNS).fit(frame)
    assert "Secretville" not in str(caught.value)
    with pytest.raises(ValueError, match=r"not numeric in column 'town'"):
        DPTreeSampler().fit(table())


@every_sampler
def test_a_fit_costs_its_budget_and_the_certificate_says_so(cls):
    ledgers = []

    class Kept(Ledger):
        def __init__(self, plan):
            super().__init__(plan)
            ledgers.append(self)

    X, y = rows(400)
    with mock.patch.object(_fit, "Ledger", Kept):
        sampler = cls(epsilon=2.0, random_state=NoiseSeed(0)).fit(X, y)
    (ledger,) = ledgers
    certificate = sampler.privacy_
    assert tally(ledger.spent) == tally(certificate.event)
    assert 0.999 * certificate.delta <= certificate.delta_at(2.0) <= certificate.delta
    assert certificate.delta == 400.0**-2 and certificate.arithmetic == "grid"
    assert Certificate.from_json(certificate.to_json()) == certificate
    shown = {name for name in vars(sampler) if name.endswith("_")}
    public = {"classes_", "n_features_in_", "privacy_"}
    assert shown == set(certificate.released) | public
    assert "3 class labels (taken from y)" in str(certificate)
    assert cls(classes=[0, 1, 2]).fit(X, y).privacy_.public[-1].endswith("(declared)")


@every_sampler
def test_a_seed_repeats_a_fit_and_an_int_does_not(cls):
    def trained(**params):
        return pickle.dumps([np.round(part, 12) for part in _numbers(fitted(cls, **params))])

    assert trained() == trained()
    assert trained() != trained(random_state=NoiseSeed(1))
    assert trained(random_state=0) != trained(random_state=0)
    assert fitted(cls).privacy_.reproducible


def _numbers(sampler):
    """Return all numbers that were released."""
    parts = []
    for name in sampler.privacy_.released:
        value = getattr(sampler, name)
        parts += [np.asarray(part, float) for part in (
            value if isinstance(value, list) else [value])]
    return parts


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
    # Five standard deviations of a share.
    np.testing.assert_allclose([np.mean(drawn == name) for name in "abc"], sampler.class_prior_,
                               atol=5 * math.sqrt(0.25 / 20_000))
    one, ones = sampler.sample(4000, y="b", random_state=0)
    assert set(ones) == {"b"}
    order = np.array(["c", "a"] * 2000)
    both, asked = sampler.sample(4000, y=order, random_state=0)
    assert list(asked) == list(order)
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
    with pytest.raises(ValueError, match="y holds a label outside classes_"):
        sampler.sample(2, y=[0, 9])
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


@pytest.mark.parametrize("n_components, feature_range", [(None, None), (3, None), (None, (-9, 9))])
def test_without_noise_a_gaussian_sampler_has_the_moments_of_the_rows(n_components, feature_range):
    X, y = rows(400, n_features=5)
    X = X @ np.diag([1.0, 0.5, 2.0, 1.0, 0.1])
    sampler = fitted(DPGaussianSampler, X, y, epsilon=np.inf, n_components=n_components,
                     feature_range=feature_range)
    assert not sampler.privacy_.is_private
    scale = 9.0 if feature_range else 1.0
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
        # Five standard deviations of a share of 13,000.
        for a, b in ((0, 1), (1, 2)):
            np.testing.assert_allclose(
                np.histogram2d(own[:, a], own[:, b], bins=3)[0] / len(own),
                np.histogram2d(real[:, a], real[:, b], bins=3)[0] / len(real), atol=0.022)


@every_sampler
def test_as_epsilon_grows_a_fit_tends_to_the_one_without_noise(cls):
    X, y = rows(3000)
    params = {"feature_range": (-6, 8)}
    if cls is DPTreeSampler:
        # A chain with rows in every cell, so that the forest is the same whatever the noise.
        steps = np.random.default_rng(0).choice(3, p=[0.7, 0.2, 0.1], size=X.shape)
        X, params = np.cumsum(steps, axis=1) % 3, {"columns": dict.fromkeys(range(3), (0, 2))}
    exact = _numbers(fitted(cls, X, y, epsilon=np.inf, **params))
    errors = [max(np.abs(one - other).max() for one, other in zip(
        _numbers(fitted(cls, X, y, epsilon=epsilon, **params)), exact, strict=True)
        if one.shape == other.shape and one.size > 1) for epsilon in (1e2, 1e5)]
    assert errors[1] < 0.02 and errors[1] < errors[0]


@every_sampler
def test_all_that_a_fit_shows_follows_from_its_releases(cls, capfd):
    """What releases answered for one table, handed back in a fit to another."""
    X, y = rows(200)
    others = [rows(200, seed=1), (1e4 * X, y), (np.zeros_like(X), np.minimum(y, 1)),
              (X, np.roll(y, 1))]
    params = {"classes": [0, 1, 2], "random_state": 0, "verbose": 1, "epsilon": 4.0}
    if cls is DPTreeSampler:
        params["columns"] = {0: (-3, 5), 1: (-3, 5)}

    def shown(X, y, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            sampler = cls(**params).fit(X, y)
        drawn = sampler.sample(20, random_state=0)
        return {"said": capfd.readouterr(), "warned": [str(one.message) for one in warned],
                "drawn": pickle.dumps(drawn), "fit": pickle.dumps(vars(sampler)),
                "certificate": sampler.privacy_.to_json(), "public": tape.public}, tape

    faces, tape = shown(X, y)
    assert tape.answers and faces["said"].out
    for other in others:
        found, _ = shown(*other, tape.answers)
        assert [name for name in faces if faces[name] != found[name]] == []
    assert shown(*others[0])[0]["drawn"] != faces["drawn"]


@every_sampler
def test_a_planted_value_is_not_in_the_pickle(cls):
    X, y = rows()
    X[5] = SECRET
    data = pickle.dumps(fitted(cls, X, y, random_state=None))
    assert np.float64(SECRET).tobytes() not in data and b"31337" not in data


@every_sampler
def test_fits_are_the_same_whatever_errors_are_set_to_raise(cls):
    X, y = rows(160)
    X[:64] = np.copysign(np.repeat([0.0, 5e-324, 1e-300, 1e-160, 1.0, 1e4, 1e160, 1.7e308],
                                   8)[:, None], X[:64])

    def outcome():
        with mock.patch.object(_fit, "open_stream", lambda *_: KeyedStream(b"0123456789abcdef")):
            sampler = cls(epsilon=2.0).fit(X, y)
        return pickle.dumps((_numbers(sampler), sampler.sample(9, random_state=0)))

    calm = outcome()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PrivacyWarning)
        assert outcome() == calm


@every_sampler
def test_too_few_rows_to_learn_from_are_said_so(cls):
    with pytest.warns(PrivacyWarning, match="too few"):
        fitted(cls, *rows(20), epsilon=0.1)
    with pytest.warns(PrivacyWarning, match="not private"):
        fitted(cls, epsilon=np.inf)


@every_sampler
def test_copies_keep_parameters_and_drop_the_fit(cls):
    sampler = fitted(cls, epsilon=0.7)
    copy = clone(sampler)
    assert copy.get_params() == sampler.get_params() and not hasattr(copy, "privacy_")
    again = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(again.sample(5, random_state=1)[0],
                                  sampler.sample(5, random_state=1)[0])


@every_sampler
@pytest.mark.parametrize("n", [2, 3])
def test_few_rows_are_fitted(cls, n):
    X, y = rows(n, n_features=1, n_classes=2)
    drawn, labels = fitted(cls, X, y, delta=0.1).sample(7)
    assert drawn.shape == (7, 1) and np.isfinite(drawn).all() and len(labels) == 7
