"""Plans say from public numbers what a budget will buy, about as it turns out."""

import math
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss

from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPGridSearchCV,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPTableVectorizer,
    PrivacyBudget,
    make_dp_pipeline,
    plan_privacy,
)
from dpsk.accounting import BestOf, Gaussian
from dpsk.exceptions import BudgetExceededError
from dpsk.metrics import BinaryEvaluation, plan_evaluation
from dpsk.planning import PrivacyPlanDisplay
from dpsk.testing import NoiseSeed
from tests.events import gaussian_mu, tally
from tests.instruments import charge_fit


def test_entries_follow_from_the_numbers():
    plan = plan_privacy(1000, 4, epsilon=[2.0, 0.5])
    assert plan.epsilon.tolist() == [0.5, 2.0]
    assert plan.delta == 1e-6
    assert plan.mu.tolist() == pytest.approx(
        [gaussian_mu(each, 1e-6) for each in (0.5, 2.0)], rel=1e-9)
    np.testing.assert_allclose(plan.noise, 2 / (1000 * plan.mu))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_more_budget_more_rows_and_fewer_columns_lose_less(loss, alpha):
    plans = [plan_privacy(n, d, loss=loss, alpha=alpha) for n, d in (
        (1_000, 50), (10_000, 50), (10_000, 5))]
    risks = np.array([plan.excess_risk for plan in plans])
    assert np.all(np.isfinite(risks)) and np.all(risks > 0)
    assert np.all(np.diff(risks, axis=1) <= 0)
    assert np.all(np.diff(risks, axis=0) <= 0)


def test_the_suggestion_is_the_smallest_that_is_good_enough():
    plan = plan_privacy(20_000, 10, largest_excess_risk=0.01)
    place = plan.epsilon.tolist().index(plan.suggested_epsilon)
    assert plan.excess_risk[place] <= 0.01 < plan.excess_risk[place - 1]
    assert f"suggested: epsilon={plan.suggested_epsilon:g}" in str(plan)
    hopeless = plan_privacy(50, 100)
    assert hopeless.suggested_epsilon is None
    assert "more rows or fewer features" in str(hopeless)


@pytest.mark.parametrize(("given", "match"), [
    ({"n_samples": 1}, "n_samples=1"), ({"n_features": 0}, "n_features=0"),
    ({"epsilon": [1.0, 0.0]}, r"epsilon=0\.0"), ({"delta": 0.0}, r"delta=0\.0"),
    ({"loss": "hubers"}, "loss='hubers'"), ({"alpha": -1.0}, r"alpha=-1\.0"),
    ({"largest_excess_risk": 0.0}, "largest_excess_risk"), ({"cases": 100}, "cases=100"),
    ({"n_iter": 0.5}, r"n_iter=0\.5")])
def test_numbers_out_of_range_are_refused_by_name(given, match):
    with pytest.raises(ValueError, match=match):
        plan_privacy(**{"n_samples": 100, "n_features": 3, **given})


def test_risks_turn_out_about_as_predicted():
    """Smooth tables without skew, such as these, have a third of the risk of usual ones."""
    n, d, rng = 5000, 8, np.random.default_rng(0)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    scores = X @ w / np.linalg.norm(w)
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    best = log_loss(y, LogisticRegression(C=1e6).fit(X, y).predict_proba(X))
    plan = plan_privacy(n, d, epsilon=0.5)
    fits = [DPLogisticRegression(0.5, classes=[0, 1], random_state=NoiseSeed(seed)).fit(X, y)
            for seed in range(5)]
    found = np.mean([log_loss(y, each.predict_proba(X)) for each in fits]) - best
    assert plan.excess_risk[0] / 6 < found < plan.excess_risk_range[0, 1]
    assert plan.excess_risk_range[0] == pytest.approx(plan.excess_risk[0] * np.array([0.5, 2]))
    # Squares had the prediction of logistic losses, which is a hundred times as large.
    numbers = 0.2 * scores + 0.15 * rng.normal(size=n)
    best = np.mean((LinearRegression().fit(X, numbers).predict(X) - numbers)**2)
    (risk,) = plan_privacy(n, d, epsilon=0.5, loss="squared").excess_risk
    fits = [DPLinearRegression(0.5, target_bounds=(-1, 1), random_state=NoiseSeed(seed)).fit(
        X, numbers) for seed in range(5)]
    found = np.mean([np.mean((each.predict(X) - numbers)**2) for each in fits]) - best
    assert risk / 12 < 0.5 * found < 2 * risk


@pytest.mark.parametrize(("share", "most"), [(None, math.log(2.0)), (0.015, 0.07787)])
def test_no_risk_exceeds_the_loss_of_a_constant(share, most):
    plan = plan_privacy(2000, 1900, epsilon=0.1, cases=share and round(2000 * share))
    assert plan.excess_risk[0] == pytest.approx(most, rel=1e-3)
    assert plan.excess_risk_range[0, 1] == plan.excess_risk[0]


def spent(*events):
    """Return the mu^2 of events."""
    return sum(count * getattr(each, "mu", 0.0)**2
               for event in events for each, count in tally(event).items())


@pytest.mark.parametrize(("epsilon", "n_learned", "loss"), [
    (0.5, 2, "logistic"), (1.0, 3, "logistic"), (1.0, 3, "hinge"), (1.0, 4, "squared")])
def test_coefficients_get_what_scales_center_and_bounds_leave(epsilon, n_learned, loss):
    X = np.random.default_rng(0).normal(size=(3000, 5))
    y = X[:, 0] / 9 if loss == "squared" else (X[:, 0] > 0).astype(int)
    model = {"logistic": DPLogisticRegression, "hinge": DPLinearSVC,
             "squared": partial(DPLinearRegression, target_bounds=(-1, 1))}[loss](epsilon)
    event = model.fit(X, y).privacy_.event
    left = 1.0 - spent(*event.events[:n_learned]) / spent(event)
    (planned,) = plan_privacy(3000, 5, epsilon=epsilon, loss=loss).coefficient_share
    assert planned == pytest.approx(left, rel=1e-6) and planned < 0.96


@pytest.mark.parametrize(("epsilon", "loss", "n_releases"), [
    (0.1, "logistic", 2), (1.0, "logistic", 2), (8.0, "logistic", 4), (0.1, "squared", 2),
    (4.0, "squared", 4)])
def test_coefficients_get_what_columns_and_pairs_leave(epsilon, loss, n_releases):
    """At small budgets categories are hashed, at large ones pairs of columns are chosen."""
    rng, n = np.random.default_rng(0), 8000
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n),
                      "c": rng.choice(list("abcdefgh"), n), "d": rng.choice(list("xy"), n)})
    y = X["a"] / 9 if loss == "squared" else (X["a"] > 0).astype(int)
    model = DPAdditiveRegressor(epsilon, target_bounds=(-1, 1)) if loss == "squared" else (
        DPAdditiveClassifier(epsilon))
    event = model.fit(X, y).privacy_.event
    columns = {"a": "numbers", "b": "numbers", "c": 8, "d": 2}
    (planned,) = plan_privacy(n, columns, epsilon=epsilon, loss=loss).coefficient_share
    assert len(event.events) == n_releases
    assert planned == pytest.approx(spent(event.events[-1]) / spent(event), rel=1e-6)


def test_risks_are_those_of_directions_that_matter():
    """A category is one, and a number is one whatever its knots."""
    flat = plan_privacy(10**6, {"a": "numbers", "b": "numbers", "c": 9}, epsilon=1.0)
    declared = plan_privacy(10**6, {"a": "numbers", "b": tuple(range(9)), "c": list("abcdefghi")},
                            epsilon=1.0)
    words = plan_privacy(10**6, {"a": "numbers", "b": 4, "c": 9}, epsilon=1.0)
    assert declared.excess_risk[0] < 1.1 * flat.excess_risk[0] < 1.1 * words.excess_risk[0]


def test_the_picture_holds_the_curve(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are an extra")
    matplotlib.use("Agg")
    plan = plan_privacy(20_000, 10)
    drawn = PrivacyPlanDisplay.from_plan(plan, color="red")
    np.testing.assert_array_equal(drawn.line_.get_ydata(), plan.excess_risk)
    heights = drawn.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == plan.excess_risk_range.min()
    assert heights.max() == plan.excess_risk_range.max()
    assert drawn.line_.get_color() == "red"
    assert PrivacyPlanDisplay(plan=plan).plot(drawn.ax_, name="again").figure_ is drawn.figure_
    assert math.isclose(drawn.ax_.lines[1].get_ydata()[0], plan.largest_excess_risk)
    matplotlib.pyplot.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="requires matplotlib"):
        PrivacyPlanDisplay.from_plan(plan)


TABLE = {"age": (0, 110), "income": "numbers", "town": 40, "sex": ["f", "m"],
         "score": (0.0, 1.0, 5.0)}


def test_columns_of_a_raw_table_become_features():
    plan = plan_privacy(20_000, TABLE, epsilon=[0.5, 4.0])
    assert plan.n_features == 5 and np.all(np.diff(plan.n_expanded) > 0)
    flat = plan_privacy(20_000, 5, epsilon=[0.5, 4.0])
    assert flat.n_expanded.tolist() == [5, 5] and np.all(plan.excess_risk > flat.excess_risk)
    assert "features" in str(plan).splitlines()[1] and "of 5 columns" in str(plan)
    assert "20000 rows of 5 features" in str(flat)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_so_many_features_are_those_of_a_fit(epsilon):
    """Categories that noise hides are none, and buckets without rows may be left out."""
    rng, n = np.random.default_rng(0), 20_000
    X = pd.DataFrame({"age": rng.normal(50.0, 15.0, n), "income": rng.lognormal(size=n),
                      "town": [f"town {place}" for place in rng.integers(0, 40, n)],
                      "sex": rng.choice(["f", "m"], n), "score": 5.0 * rng.random(n)})
    columns = {name: kind for name, kind in TABLE.items() if isinstance(kind, (list, tuple))}
    model = DPAdditiveClassifier(epsilon, interactions=0, columns=columns,
                                 random_state=NoiseSeed(0)).fit(X, rng.random(n) < 0.5)
    (planned,) = plan_privacy(n, TABLE, epsilon=epsilon).n_expanded
    assert planned / 1.5 < model.term_coef_.size < 1.5 * planned


def test_parts_fit_in_a_budget_together():
    """They are what `PrivacyBudget` admits, and leave next to nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    plan = plan_privacy(400, 3, epsilon=3.0, delta=1e-6,
                        parts={"training": 2, "evaluation": 0.5, "more": 0.5})
    first, second, third = map(plan.arguments, plan.parts)
    assert second == third and plan.excess_risk[0] == pytest.approx(
        plan_privacy(400, 3, **first).excess_risk[0])
    with PrivacyBudget(3.0, 1e-6) as budget:
        model = DPLogisticRegression(classes=[0, 1], data_norm=4.0, **first).fit(X, y)
        for each in (second, third):
            BinaryEvaluation.from_estimator(model, X, y, **each)
        with pytest.raises(BudgetExceededError):
            BinaryEvaluation.from_estimator(model, X, y, epsilon=0.2, delta=1e-6)
    assert len(budget.charges) == 3
    assert str(plan).splitlines()[1].endswith("training evaluation AUC error more")


def test_a_search_and_an_evaluation_are_parts_that_a_budget_holds():
    """Of the search no more is left than its plan falls short of its part, a thousandth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    plan = plan_privacy(400, 3, epsilon=3.0, delta=1e-6, cases=100, n_iter=3,
                        parts={"training": 2, "evaluation": 0.5, "search": 0.5})
    first, second, third = map(plan.arguments, plan.parts)
    with PrivacyBudget(3.0, 1e-6) as budget:
        model = DPLogisticRegression(classes=[0, 1], data_norm=4.0, **first).fit(X, y)
        BinaryEvaluation.from_estimator(model, X, y, **second)
        left = budget.limits["mu^2"] - budget.spent["mu^2"]
        search = DPGridSearchCV(DPLogisticRegression(solver="gd", max_iter=1),
                                {"alpha": [0.1, 0.2]}, n_iter=3, **third).fit(X, y)
    after = budget.limits["mu^2"] - budget.spent["mu^2"]
    assert len(budget.charges) == 3 and abs(after) < 0.005 * left
    assert search.plan_.run_epsilon == pytest.approx(plan.candidate[0], rel=1e-3)
    rare = plan_evaluation(400, cases=100, **second)
    assert {name: each[0] for name, each in plan.evaluation_errors.items()} == rare
    heads = str(plan).splitlines()[1]
    assert heads.endswith("training evaluation AUC error search candidate")
    note = "AUC error: if all 400 rows are evaluated"
    alone = plan_privacy(400, 3, epsilon=3.0, n_iter=1, parts={"search": 1.0})
    assert note in str(plan) and note in plan._repr_html_() and "AUC" not in str(alone)
    assert alone.candidate[0] == pytest.approx(alone.parts["search"][0], rel=1e-6)
    numbers = plan_privacy(400, 3, epsilon=3.0, loss="squared", parts={"evaluation": 1.0})
    assert numbers.evaluation_errors == {} and numbers.candidate is None


@pytest.mark.parametrize("words", [40, ["a", "b"]])
def test_fits_that_find_categories_share_the_delta_of_a_budget(words):
    """A pipeline keeps a chance for these even if they are declared."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice(["a", "b"], 400), "age": rng.normal(size=400)})
    y = rng.integers(0, 2, 400)
    plan = plan_privacy(400, {"town": words, "age": "numbers"}, epsilon=[1.0, 3.0], delta=1e-6,
                        n_iter=2, parts={"first": 2, "second": 1, "search": 1})
    assert plan.finds_categories == (words == 40) and plan.part_delta == 4.6e-7
    assert ("fits that find" in str(plan)) == (words == 40)
    assert ("are declared" in str(plan)) == (words != 40)
    linear = make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(classes=[0, 1]))
    with PrivacyBudget(3.0, 1e-6) as budget:
        for part in ("first", "second"):
            clone(linear).set_params(**plan.arguments(part, 3.0)).fit(X, y)
        DPGridSearchCV(linear, {"dplogisticregression__alpha": [0.1, 0.2]}, n_iter=2,
                       **plan.arguments("search", 3.0)).fit(X, y)
    assert budget.spent["mu^2"] > 0.97 * budget.limits["mu^2"]
    # Of the table's text epsilons are rounded down, so that they may be copied.
    assert float(str(plan).splitlines()[3].split()[7]) <= plan.parts["first"][1]


def test_arguments_are_of_a_part_and_an_epsilon_that_were_planned():
    plan = plan_privacy(400, 3, epsilon=[1.0, 3.0], delta=1e-6, parts={"evaluation": 1.0})
    assert plan.arguments("evaluation", 3.0) == {
        "epsilon": plan.parts["evaluation"][1], "delta": 1e-6}
    for given, match in ((("model", 3.0), "part='model'"), (("evaluation",), "epsilon=None"),
                         (("evaluation", 2.0), r"epsilon=2\.0: must be one that was planned")):
        with pytest.raises(ValueError, match=match):
            plan.arguments(*given)


@pytest.mark.parametrize(("epsilon", "delta", "n_iter"), [(100.0, 1e-5, 100), (1.0, 1e-30, 2)])
def test_a_search_that_has_no_price_at_its_part_gets_less(epsilon, delta, n_iter):
    plan = plan_privacy(400, 3, epsilon=[epsilon], delta=delta, n_iter=n_iter,
                        parts={"training": 1.0, "search": 1.0})
    mu = gaussian_mu(plan.candidate[0] * (1.0 - 1e-9), plan.part_delta)
    with PrivacyBudget(epsilon, delta) as budget:
        charge_fit(BestOf(Gaussian(mu), n_iter))
    # Its part is half of it, and it gets a tenth of that at least where it has a price at all.
    assert budget.spent["mu^2"] > (0.05 * budget.limits["mu^2"] if delta > 1e-9 else 0.0)


@pytest.mark.parametrize(("given", "match"), [
    ({"epsilon": [1e20]}, r"epsilon=1e\+20: must be numbers > 0 and at most 1e\+12"),
    ({"delta": 1e-300, "parts": {"search": 1.0}}, "parts: a search has no price")])
def test_what_no_budget_is_worth_is_refused_by_name(given, match):
    with pytest.raises(ValueError, match=match):
        plan_privacy(400, 3, **given)


def test_rare_cases_have_less_that_is_good_enough():
    """A share of the loss of a model that knows only how many there are."""
    rare, half = (plan_privacy(2000, 3, cases=cases) for cases in (30, 1000))
    assert half.largest_excess_risk == pytest.approx(0.02)
    known = -(0.015 * math.log(0.015) + 0.985 * math.log(0.985))
    assert rare.largest_excess_risk == pytest.approx(0.02 * known / math.log(2.0))
    assert plan_privacy(2000, 3, cases=30, loss="hinge").largest_excess_risk == pytest.approx(
        0.0006)
    # Of targets as usual, a constant has a sixteenth of the largest loss.
    assert plan_privacy(2000, 3, cases=30, loss="squared").largest_excess_risk == 0.00125


def test_notebooks_show_plans():
    text = plan_privacy(20_000, TABLE, epsilon=[0.5, 2.0], parts={"<b>": 1.0})._repr_html_()
    assert text.count("<tr>") == 3 and "&lt;b&gt;" in text and "suggested: epsilon" in text


@pytest.mark.parametrize(("given", "match"), [
    ({"n_features": {}}, "describe a column or more"),
    ({"n_features": {"a": "many"}}, "'a' has 'many'"),
    ({"n_features": {"a": 0}}, r"n_features\['a'\]=0"), ({"parts": {}}, "parts={}"),
    ({"n_features": {"a": (3.0, 1.0)}}, "'a' has"), ({"n_features": {"a": None}}, "'a' has"),
    ({"parts": [2]}, "parts="), ({"parts": {"training": 0.0}}, r"parts\['training'\]=0\.0")])
def test_tables_and_parts_are_refused_by_name(given, match):
    with pytest.raises(ValueError, match=match):
        plan_privacy(**{"n_samples": 100, "n_features": 3, **given})
