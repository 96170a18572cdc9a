"""Samplers: parameters, rows and labels in and out, certificates, seeds, and no noise."""

import inspect
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import (
    DPWGAN,
    Certificate,
    DPGaussianSampler,
    DPStandardScaler,
    DPTreeSampler,
    make_dp_pipeline,
)
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.estimators.sampled import COLUMNS, SHORT, fitted, numbers, rows, table
from tests.events import tally
from tests.instruments import repeated_stream, watched_ledgers
from tests.loops import in_a_row
from tests.registry import SAMPLERS, every_sampler
from tests.sklearn_checks import ids_of

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
                          ([0, 0], [1, 1, 1]), ([[0]], [[1]]), (0, 1e-101), "learnt"]},
    DPTreeSampler: {
        "n_bins": [0, -1, 1.5, "many", True],
        "columns": [["age"], {0: 3}, {0: (1,)}, {0: (1, 0)}, {0: (0, math.nan)}, {0: []},
                    {0: ["a", "a"]}, {0: ("a", "b")}, {0: [[1]]}, {0: (0, 5e-324)}]},
    DPWGAN: {
        "hidden_layer_sizes": [0, (8, 0), "wide"],
        "generator_hidden_layer_sizes": [0, (8, 0), "wide"],
        "n_noise": [0, -1, 1.5, "many", True],
        "feature_range": [1.0, (1, 0), (0, math.nan), (0, 1, 2), (0, 5e-324)],
        "columns": [["age"], {0: 3}],
        "alpha": [-1.0, math.nan, "strong"],
        "init": ["means", None, 1],
        "solver": ["adam", None],
        "max_iter": [0, 1.5], "batch_size": [0, 1.5], "clip_norm": [0, -1.0],
        "learning_rate": [0, -1.0]},
}
every_bad_value = in_a_row("cls, name, value", [
    (cls, name, value) for cls in SAMPLERS.values()
    for name, values in {**_REFUSED, **_OWN[cls]}.items() for value in values])


_CHECKS = parametrize_with_checks([cls(random_state=seed) for cls in SAMPLERS.values()
                                   for seed in (None, NoiseSeed(0))])


# scikit-learn 1.6 has them in an iterator.
@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=ids_of(_CHECKS))
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
    assert set(known) - set(cls._constraints) - {"solver"} == {"classes"}
    for name, value in known.items():
        if name in cls._constraints:
            cls._constraints[name](name, value)


@pytest.mark.parametrize("sampler, match", [
    (DPGaussianSampler(n_components=4), "n_components=4: must be at most .* 3"),
    (DPGaussianSampler(feature_range=([0, 0], 1)), "feature_range"),
    (DPGaussianSampler(1e-300, delta=1e-300), "epsilon=1e-300, delta=1e-300: no noise is enough"),
    (DPGaussianSampler(data_norm=None, epsilon=0.01), "data_norm=None: n=90 rows"),
    (DPTreeSampler(columns={7: (0, 1)}), "columns has 7, which is no column"),
    (DPTreeSampler(columns={0: [1.0, 2.0]}), "column 0 holds a value outside"),
    (DPTreeSampler(columns={0: ["a", "b"]}), "columns: 0 has words for categories"),
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
    with pytest.raises(ValueError, match="column 'town' is neither numeric nor declared"):
        DPTreeSampler().fit(table())


@every_sampler
def test_a_fit_costs_its_budget_and_the_certificate_says_so(cls):
    X, y = rows(400)
    with watched_ledgers() as ledgers:
        sampler = cls(epsilon=2.0, random_state=NoiseSeed(0)).fit(X, y)
    (ledger,) = ledgers
    certificate = sampler.privacy_
    assert tally(ledger.spent) == tally(certificate.event)
    assert 0.999 * certificate.delta <= certificate.delta_at(2.0) <= certificate.delta
    assert certificate.delta == 400.0**-2
    assert certificate.arithmetic == ("float" if cls is DPWGAN else "grid")
    assert Certificate.from_json(certificate.to_json()) == certificate
    shown = {name for name in vars(sampler) if name.endswith("_")}
    public = {"classes_", "n_features_in_", "privacy_"} | ({"n_iter_"} if cls is DPWGAN else set())
    assert shown == set(certificate.released) | public
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    assert all(f"\n{name} :" in attributes for name in shown)
    assert "3 class labels (taken from y)" in str(certificate)
    assert cls(classes=[0, 1, 2]).fit(X, y).privacy_.public[-1].endswith("(declared)")


def test_learnt_ranges_cost_their_share_and_are_on_the_certificate():
    X, y = rows(4000, n_features=2)
    frame = pd.DataFrame(X * [1e-2, 1e4], columns=["short", "long"])
    with watched_ledgers() as ledgers:
        sampler = DPGaussianSampler(2.0).fit(frame, y)
    certificate = sampler.privacy_
    assert tally(ledgers[0].spent) == tally(certificate.event)
    assert 0.999 * certificate.delta <= certificate.delta_at(2.0) <= certificate.delta
    # Two medians, four quantiles of a fiftieth each, and one of centered norms.
    counts = sorted(tally(certificate.event).values())
    assert counts == [1, 1, 2, 5] and "feature_range_" in certificate.released
    low, high = sampler.feature_range_
    stated = {bound.name: bound for bound in certificate.enforced}
    for name, *ends in zip(frame.columns, low, high, strict=True):
        assert stated[f"bounds of {name}"].value == ends
        assert stated[f"bounds of {name}"].origin == "released"
    assert stated["row_norm"].value == math.sqrt(2.0)
    assert Certificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize("params, width", [
    ({"feature_range": None}, 3), ({"data_norm": 2.0}, 3), ({}, 65)])
def test_ranges_are_learnt_by_a_public_rule_only(params, width):
    X, y = rows(4000, n_features=width)
    sampler = DPGaussianSampler(30.0).fit(X[:, :3], y)
    assert sampler.feature_range_.shape == (2, 3)
    with warnings.catch_warnings():
        # As they are asked to be: there is nothing to say.
        warnings.simplefilter("error")
        sampler.set_params(**params).fit(X, y)
    assert sampler.feature_range_ is None
    assert not any("range" in bound.name for bound in sampler.privacy_.enforced)


def test_ranges_that_are_not_learnt_are_said_so():
    X, y = rows(300)
    with pytest.warns(PrivacyWarning, match=(
            "feature_range='auto': n=300 rows .* declare them in feature_range.* For now "
            "feature_range=None holds, and columns enter as they are")):
        sampler = DPGaussianSampler(1.0, random_state=NoiseSeed(0)).fit(X, y)
    plain = DPGaussianSampler(1.0, feature_range=None, random_state=NoiseSeed(0)).fit(X, y)
    assert sampler.feature_range_ is None
    assert sampler.privacy_.event == plain.privacy_.event
    declared = DPGaussianSampler(1.0, feature_range=(-5, 5)).fit(X, y)
    assert declared.feature_range_.tolist() == [[-5.0] * 3, [5.0] * 3]
    mixed = DPGaussianSampler(1.0, feature_range=[-5, np.array([5, 6, 7])]).fit(X, y)
    assert mixed.feature_range_.tolist() == [[-5.0] * 3, [5.0, 6.0, 7.0]]


@every_sampler
def test_a_seed_repeats_a_fit_and_an_int_does_not(cls):
    def trained(**params):
        return pickle.dumps([np.round(part, 12) for part in numbers(fitted(cls, **params))])

    assert trained() == trained()
    assert trained() != trained(random_state=NoiseSeed(1))
    assert trained(random_state=0) != trained(random_state=0)
    assert fitted(cls).privacy_.reproducible


@pytest.mark.parametrize("cls, epsilon", [
    *((cls, 4.0) for cls in SAMPLERS.values()), (DPGaussianSampler, 60.0)])
def test_all_that_a_fit_shows_follows_from_its_releases(cls, epsilon, capfd):
    """What releases answered for one table, handed back in a fit to another.

    Enough of a budget for ranges of a normal sampler, and too little.
    """
    X, y = rows(200)
    others = [rows(200, seed=1), (1e4 * X, y), (np.zeros_like(X), np.minimum(y, 1)),
              (X, np.roll(y, 1))]
    params = {"classes": [0, 1, 2], "random_state": 0, "verbose": 1, "epsilon": epsilon}
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
    if cls is DPGaussianSampler:
        assert any("feature_range" in text for text in faces["warned"]) == (epsilon < 60)
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
        with repeated_stream():
            sampler = cls(epsilon=2.0).fit(X, y)
        return pickle.dumps((numbers(sampler), sampler.sample(9, random_state=0)))

    calm = outcome()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PrivacyWarning)
        assert outcome() == calm


@every_sampler
def test_too_few_rows_to_learn_from_are_said_so(cls):
    with pytest.warns(PrivacyWarning, match="too few|no bounds are known"):
        fitted(cls, *rows(20), epsilon=0.1)
    with pytest.warns(PrivacyWarning, match="not private"):
        fitted(cls, epsilon=np.inf)


@every_sampler
def test_pipelines_end_in_them_without_labels(cls):
    """The check of the table before the fit took labels of None for labels."""
    last = cls(**(SHORT if cls is DPWGAN else {}), random_state=NoiseSeed(0))
    pipeline = make_dp_pipeline(DPStandardScaler(), last, epsilon=8.0, delta=1e-4)
    assert pipeline.fit(rows()[0])[-1].sample(5).shape == (5, 3)


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
