"""Naive Bayes and discriminants: parameters, rows in and predictions out, certificates, seeds."""

import inspect
import math
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import Certificate, DPMultinomialNB, DPStandardScaler, make_dp_pipeline
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.estimators.classes import MODELS, fitted, numbers, rows
from tests.events import tally
from tests.instruments import repeated_stream, watched_ledgers
from tests.loops import in_a_row
from tests.registry import CLASS_MODELS, every_class_model
from tests.sklearn_checks import WEIGHTS, ids_of, run_check

SECRET = 31337.25


def _expected(estimator):
    counts = {"check_decision_proba_consistency": "its rows have negative entries"} if (
        get_tags(estimator).input_tags.positive_only) else {}
    return {"check_sample_weight_equivalence_on_dense_data": WEIGHTS,
            "check_sample_weight_equivalence_on_sparse_data": WEIGHTS, **counts}


_CHECKS = parametrize_with_checks(
    [cls(random_state=seed) for cls in CLASS_MODELS.values() for seed in (NoiseSeed(0), None)],
    expected_failed_checks=_expected)


@pytest.mark.covering
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=ids_of(_CHECKS))
def test_scikit_learn_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


_REFUSED = {
    "epsilon": [0, -1.0, math.nan, "1", None, True],
    "delta": [0, 0.0, -1e-9, 1.0, math.nan, "auto"],
    "priors": [0.5, [0.5], [0.5, 0.6], [-1.0, 2.0], "even", [math.nan, 1.0]],
    "alpha": [-1.0, math.nan, "auto", None, True], "fit_prior": [1, None, "yes"],
    "class_prior": [0.5, [0.5, 0.6], "even"], "binarize": ["auto", math.nan, True],
    "min_categories": [0, -1, 1.5, "many", [2, 0], [[2]], True],
    "var_smoothing": [-1.0, math.nan, math.inf, "much", None, True],
    "shrinkage": [-0.1, 1.1, "auto", True], "reg_param": [-0.1, 1.1, None, "auto"],
    "store_covariance": [1, "yes", None],
    "feature_range": [1.0, (1, 0), (0, 0), (0, math.nan), "01", (0, 1, 2), "learnt"],
    "data_norm": [0, -1.0, math.nan, math.inf, "max", True],
    "random_state": [-1, 1.5, "seed", np.random.default_rng(0)],
    "verbose": ["yes", -1, None],
}
every_bad_value = in_a_row("cls, name, value", [
    (cls, name, value) for cls in CLASS_MODELS.values() for name, values in _REFUSED.items()
    for value in values if name in cls._get_param_names()])


@every_bad_value
def test_a_bad_value_is_refused_before_rows_are_looked_at(cls, name, value, silent):
    with pytest.raises(ValueError, match=f"{name}=|{name} of|{name} must") as caught:
        cls(**{name: value}).fit(object(), None)
    assert "must be" in str(caught.value)


@every_class_model
def test_every_parameter_has_its_constraint_declared(cls):
    known = cls().get_params()
    assert set(known) - set(cls._constraints) == {"classes"}
    for name, value in known.items():
        if name in cls._constraints:
            cls._constraints[name](name, value)


@every_class_model
def test_what_does_not_go_with_the_rows_is_refused(cls, silent):
    X, y = rows()
    prior = "class_prior" if "class_prior" in cls._get_param_names() else "priors"
    with pytest.raises(ValueError, match=f"{prior}=.* one probability for each of the 3"):
        cls(**{prior: [0.5, 0.5]}).fit(X, y)
    with pytest.raises(ValueError, match="outside classes"):
        cls(classes=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        cls().fit(X, np.zeros_like(y))
    with pytest.raises(ValueError, match="sample_weight"):
        cls().fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="groups"):
        cls().fit(X, y, groups=np.zeros(len(y)))


@every_class_model
@pytest.mark.parametrize("bad", ["nan", "word", "label"])
def test_rows_that_are_refused_are_not_quoted(cls, bad, silent):
    X, y = rows()
    X = X.astype(object)
    X[3, 1] = {"nan": math.nan, "word": f"secret {SECRET}", "label": SECRET}[bad]
    with pytest.raises(ValueError) as caught, warnings.catch_warnings(record=True) as warned:
        cls().fit(X, y + 0.1 * SECRET if bad == "label" else y)
    said = str(caught.value) + "".join(str(one.message) for one in warned)
    assert "3133" not in said and "secret" not in said
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@every_class_model
def test_a_fit_costs_its_budget_and_the_certificate_says_so(cls):
    X, y = rows(400)
    with watched_ledgers() as ledgers:
        model = fitted(cls, X, y, epsilon=2.0, delta=None)
    (ledger,) = ledgers
    certificate = model.privacy_
    assert tally(ledger.spent) == tally(certificate.event)
    assert 0.999 * certificate.delta <= certificate.delta_at(2.0) <= certificate.delta
    assert certificate.delta == 400.0**-2 and certificate.arithmetic == "grid"
    assert Certificate.from_json(certificate.to_json()) == certificate
    shown = {name for name in vars(model) if name.endswith("_")}
    assert shown == set(certificate.released) | {"classes_", "n_features_in_", "privacy_"}
    attributes = inspect.getdoc(cls).partition("Attributes")[2].partition("Raises")[0]
    assert all(f"\n{name} :" in attributes for name in shown)
    assert "3 class labels (taken from y)" in str(certificate)
    assert "(declared)" in str(fitted(cls, X, y, classes=[0, 1, 2]).privacy_)


@every_class_model
def test_a_seed_repeats_a_fit_and_an_int_does_not(cls):
    def trained(**params):
        return pickle.dumps([np.round(part, 12) for part in numbers(fitted(cls, **params))])

    assert trained() == trained()
    assert trained() != trained(random_state=NoiseSeed(1))
    assert trained(random_state=0) != trained(random_state=0)
    assert fitted(cls).privacy_.reproducible


@every_class_model
@pytest.mark.parametrize("epsilon", [4.0, 60.0])
def test_all_that_a_fit_shows_follows_from_its_releases(cls, epsilon, capfd):
    """What releases answered for one table, handed back in a fit to another."""
    X, y = rows(200)
    others = [rows(200, seed=1), (1e4 * X, y), (np.zeros_like(X), np.minimum(y, 1)),
              (X, np.roll(y, 1))]
    if cls in MODELS:
        X, others = np.abs(X), [(np.abs(other), labels) for other, labels in others]
    params = {"classes": [0, 1, 2], "random_state": 0, "verbose": 1, "epsilon": epsilon,
              **MODELS.get(cls, {})}

    def shown(X, y, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            model = cls(**params).fit(X, y)
        return {"said": capfd.readouterr(), "warned": [str(one.message) for one in warned],
                "fit": pickle.dumps(vars(model)), "certificate": model.privacy_.to_json(),
                "public": tape.public}, tape

    faces, tape = shown(X, y)
    assert tape.answers and faces["said"].out
    for other in others:
        found, _ = shown(*other, tape.answers)
        assert [name for name in faces if faces[name] != found[name]] == []
    assert shown(*others[0])[0]["fit"] != faces["fit"]


@every_class_model
def test_a_planted_value_is_not_in_the_pickle(cls):
    X, y = rows()
    X[5] = SECRET
    data = pickle.dumps(fitted(cls, X, y, random_state=None))
    assert np.float64(SECRET).tobytes() not in data and b"31337" not in data


@every_class_model
def test_fits_are_the_same_whatever_errors_are_set_to_raise(cls):
    X, y = rows(160)
    X[:64] = np.copysign(np.repeat([0.0, 5e-324, 1e-300, 1e-160, 1.0, 1e4, 1e160, 1.7e308],
                                   8)[:, None], X[:64])

    def outcome():
        with repeated_stream():
            model = fitted(cls, X, y, random_state=None)
        return pickle.dumps((numbers(model), model.predict_proba(X)))

    calm = outcome()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PrivacyWarning)
        assert outcome() == calm


@every_class_model
def test_predictions_are_probabilities_and_scores_of_their_shapes(cls):
    for n_classes in (2, 3):
        X, y = rows(120, n_classes=n_classes)
        model = fitted(cls, X, y)
        scores = model.decision_function(X)
        assert scores.shape == ((120,) if n_classes == 2 else (120, 3))
        found = model.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), found)
        np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))
        if n_classes == 3 and hasattr(model, "predict_joint_log_proba"):
            joint = model.predict_joint_log_proba(X)
            np.testing.assert_allclose(joint - joint[:, :1], scores - scores[:, :1], atol=1e-6)


@every_class_model
def test_extreme_rows_leave_finite_probabilities(cls):
    X, y = rows(120)
    X[::2] *= 1e300
    model = fitted(cls, X, y)
    assert all(np.isfinite(part).all() for part in numbers(model))
    assert np.isfinite(model.predict_proba(X)).all()
    single = fitted(cls, np.clip(X, -3e38, 3e38).astype(np.float32), y)
    assert np.isfinite(single.predict_proba(np.float32([[3e38] * 3, [0.0] * 3]))).all()


@every_class_model
def test_given_priors_are_those_of_the_model(cls):
    X, y = rows(300)
    prior = "class_prior" if "class_prior" in cls._get_param_names() else "priors"
    given = fitted(cls, X, y, epsilon=50.0, **{prior: [0.8, 0.1, 0.1]})
    plain = fitted(cls, X, y, epsilon=50.0)
    shares = [model.predict_proba(X)[:, 0].mean() for model in (given, plain)]
    assert shares[0] > shares[1]


@every_class_model
def test_the_unit_of_weights_does_not_matter_and_rows_of_weight_0_count_for_nothing(cls):
    X, y = rows(300)
    weights = np.where(y == 2, 0.0, 1.0)
    model = fitted(cls, X, y, weights, epsilon=200.0)
    assert (model.predict(X) == 2).mean() < 0.1
    stated = {bound.name: bound.value for bound in model.privacy_.enforced}
    assert stated["weight_bound"] == 1.0 and "sample weight" in str(model.privacy_)
    ones, eights = (fitted(cls, X, y, weight * np.ones(300), random_state=None, stream=True)
                    for weight in (1.0, 8.0))
    for one, other in zip(numbers(ones), numbers(eights), strict=True):
        np.testing.assert_array_equal(one, other)


@every_class_model
def test_groups_are_protected_as_wholes(cls):
    X, y = rows(400)
    model = fitted(cls, X, y, groups=np.arange(400) // 4, epsilon=20.0, delta=None)
    certificate = model.privacy_
    assert "group" in certificate.relation and certificate.delta == 100.0**-2
    # All rows of these are long in one direction, which is all that shares of counts see.
    assert cls is DPMultinomialNB or (model.predict(X) == y).mean() > 0.5


@every_class_model
def test_works_with_the_rest_of_scikit_learn(cls, tmp_path):
    X, y = rows(300)
    X = np.abs(X) if cls in MODELS else X
    model = fitted(cls, X, y)
    joblib.dump(model, tmp_path / "model")
    loaded = joblib.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.privacy_ == model.privacy_
    assert not [name for name in vars(clone(model)) if name.endswith("_")]
    search = GridSearchCV(clone(model), {"epsilon": [0.5, 5.0]}, cv=2, error_score="raise")
    assert np.isfinite(search.fit(X, y).cv_results_["mean_test_score"]).all()
    calibrated = CalibratedClassifierCV(clone(model), cv=2).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)
    frame = pd.DataFrame(np.abs(X), columns=list("abc"))
    named = fitted(cls, frame, y)
    np.testing.assert_array_equal(named.feature_names_in_, list("abc"))


@every_class_model
def test_the_last_step_of_a_private_pipeline(cls):
    X, y = rows(2000)
    model = make_dp_pipeline(DPStandardScaler(), cls(classes=[0, 1, 2]), epsilon=8.0).fit(X, y)
    assert model.privacy_.epsilon == 8.0
    # Behind a private step, negative numbers count as 0 for those that take none.
    assert cls().__sklearn_tags__().input_tags.positive_only or model.score(X, y) > 0.5
