"""The vectorizer of tables: features and their norm, certificates, refusals, seeds."""

import inspect
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import Certificate, DPTableVectorizer
from dpsk.accounting import Disclosure, Gaussian
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import gaussian_delta, tally
from tests.instruments import watched_ledgers
from tests.sklearn_checks import ids_of, run_check

SECRET = 31337.25
_CHECKS = parametrize_with_checks([DPTableVectorizer(random_state=seed)
                                   for seed in (None, NoiseSeed(0))])


def table(n=400, seed=0, words=("Linz", "Graz", "Wels")):
    """Return a table of numbers, gaps and words."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 12, size=n)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "town": rng.choice(words, size=n),
                         "size": pd.Categorical(rng.choice(["s", "m"], n), ["s", "m", "l"])})


def fitted(X=None, **params):
    X = table() if X is None else X
    return DPTableVectorizer(**{"epsilon": 2.0, "delta": 1e-4, "max_categories": 8,
                                "random_state": NoiseSeed(0), **params}).fit(X)


@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=ids_of(_CHECKS))
def test_scikit_learns_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


@pytest.mark.parametrize("name, value", [
    ("epsilon", 0), ("epsilon", math.nan), ("delta", 0.0), ("delta", 1.0), ("columns", ["age"]),
    ("columns", {"age": (1, 0)}), ("n_knots", 4), ("n_knots", "many"), ("max_categories", 0),
    ("random_state", -1), ("random_state", np.random.default_rng(0)), ("verbose", -1)])
def test_a_bad_value_is_refused_before_rows_are_looked_at(name, value, silent):
    with pytest.raises(ValueError, match=name):
        DPTableVectorizer(**{name: value}).fit(object())


def test_every_parameter_has_its_constraint_declared():
    for name, value in DPTableVectorizer().get_params().items():
        DPTableVectorizer._constraints[name](name, value)


@pytest.mark.parametrize("bad, match", [
    (lambda X: X.assign(age=pd.to_datetime("2020-01-01")), "'age' is of datetime"),
    (lambda X: X.assign(age=X.age.fillna(0.0) + np.inf), "infinity"),
    (lambda X: X.head(1), "minimum of 2"),
    (lambda X: X.assign(town=[{SECRET}] * len(X)), "cannot be hashed"),
    (lambda X: X.to_numpy(), "column 1"),
    (lambda X: X.to_numpy()[:, 0], "2D array")])
def test_tables_that_are_refused_are_not_quoted(bad, match, silent):
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        DPTableVectorizer().fit(bad(table()))
    assert "31337" not in str(caught.value) and "Linz" not in str(caught.value)


def test_a_column_that_is_not_there_is_refused(silent):
    with pytest.raises(ValueError, match="columns has 'wage', which is no column"):
        DPTableVectorizer(columns={"wage": (0, 1)}).fit(table())


def test_a_fit_costs_its_budget_and_the_certificate_says_so():
    with watched_ledgers() as ledgers:
        coder = fitted()
    (ledger,), certificate = ledgers, coder.privacy_
    counts = tally(certificate.event)
    assert tally(ledger.spent) == counts
    # Without the accountant: squares of mu add, and so does the chance.
    mu = math.sqrt(sum(count * event.mu**2 for event, count in counts.items()
                       if isinstance(event, Gaussian)))
    (chance,) = [event.delta for event in counts if isinstance(event, Disclosure)]
    assert chance == pytest.approx(1e-5)
    delta = chance + (1.0 - chance) * gaussian_delta(mu, 2.0)
    assert delta == pytest.approx(certificate.delta_at(2.0), rel=1e-9)
    assert 0.999 * certificate.delta <= delta <= certificate.delta == 1e-4
    assert certificate.noise_multiplier == pytest.approx(1.0 / mu, rel=1e-6)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.arithmetic == "grid"
    shown = {name for name in vars(coder) if name.endswith("_")}
    assert shown == {"n_features_in_", "feature_names_in_", "row_norm_", "privacy_"}
    attributes = inspect.getdoc(DPTableVectorizer).partition("Attributes")[2]
    assert all(f"\n{name} :" in attributes for name in {*shown, *certificate.released})
    assert all(hasattr(coder, name) for name in certificate.released)


def test_tables_of_which_all_is_declared_cost_nothing(silent):
    columns = {"age": (0.0, 40.0, 80.0), "town": ["Linz", "Graz"]}
    coder = fitted(columns=columns)
    assert tally(coder.privacy_.event) == {} and coder.privacy_.delta_at(0.0) == 0.0
    assert coder.knots_ == {"age": pytest.approx([0, 40, 80])}
    assert coder.categories_ == {"town": ["Linz", "Graz"], "size": ["s", "m", "l"]}
    assert Certificate.from_json(coder.privacy_.to_json()) == coder.privacy_
    assert not fitted(columns=columns, epsilon=np.inf).privacy_.is_private


def test_features_are_weights_of_knots_and_indicators():
    coder = fitted(columns={"age": (0.0, 40.0, 80.0), "town": ["Linz", "Graz"]})
    X = pd.DataFrame({"age": [0.0, 10.0, 40.0, -5.0, 99.0, np.nan],
                      "town": ["Linz", "Graz", "Rome", None, "Linz", "Graz"],
                      "size": pd.Categorical(["s", "m", "l", None, "s", "m"], ["s", "m", "l"])})
    features = coder.transform(X)
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features[:, :3], [
        [1, 0, 0], [0.75, 0.25, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(features[:, 3:6].argmax(axis=1), [0, 1, 2, 2, 0, 1])
    np.testing.assert_array_equal(features[:, 6:].argmax(axis=1), [0, 1, 2, 3, 0, 1])
    assert coder.get_feature_names_out().tolist() == [
        "age[0]", "age[40]", "age[80]", "town_Linz", "town_Graz", "town_other",
        "size_s", "size_m", "size_l", "size_other"]


@pytest.mark.parametrize("seed", range(3))
def test_no_row_is_longer_than_its_bound(seed):
    rng = np.random.default_rng(seed)
    coder = fitted(random_state=NoiseSeed(seed), epsilon=float(rng.choice([0.1, 2.0, 30.0])))
    assert coder.row_norm_ == math.sqrt(3)
    wild = table(2000, seed)
    wild["age"] = rng.choice([0.0, -0.0, 5e-324, 1e-300, 1e300, -1.7e308, 40.0, np.nan], 2000)
    wild.loc[1000:, "age"] = rng.normal(40, 12, 1000)
    norms = np.linalg.norm(coder.transform(wild).astype(np.float64), axis=1)
    # Weights are rounded to single precision.
    assert norms.max() <= coder.row_norm_ * (1 + 1e-7)


def test_without_noise_knots_are_medians_and_all_categories_are_found():
    X = table(4001).assign(age=np.arange(4001.0))
    coder = fitted(X, epsilon=np.inf, n_knots=5)
    assert not coder.privacy_.is_private and coder.categories_["town"] == ["Graz", "Linz", "Wels"]
    # Points of a grid of 0.1 % about quarters of the rows.
    np.testing.assert_allclose(coder.knots_["age"][1:-1], [1000, 2000, 3000], rtol=2e-2)


def test_categories_of_a_single_row_do_not_show():
    """A fit shows one at a chance of at most delta, so that five do at one of 5e-8."""
    X = table()
    X.loc[3, "town"] = "Secretville"
    for seed in range(5):
        coder = fitted(X, random_state=NoiseSeed(seed), delta=1e-8)
        assert coder.categories_["town"] and "Secretville" not in coder.categories_["town"]
        assert b"Secretville" not in pickle.dumps(coder)


def test_names_go_with_pandas_and_arrays():
    coder = fitted().set_output(transform="pandas")
    features = coder.transform(table(7))
    assert features.columns.tolist() == coder.get_feature_names_out().tolist()
    assert len(features.columns) == len(set(features.columns))
    array = fitted(table()[["age"]].to_numpy(), columns={0: (0, 50, 100)})
    assert array.get_feature_names_out().tolist() == ["x0[0]", "x0[50]", "x0[100]"]
    assert array.get_feature_names_out(["age"]).tolist() == ["age[0]", "age[50]", "age[100]"]
    with pytest.raises(ValueError, match="input_features"):
        coder.get_feature_names_out(["other", "town", "size"])


def test_a_seed_repeats_a_fit_and_an_int_does_not():
    def trained(**params):
        return fitted(**params).knots_["age"].tolist()

    assert trained() == trained() != trained(random_state=NoiseSeed(1))
    assert trained(random_state=0) != trained(random_state=0)
    assert fitted().privacy_.reproducible and not fitted(random_state=0).privacy_.reproducible


def test_all_that_a_fit_shows_follows_from_its_releases(capfd):
    """What releases answered for one table, handed back in a fit to another."""
    X = table()
    others = [X.sample(frac=1.0, random_state=0), X.assign(age=1e6 * X["age"]),
              X.assign(age=0.0, town=X["town"].to_numpy()[::-1])]

    def shown(X, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            coder = fitted(X, random_state=None, verbose=1)
        faces = {"said": capfd.readouterr(), "warned": [str(one.message) for one in warned],
                 "fit": pickle.dumps(vars(coder)), "certificate": coder.privacy_.to_json(),
                 "public": [each for each in tape.public]}
        return faces, tape

    faces, tape = shown(X)
    assert tape.answers and faces["said"].out
    for other in others:
        found, _ = shown(other, tape.answers)
        assert [name for name in faces if faces[name] != found[name]] == []
    assert shown(others[1])[0]["fit"] != faces["fit"]


def test_a_planted_value_is_not_in_the_pickle():
    X = table()
    X.loc[5, "age"] = SECRET
    data = pickle.dumps(fitted(X, random_state=None))
    assert np.float64(SECRET).tobytes() not in data


def test_copies_keep_parameters_and_drop_the_fit():
    coder = fitted(epsilon=0.7)
    copy = clone(coder)
    assert copy.get_params() == coder.get_params() and not hasattr(copy, "privacy_")
    again = pickle.loads(pickle.dumps(coder))
    np.testing.assert_array_equal(again.transform(table(9)), coder.transform(table(9)))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("epsilon, delta", [(1e-3, 0.3), (1.0, None), (300.0, 1e-12)])
def test_few_rows_and_odd_budgets_are_fitted(n, epsilon, delta):
    coder = fitted(table(n), epsilon=epsilon, delta=delta)
    assert np.isfinite(coder.transform(table(5))).all()
    assert coder.privacy_.delta_at(epsilon) <= coder.privacy_.delta
