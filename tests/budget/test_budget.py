"""Every fit inside a budget is charged before it draws, or refused with nothing spent."""

import copy
import io
import json
import math
import pickle
import threading
from contextlib import nullcontext

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPAdditiveClassifier,
    DPGroupDROClassifier,
    DPLogisticRegression,
    DPStandardScaler,
    DPTableVectorizer,
    PrivacyBudget,
    accounting,
    make_dp_pipeline,
)
from dpsk.accounting import Composed, Disclosure, Gaussian, Pure, compose
from dpsk.exceptions import BudgetExceededError
from dpsk.testing import NoiseSeed
from tests.events import tally, total_mu
from tests.instruments import charge_fit, rounded_down, rounded_up

X, Y = load_breast_cancer(return_X_y=True)
DELTA = 1e-5


def model(epsilon=0.5, **params):
    return DPLogisticRegression(epsilon=epsilon, delta=DELTA, classes=[0, 1], **params)


def charged(budget):
    return Composed(tuple(charge.event for charge in budget.charges))


def same(one, other):
    return tally(one) == tally(other)


def test_a_fit_is_charged_for_what_its_certificate_states():
    budget = PrivacyBudget(2.0, DELTA, name="cancer")
    outside = model().fit(X, Y)
    assert budget.charges == []
    with budget as entered:
        assert entered is budget
        one, other = model().fit(X, Y), model(0.3).fit(X, Y)
    model().fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPLogisticRegression"] * 2
    assert same(charged(budget), compose(one.privacy_, other.privacy_))
    assert budget.spent["mu^2"] == pytest.approx(total_mu(charged(budget))**2)
    assert outside.privacy_.event == one.privacy_.event


def test_a_refused_fit_leaves_everything_as_it_was():
    budget = PrivacyBudget(1.0, DELTA)
    fitted = model(0.9)
    with budget:
        fitted.fit(X, Y)
        before, state = budget.charges, pickle.dumps(vars(fitted))
        fitted.set_params(epsilon=0.8)
        with pytest.raises(BudgetExceededError, match="nothing was drawn"):
            fitted.fit(X, Y)
        fitted.set_params(epsilon=0.9)
    assert budget.charges == before
    assert pickle.dumps(vars(fitted)) == state
    left = budget.left()
    with budget:
        model(left * (1 - 1e-6)).fit(X, Y)
    assert budget.left() < 0.01


@pytest.mark.parametrize("fitted", [model(math.inf), model(random_state=NoiseSeed(1))],
                         ids=["no noise", "seed"])
def test_what_has_no_noise_is_refused_and_repeated_noise_is_charged(fitted):
    budget = PrivacyBudget(1.0, DELTA)
    with budget:
        if fitted.epsilon == math.inf:
            with pytest.warns(match="not private"), pytest.raises(
                    BudgetExceededError, match="NotPrivate"):
                fitted.fit(X, Y)
        else:
            fitted.fit(X, Y)
    assert len(budget.charges) == (fitted.epsilon < math.inf)


def test_a_fit_that_fails_after_it_was_admitted_stays_charged(monkeypatch):
    def broken(*args, **settings):
        raise MemoryError

    budget = PrivacyBudget(1.0, DELTA)
    monkeypatch.setattr("dpsk._mechanism.session.Session.__call__", broken)
    with budget, pytest.raises(MemoryError):
        model().fit(X, Y)
    monkeypatch.undo()
    assert len(budget.charges) == 1
    with pytest.raises(ValueError, match="epsilon"), budget:
        model(-1.0).fit(X, Y)
    # Both left the budget as they went.
    model().fit(X, Y)
    assert len(budget.charges) == 1


def test_nested_budgets_are_charged_each_once_or_not_at_all():
    whole, part = PrivacyBudget(1.0, DELTA), PrivacyBudget(0.5, DELTA)
    with whole, part, whole:
        model(0.3).fit(X, Y)
        with pytest.raises(BudgetExceededError, match=r"PrivacyBudget\(0\.5"):
            model(0.6).fit(X, Y)
        assert len(whole.charges) == len(part.charges) == 1
    with whole:
        model(0.6).fit(X, Y)
    assert len(whole.charges) == 2
    assert len(part.charges) == 1


def test_threads_are_charged():
    budget = PrivacyBudget(3.0, DELTA)
    with budget:
        threads = [threading.Thread(target=model(0.2).fit, args=(X, Y)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(budget.charges) == 4


@pytest.mark.thorough
@pytest.mark.parametrize("wrapped", [
    lambda: GridSearchCV(model(0.1), {"alpha": [0.01, 0.1]}, cv=KFold(2), n_jobs=2),
    lambda: GridSearchCV(make_pipeline(FunctionTransformer(), model(0.1)),
                         {"dplogisticregression__alpha": [0.01, 0.1]}, cv=KFold(2), n_jobs=2),
    lambda: BaggingClassifier(model(0.1), n_estimators=5, n_jobs=2),
    lambda: VotingClassifier([(str(k), model(0.1)) for k in range(5)], n_jobs=2)],
    ids=["search", "pipeline", "bagging", "voting"])
def test_workers_of_joblib_are_charged_in_full(wrapped):
    budget = PrivacyBudget(2.0, DELTA)
    with budget:
        wrapped().fit(X, Y)
    assert len(budget.charges) == 5
    # Nothing of it stays behind: the same search outside charges nothing.
    wrapped().fit(X, Y)
    assert len(budget.charges) == 5


@pytest.mark.filterwarnings("ignore")
def test_workers_are_refused_when_the_budget_ends():
    budget = PrivacyBudget(0.3, DELTA)
    search = GridSearchCV(model(0.2, solver="gd"), {"alpha": [0.01, 0.1]}, cv=KFold(2), n_jobs=2,
                          error_score=np.nan, refit=False)
    with budget:
        search.fit(X, Y)
    assert len(budget.charges) == 2
    assert np.isnan(search.cv_results_["mean_test_score"]).any()


def test_copies_of_a_budget_are_that_budget():
    budget = PrivacyBudget(1.0, DELTA)
    for other in (copy.deepcopy(budget), copy.copy(budget), pickle.loads(pickle.dumps(budget)),
                  clone(budget, safe=False), PrivacyBudget.load(budget.path)):
        with other, budget:
            model(0.1).fit(X, Y)
        assert other.charges == budget.charges
    assert len(budget.charges) == 5


def test_models_carry_a_budget_to_workers_only():
    budget = PrivacyBudget(1.0, DELTA)
    with budget:
        inside = pickle.loads(pickle.dumps(model(0.1)))
        copied, cloned = copy.deepcopy(model(0.1)), clone(inside)
        fitted = model(0.1).fit(X, Y)
        # It may be fitted again where it goes.
        assert b"budget" in pickle.dumps(fitted)
    assert b"budget" not in pickle.dumps(fitted)
    for each in (inside, copied, cloned):
        # In the process of the budget those that are entered are known.
        each.fit(X, Y)
    assert len(budget.charges) == 1
    assert b"budget" not in pickle.dumps(inside)


def _stored(fitted):
    """Write a model to a file as joblib does, and read it."""
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {"itself": lambda each: each, "clone": clone, "copy": copy.copy, "deep": copy.deepcopy,
          "pickle": lambda each: pickle.loads(pickle.dumps(each)), "joblib": _stored,
          "parameters": lambda each: clone(each).set_params(**each.get_params(deep=False)),
          "pipeline": lambda each: clone(make_pipeline(each)), "search": lambda each: clone(
              GridSearchCV(each, {"epsilon": [0.1]}, cv=[(np.arange(20, 80), np.arange(20))]))}


@pytest.mark.covering(most=9)
@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("whole", [lambda: model(0.1, max_iter=2), lambda: make_dp_pipeline(
    DPStandardScaler(), model(max_iter=2), epsilon=0.1, delta=DELTA)], ids=["model", "pipeline"])
def test_copies_are_charged_where_their_originals_are(whole, kind):
    """In the process of the budget: in blocks, and neither of them after these."""
    budget, original, charged = PrivacyBudget(4.0, 1e-4), whole(), []
    with budget:
        inside = COPIES[kind](original)
    for block in (nullcontext(), budget):
        with block:
            before = len(budget.charges)
            inside.fit(X, Y)
            charged.append(len(budget.charges) - before)
    # A search fits its only fold, and then all rows.
    assert charged == [0, 2 if kind == "search" else 1]


@pytest.mark.parametrize("whole", [
    lambda: DPAdditiveClassifier(epsilon=0.5, delta=DELTA, classes=[0, 1]),
    lambda: make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(classes=[0, 1]),
                             epsilon=0.5, delta=DELTA),
    lambda: make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(
        classes=[0, 1], solver="sgd", max_iter=20), epsilon=0.5, delta=DELTA)],
    ids=["additive", "pipeline", "sgd"])
def test_what_is_made_of_steps_is_charged_once_and_beforehand(whole):
    budget = PrivacyBudget(2.0, DELTA, disclosure=DELTA / 2)
    with budget:
        fitted = whole().fit(X[:, :4], Y)
    (charge,) = budget.charges
    assert charge.name == type(fitted).__name__
    # What was declared is worth at least what was released, and no more than was asked for.
    assert accounting.delta(charge.event, 0.5) <= DELTA * (1 + 1e-9)
    released = tally(fitted.privacy_.event)
    price = budget._account.filter.price
    assert sum(price(fitted.privacy_.event)) <= sum(price(charge.event)) * (1 + 1e-6), released
    with PrivacyBudget(0.4, DELTA) as small, pytest.raises(BudgetExceededError):
        whole().fit(X[:, :4], Y)
    assert small.charges == []


def test_one_step_of_another_kind_is_charged_for_itself():
    budget = PrivacyBudget(2.0, DELTA, kind="renyi")
    whole = make_dp_pipeline(FunctionTransformer(), DPLogisticRegression(
        classes=[0, 1], solver="sgd", max_iter=20, precondition=False),
        epsilon=0.5, delta=DELTA)
    with budget:
        fitted = whole.fit(X, Y)
    assert same(charged(budget), fitted.privacy_.event)


def test_groups_of_rows_are_a_unit_of_their_own():
    by_group = DPGroupDROClassifier(epsilon=0.3, delta=DELTA, classes=[0, 1])
    with PrivacyBudget(1.0, DELTA, unit="group") as budget:
        with pytest.raises(BudgetExceededError, match="protects single rows"):
            model().fit(X, Y)
        assert budget.charges == []
    with PrivacyBudget(1.0, DELTA) as rows:
        by_group.fit(X, Y, groups=np.arange(len(X)) % 2)
    assert len(rows.charges) == 1


def test_a_file_goes_on_where_it_ended(tmp_path):
    path = tmp_path / "census.budget"
    with PrivacyBudget(1.0, DELTA, name="census", path=path):
        model(0.9).fit(X, Y)
    again = PrivacyBudget(1.0, DELTA, name="census", path=path)
    assert len(again.charges) == 1
    with again, pytest.raises(BudgetExceededError):
        model(0.9).fit(X, Y)
    for other in ({"epsilon": 2.0}, {"delta": 1e-6}, {"name": "health"}, {"unit": "group"},
                  {"kind": "renyi"}, {"disclosure": 1e-6}):
        given = {"epsilon": 1.0, "delta": DELTA, "name": "census", "path": path, **other}
        with pytest.raises(ValueError, match="holds another budget"):
            PrivacyBudget(given.pop("epsilon"), given.pop("delta"), **given)
    records = [line.split(" ", 1)[1] for line in path.read_text().splitlines()]
    assert json.loads(records[1])["name"] == "DPLogisticRegression"
    assert sum(tally(charged(again)).values()) > 0


def test_a_file_that_is_gone_or_changed_stops_everything(tmp_path):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "census.budget")
    with budget:
        model(0.1).fit(X, Y)
        text = (tmp_path / "census.budget").read_bytes()
        (tmp_path / "census.budget").write_bytes(text[:-10] + b"0" + text[-9:])
        with pytest.raises(ValueError, match="is not as it was written"):
            model(0.1).fit(X, Y)
        (tmp_path / "census.budget").unlink()
        with pytest.raises(FileNotFoundError):
            model(0.1).fit(X, Y)


@pytest.mark.parametrize(("given", "match"), [
    ({"epsilon": 0.0}, r"epsilon=0\.0"), ({"epsilon": math.inf}, "epsilon=inf"),
    ({"epsilon": 1e300}, r"epsilon=1e\+300: must be .* at most 1e\+12"),
    ({"delta": 1.0}, r"delta=1\.0"), ({"kind": "zcdp"}, "kind='zcdp'"),
    ({"kind": "pure"}, "goes with delta=0"), ({"delta": 0.0, "kind": "gaussian"}, "goes with"),
    ({"disclosure": 1e-5}, "below delta"), ({"disclosure": 1e-6, "kind": "renyi"}, "disclosure="),
    ({"unit": "person"}, "unit='person'"), ({"name": 5}, "name=5"), ({"name": b"x"}, "name=b'x'")])
def test_parameters_out_of_range_are_refused_by_name(given, match, tmp_path):
    given = {"epsilon": 1.0, "delta": 1e-5, **given}
    path = tmp_path / "census.budget"
    with pytest.raises(ValueError, match=match):
        PrivacyBudget(given.pop("epsilon"), given.pop("delta"), path=path, **given)
    assert not path.exists()


def test_it_shows_what_is_spent_and_left():
    budget = PrivacyBudget(1.0, DELTA, name="<census>")
    with budget:
        model(0.6).fit(X, Y)
    text, page = str(budget), budget._repr_html_()
    assert "DPLogisticRegression" in text
    assert "(1, 1e-05) for a row" in text
    assert f"epsilon={rounded_down(budget.left(), 4)} " in text
    share = 100 * max(budget.spent[unit] / budget.limits[unit] for unit in budget.limits)
    assert 0 < share < 100
    assert f"value='{share:.1f}'" in page and f"{share:.1f} % spent" in page
    for unit, spent in budget.spent.items():
        limit = rounded_up(budget.limits[unit], 6)
        assert f"spent, {unit}: {rounded_up(spent, 6)} of {limit}" in text
    assert "&lt;census&gt;" in page
    assert "<census>" not in page


@pytest.mark.parametrize("delta", [0, 0.0, 1.0, -1e-5, math.nan, "a", [1e-5], 10**400, True])
def test_what_is_left_at_no_delta_is_refused_by_name(delta):
    with pytest.raises(ValueError, match=r"^delta=.*: must be None, or a number in \(0, 1\)"):
        PrivacyBudget(1.0, DELTA).left(delta)
    # Every delta is as good for a pure fit.
    assert PrivacyBudget(1.0, 0.0).left(0.0) == PrivacyBudget(1.0, 0.0).left(1e-5) == 1.0


@pytest.mark.parametrize(("delta", "end"), [
    (1e-5, r" at delta=1e-05; budget.left\(delta\) gives"), (0.0, r" at delta=0\.")])
def test_what_is_left_is_said_at_a_delta(delta, end):
    with PrivacyBudget(0.5, delta), pytest.raises(BudgetExceededError, match=end):
        DPLogisticRegression(epsilon=5.0, delta=delta, data_norm=30.0).fit(X, Y)


@pytest.mark.parametrize("unit, first, dear", [
    ("mu^2", Gaussian(0.1), Gaussian(0.3)), ("delta", Disclosure(6e-7), Disclosure(7e-7))])
def test_a_refusal_says_what_falls_short_and_by_how_much(unit, first, dear):
    """Of what is counted, that alone of which too little is left."""
    with PrivacyBudget(1.0, DELTA) as budget:
        charge_fit(first)
        with pytest.raises(BudgetExceededError) as raised:
            charge_fit(dear)
    price = budget._account.filter.price(dear)[budget._account.filter.units.index(unit)]
    left = budget.limits[unit] - budget.spent[unit]
    assert (f" is {unit}={rounded_up(price, 3)}, but {rounded_down(left, 3)} is left in Priv"
            in str(raised.value))


def test_where_nothing_is_left_no_smaller_fit_is_advised():
    with PrivacyBudget(1.0, 0.0) as budget:
        charge_fit(Pure(1.0))
        with pytest.raises(BudgetExceededError, match=r"Nothing is left: fit nothing more"):
            charge_fit(Pure(0.5))
    assert budget.left() == 0.0
