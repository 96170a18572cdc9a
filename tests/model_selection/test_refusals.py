"""What searches refuse, before anything is drawn."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from dpsk import (
    DPPCA,
    DPGaussianSampler,
    DPGridSearchCV,
    DPGroupDROClassifier,
    DPLinearSVC,
    DPLogisticRegression,
    DPMinMaxScaler,
    DPPipeline,
    DPRandomizedSearchCV,
    DPRidge,
    DPStandardScaler,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.accounting import Composed
from dpsk.metrics import dp_accuracy_score, get_scorer
from dpsk.testing import NoiseSeed
from tests.events import GROUP_RELATION
from tests.instruments import fix_runs
from tests.model_selection.test_searches import grid, rows


@pytest.mark.parametrize("name, value", [
    ("epsilon", 0), ("epsilon", math.inf), ("delta", 0), ("delta", 1.0), ("random_state", 1.5),
    ("verbose", "yes"), ("n_iter", 0.5), ("n_iter", 1e4 + 1), ("n_iter", "many"),
    ("test_size", 0.0), ("test_size", 1.0), ("scoring", "recall"), ("scoring", "r2"),
    ("scoring", len), ("refit", len), ("refit", "f1"), ("return_train_score", True),
    ("error_score", 0.0), ("cv", 5), ("cv", KFold(3)),
    ("score_bound", 2.0), ("param_grid", []), ("param_grid", 3)])
def test_a_bad_value_is_refused_and_named(name, value, silent):
    with pytest.raises(ValueError, match=name):
        grid().set_params(**{name: value}).fit(*rows())


@pytest.mark.parametrize("scoring, estimator", [
    ("precision", DPLogisticRegression(solver="gd")), ("max_error", DPRidge()),
    ("neg_log_loss", DPRidge()), ("neg_mean_squared_error", DPLogisticRegression(solver="gd")),
    (len, DPRidge())])
def test_a_bound_makes_no_score_known_and_others_are_offered(scoring, estimator, silent):
    offered = "neg_brier_score" if hasattr(estimator, "predict_proba") else "neg_mean_absolute"
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises(
            ValueError, match=f"its sensitivity\\) is unknown.*{offered}"):
        DPGridSearchCV(estimator, {}, epsilon=1.0, scoring=scoring, score_bound=1.0).fit(*rows())
    assert not budget.charges


@pytest.mark.parametrize("scoring", [
    get_scorer("dp_accuracy"), make_scorer(dp_accuracy_score),
    make_scorer(partial(dp_accuracy_score, epsilon=0.1)), partial(get_scorer("dp_accuracy"))],
    ids=["scorer", "function", "partial", "partial scorer"])
@pytest.mark.parametrize("bound", [None, (0.0, 1.0)])
def test_a_private_score_is_refused_as_its_charges_would_tell_the_number_of_runs(
        scoring, bound, silent):
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises(ValueError, match="adds its own noise"):
        grid().set_params(scoring=scoring, score_bound=bound).fit(*rows())
    assert not budget.charges


@pytest.mark.parametrize("n_runs", [1, 3])
def test_fits_that_a_scorer_hides_are_charged_to_no_budget(n_runs, monkeypatch):
    # Of known packages alone, so that nothing shows that it makes releases.
    hidden = make_scorer(np.vectorize(partial(dp_accuracy_score, labels=[0, 1]),
                                      signature="(n),(n)->()"))
    fix_runs(monkeypatch, n_runs)
    with PrivacyBudget(500.0, 1e-3) as budget:
        grid().set_params(scoring=hidden, score_bound=(0.0, 1.0)).fit(*rows())
    assert len(budget.charges) == 1


@pytest.mark.parametrize("estimator", [
    LogisticRegression(), GridSearchCV(DPLogisticRegression(), {}), DPGaussianSampler(),
    DPTableVectorizer(), make_pipeline(DPLogisticRegression()), DPGroupDROClassifier(), 3],
    ids=lambda estimator: type(estimator).__name__)
def test_an_estimator_whose_price_is_not_known_is_refused(estimator, silent):
    with pytest.raises(ValueError, match=f"estimator={type(estimator).__name__}"):
        DPGridSearchCV(estimator, {}).fit(*rows())


def _one_bad(bad, good=(0.0, 0.1)):
    """Yield lists of forty values, one of which, anywhere, is no good."""
    for place in (0, 7, 23, 39):
        values = [good[each % len(good)] for each in range(40)]
        values[place] = bad
        yield values


_LISTS = [*({"alpha": values} for values in _one_bad(-1.0)),
          *([{"alpha": [0.0]}, {"alpha": values}] for values in _one_bad(-1.0)),
          *({"solver": values} for values in _one_bad("none", ("gd", "auto")))]
_BESIDE_DISTRIBUTIONS = [{"alpha": loguniform(1e-4, 1.0), "data_norm": values}
                         for values in _one_bad(-1.0, (2.0,))]


@pytest.mark.parametrize("cls, settings", [
    *((cls, each) for each in _LISTS for cls in (DPGridSearchCV, DPRandomizedSearchCV)),
    *((DPRandomizedSearchCV, each) for each in _BESIDE_DISTRIBUTIONS)])
def test_every_value_of_every_list_is_checked_before_anything_is_charged(cls, settings, silent):
    search = cls(DPLogisticRegression(solver="gd"), settings, epsilon=2.0, n_iter=3)
    budget = PrivacyBudget(5.0, 1e-3)
    with budget, pytest.raises(ValueError, match=r"alpha=-1|data_norm=-1|solver='none'"):
        search.fit(*rows())
    assert not budget.charges


def test_the_kind_of_runs_is_told_by_every_value_of_a_list():
    """One solver of forty that is not Gaussian makes the plan one for any kind."""
    def planned(values):
        return DPRandomizedSearchCV(DPLogisticRegression(), {"solver": values},
                                    delta=1e-6).plan(300)

    of_any_kind, gaussian = planned(["sgd"]), planned(["gd"])
    assert of_any_kind.event != gaussian.event
    assert all(planned(values) == of_any_kind for values in _one_bad("sgd", ("gd",)))


def test_a_pipeline_in_a_pipeline_has_a_price():
    inner = make_dp_pipeline(DPStandardScaler(), DPLogisticRegression(solver="gd"))
    outer = make_dp_pipeline(DPMinMaxScaler(), inner, shares={"dpminmaxscaler": 0.1})
    assert DPTunedThresholdClassifier(outer).fit(*rows()).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("settings, match", [
    ({"epsilon": [1.0]}, "'epsilon' cannot be searched"),
    ({"delta": [1e-6]}, "'delta' cannot be searched"),
    ({"random_state": [0, 1]}, "'random_state' cannot be searched"),
    ({"strength": [1.0]}, "strength"), ({"alpha": [0.1, -1.0]}, "alpha"),
    ({"solver": ["newton", "objective_perturbation"], "batch_size": [3]}, "batch_size")])
@pytest.mark.parametrize("cls", [DPGridSearchCV, DPRandomizedSearchCV])
def test_settings_that_cannot_be_fitted_are_refused(cls, settings, match, silent):
    with pytest.raises(ValueError, match=match):
        cls(DPLogisticRegression(solver="gd"), settings).fit(*rows())


@pytest.mark.parametrize("step", ["dppca", "dplogisticregression"])
@pytest.mark.parametrize("parameter, values", [
    ("epsilon", [0.1, 1e6]), ("delta", [1e-6]), ("random_state", [NoiseSeed(1)]),
    ("random_state", [0]), ("verbose", [1])])
@pytest.mark.parametrize("cls", [DPGridSearchCV, DPRandomizedSearchCV])
def test_what_a_search_sets_of_every_run_cannot_be_searched_in_a_step(
        cls, step, parameter, values, silent):
    pipeline = make_dp_pipeline(DPPCA(n_components=1), DPLogisticRegression(solver="gd"))
    name = f"{step}__{parameter}"
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises(
            ValueError, match=f"'{name}' cannot be searched"):
        cls(pipeline, {name: values}).fit(*rows())
    assert not budget.charges


def test_a_seed_of_the_estimator_would_make_runs_alike(silent):
    with pytest.raises(ValueError, match="give the seed to the search"):
        grid(DPLogisticRegression(solver="gd", random_state=NoiseSeed(0))).fit(*rows())


def test_errors_of_numbers_need_a_bound(silent):
    X, y = rows()
    with pytest.raises(ValueError, match=r"score_bound=None.*target_bounds"):
        grid(DPRidge()).fit(X, y)
    for bound in (0.0, math.inf, "wide"):
        with pytest.raises(ValueError, match="score_bound"):
            grid(DPRidge(), score_bound=bound).fit(X, y)


class Blocks:
    n, n_features = 300, 3

    def blocks(self):
        raise AssertionError("rows were read")


def test_rows_that_cannot_be_split_are_refused(silent):
    X, y = rows()
    with pytest.raises(ValueError, match="in memory only"):
        grid().fit(Blocks(), y)
    with pytest.raises(ValueError, match="fewer than 2 rows"):
        grid(test_size=0.9).fit(X[:4], y[:4])
    with pytest.raises(ValueError, match="target y is None"):
        grid().fit(X)
    with pytest.raises(ValueError, match="inconsistent"):
        grid().fit(X, y[:-1])
    with pytest.raises(ValueError, match="class"):
        grid().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("change", [
    lambda certificate: {"event": Composed((certificate.event,) * 2)},
    lambda certificate: {"relation": GROUP_RELATION}], ids=["price", "relation"])
def test_a_run_that_costs_more_than_declared_is_not_shown(change, monkeypatch):
    fit = DPLogisticRegression.fit

    def dear(self, X, y):
        fit(self, X, y)
        self.privacy_ = replace(self.privacy_, **change(self.privacy_))
        return self

    monkeypatch.setattr(DPLogisticRegression, "fit", dear)
    search = grid()
    with pytest.raises(RuntimeError, match="costs more than its budget"):
        search.fit(*rows())
    assert not hasattr(search, "privacy_")


def mixed(change=None):
    """Return a search of pipelines of which some have Gaussian steps alone, and some have not."""
    change = {"m__alpha": [0.0, 0.01]} if change is None else change
    steps = [("s", DPStandardScaler()), ("m", DPLogisticRegression(max_iter=3))]
    return DPGridSearchCV(DPPipeline(steps), change, epsilon=2.0)


@pytest.mark.covering(most=4)
@pytest.mark.parametrize("change", [None, {"m__solver": ["gd", "sgd"]},
                                    {"m": [DPLogisticRegression(), DPLinearSVC(alpha=0.1)]}],
                         ids=["penalty", "solver", "model"])
@pytest.mark.parametrize("turn", range(4))
def test_no_run_of_a_pipeline_costs_more_than_the_search_has_paid_for(change, turn):
    """A Gaussian one is drawn in most searches, and would be refused whenever it is."""
    X, y = rows(300)
    budget = PrivacyBudget(100.0, 0.5, kind="gaussian", disclosure=0.4)
    with budget:
        search = mixed(change).fit(X, y)
    assert len(budget.charges) == 1 and search.privacy_.epsilon == 2.0
