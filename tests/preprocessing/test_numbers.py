"""What every transformer of columns of numbers does: contracts by the package's registry."""

import inspect
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import Certificate
from dpsk.accounting import Gaussian
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import gaussian_delta, tally
from tests.instruments import watched_ledgers
from tests.preprocessing.numbers import (
    NUMERIC,
    every_numeric_transformer,
    every_setting,
    fitted,
    table,
)
from tests.sklearn_checks import run_check

SECRET = 31337.25
_CHECKS = parametrize_with_checks([cls(random_state=NoiseSeed(0))
                                   for _, cls in sorted(NUMERIC.items())])


@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


@every_numeric_transformer
def test_every_parameter_has_its_constraint(cls, silent):
    for name, value in cls().get_params().items():
        cls._constraints[name](name, value)
        if name not in ("random_state", "verbose"):
            with pytest.raises(ValueError, match=name):
                cls(**{name: object()}).fit(object())


@every_numeric_transformer
@pytest.mark.parametrize("columns", [
    {"age": ["a"]}, {"age": (1.0, 0.0)}, {"age": (1.0, 2.0, 3.0)}, {"age": 5.0}, ["age"]])
def test_columns_are_told_as_bounds(cls, columns, silent):
    with pytest.raises(ValueError, match="columns"):
        cls(columns=columns).fit(object())


@every_numeric_transformer
@pytest.mark.parametrize("bad, match", [
    (lambda X: X.assign(age=pd.to_datetime("2020-01-01")), "'age' is of datetime"),
    (lambda X: X.assign(age="31337"), "'age' is not of numbers"),
    (lambda X: X.assign(age=pd.Categorical(["31337"] * len(X))), "'age' is not of numbers"),
    (lambda X: X.assign(age=X.age.fillna(0.0) + np.inf), "infinity"),
    (lambda X: X.assign(age=[{SECRET}] * len(X)), "column 'age'"),
    (lambda X: np.full(X.shape, "31337 Linz"), "column 0 .*DPTableVectorizer.* take words"),
    (lambda X: X.to_numpy()[:, 0], "2D array"),
    (lambda X: X.set_axis(["age", "age", "rate"], axis=1), "'age'"),
    (lambda X: X.head(1), "minimum of 2")])
def test_tables_that_are_refused_are_not_quoted(cls, bad, match, silent):
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        cls().fit(bad(table()))
    assert "31337" not in str(caught.value)


@every_setting
def test_a_fit_costs_its_budget_and_the_certificate_says_so(cls, params):
    with watched_ledgers() as ledgers:
        scaler = fitted(cls, **params)
    certificate = scaler.privacy_
    counts = tally(certificate.event)
    assert [tally(ledger.spent) for ledger in ledgers] == [counts] * len(ledgers)
    assert bool(ledgers) == bool(counts) == (params.get("strategy") != "constant")
    # Without the accountant: squares of mu add.
    mu = math.sqrt(sum(count * event.mu**2 for event, count in counts.items()))
    assert all(isinstance(event, Gaussian) for event in counts)
    delta = gaussian_delta(mu, 4.0) if mu else 0.0
    assert certificate.delta_at(4.0) == pytest.approx(delta, rel=1e-9)
    assert not mu or 0.999e-5 < delta <= 1e-5
    assert Certificate.from_json(certificate.to_json()) == certificate
    shown = {name for name in vars(scaler) if name.endswith("_")}
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    heads = {name.strip() for line in attributes.splitlines() if " : " in line
             for name in line.partition(" : ")[0].split(",")}
    assert shown == heads
    assert set(certificate.released) == shown - {"n_features_in_", "feature_names_in_",
                                                 "row_norm_", "privacy_"}


@every_setting
def test_plan_and_event_follow_from_public_facts(cls, params):
    """Tables that are hostile in every row but the same in what is public."""
    X = table()
    event = fitted(cls, X, **params).privacy_.event
    for hostile in (X * 0.0, X * np.nan, 1e300 * np.sign(X), X.assign(wage=np.nan)):
        again = fitted(cls, hostile, **params)
        assert again.privacy_.event == event
        # Fallbacks are documented: noise, or a constant; never infinities.
        for name in again.privacy_.released:
            value = getattr(again, name)
            parts = value.values() if isinstance(value, dict) else [value]
            assert all(part is None or np.isfinite(part).all() for part in parts)


@every_setting
def test_all_that_a_fit_shows_follows_from_its_releases(cls, params, capfd):
    """What releases answered for one table, handed back in a fit to another."""
    X = table()
    hostile = X.copy()
    hostile.iloc[7] = [1e300, np.nan, -1e300]
    others = [hostile, X.sample(frac=1.0, random_state=0), X * 0.0]

    def shown(X, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            scaler = fitted(cls, X, random_state=None, verbose=1, **params)
        faces = {"said": capfd.readouterr(), "warned": [str(one.message) for one in warned],
                 "fit": pickle.dumps(vars(scaler)), "certificate": scaler.privacy_.to_json(),
                 "public": list(tape.public),
                 "rows": pickle.dumps(scaler.transform(table(50, seed=1)))}
        return faces, tape

    faces, tape = shown(X)
    for other in others:
        found, _ = shown(other, tape.answers)
        assert [name for name in faces if faces[name] != found[name]] == []
    if tape.answers:
        assert faces["said"].out and shown(others[2])[0]["fit"] != faces["fit"]


@every_setting
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_bounded_and_keep_their_dtype(cls, params, dtype):
    scaler = fitted(cls, **params)
    wild = np.random.default_rng(0).choice(
        [0.0, -0.0, 5e-324, 1e30, -1e30, 40.0, 1990.0, -3.0], size=(500, 3))
    wild = pd.DataFrame(wild.astype(dtype), columns=table().columns)
    rows = scaler.transform(wild)
    assert rows.dtype == dtype and np.isfinite(rows).all()
    if "row_norm_" in vars(scaler):
        norms = np.linalg.norm(rows.astype(np.float64), axis=1)
        assert norms.max() <= scaler.row_norm_ * (1 + 1e-15)
        (bound,) = [each for each in scaler.privacy_.enforced if each.name == "row_norm"]
        assert bound.value == scaler.row_norm_
    else:
        assert cls.__name__ == "DPSimpleImputer"


@every_setting
def test_rows_are_mapped_by_themselves_and_gaps_stay_or_are_filled(cls, params):
    scaler = fitted(cls, **params)
    X = table(40, seed=3)
    rows = scaler.transform(X)
    alone = np.vstack([scaler.transform(X.iloc[[place]]) for place in range(len(X))])
    np.testing.assert_array_equal(rows, alone)
    gaps = np.isnan(X.to_numpy())
    assert gaps.any()
    if cls.__name__ == "DPSimpleImputer":
        assert not np.isnan(rows).any()
        np.testing.assert_array_equal(rows[:, 0][gaps[:, 0]], scaler.statistics_[0])
    else:
        np.testing.assert_array_equal(np.isnan(rows), gaps)


@every_setting
def test_the_way_back_returns_what_was_not_cut(cls, params):
    params = {**params, "clip": 1e6} if "clip" in inspect.signature(cls).parameters else params
    columns = {"age": (-1e3, 1e3), "wage": (0.0, 1e6), "rate": (-1.0, 1.0)}
    scaler = fitted(cls, columns=columns, **params)
    X = pd.DataFrame({"age": [17.0, np.nan, 60.0], "wage": [10.0, 4000.0, 2e3],
                      "rate": [1e-4, -2e-3, 0.0]})
    rows = scaler.transform(X)
    if cls.__name__ == "DPSimpleImputer" and params.get("add_indicator") is not True:
        with pytest.raises(ValueError, match="add_indicator"):
            scaler.inverse_transform(rows)
        return
    if cls.__name__ == "DPQuantileTransformer" and params:
        # A normal law has an end.
        X, rows = X.iloc[:2], rows[:2]
    back = scaler.inverse_transform(rows)
    tight = params.get("output_distribution") != "normal"
    np.testing.assert_allclose(back, X, rtol=1e-9 if tight else 1e-6, atol=1e-9)


@every_numeric_transformer
def test_names_go_with_pandas_and_arrays(cls):
    frame = fitted(cls).set_output(transform="pandas").transform(table(7))
    assert frame.columns.tolist() == ["age", "wage", "rate"]
    array = fitted(cls, table().to_numpy(), columns={0: (0.0, 100.0)})
    assert array.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert array.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="columns has 'age', which is no column"):
        fitted(cls, table().to_numpy(), columns={"age": (0.0, 100.0)})


@every_numeric_transformer
def test_truths_and_whole_numbers_are_numbers(cls):
    X = pd.DataFrame({"truth": [True, False] * 50, "whole": np.arange(100),
                      "nullable": pd.array([1, None] * 50, dtype="Int64")})
    rows = fitted(cls, X, columns={"whole": (0, 100), "nullable": (0, 2)}).transform(X)
    assert rows.shape == (100, 3) and rows.dtype == np.float64


@every_numeric_transformer
def test_copies_keep_parameters_and_drop_the_fit(cls):
    scaler = fitted(cls, epsilon=0.7)
    copy = clone(scaler)
    assert copy.get_params() == scaler.get_params() and not hasattr(copy, "privacy_")
    again = pickle.loads(pickle.dumps(scaler))
    np.testing.assert_array_equal(again.transform(table(9)), scaler.transform(table(9)))


@every_numeric_transformer
def test_a_seed_repeats_a_fit_and_an_int_does_not(cls):
    def trained(**params):
        return fitted(cls, **{"epsilon": 0.5, **params}).transform(table(50)).tobytes()

    assert trained() == trained() != trained(random_state=NoiseSeed(1))
    # Medians are decimals of few digits, so that two fits may find the same.
    assert len({trained(random_state=0) for _ in range(8)}) > 1


@every_numeric_transformer
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("epsilon, delta", [(1e-3, 0.3), (1.0, None), (300.0, 1e-12),
                                            (math.inf, None)])
def test_few_rows_and_odd_budgets_are_fitted(cls, n, epsilon, delta):
    scaler = fitted(cls, table(n).fillna(0.0), epsilon=epsilon, delta=delta)
    assert np.isfinite(scaler.transform(table(50).fillna(1.0))).all()
    assert epsilon == math.inf or scaler.privacy_.delta_at(epsilon) <= scaler.privacy_.delta
