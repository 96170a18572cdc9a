"""A search writes one charge, whatever it drew and wherever its models are fitted.

The number of runs is secret, so a ledger that tells it is a release. Counts are exact; nothing
here is statistical.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPRidge,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.accounting import Certificate
from dpsk.exceptions import BudgetExceededError
from tests.instruments import fix_runs

pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) / 4
Y = (X[:, 0] + 0.1 * RNG.normal(size=400) > 0).astype(int)
POOL = ThreadPoolExecutor(1)


def _in_thread(work):
    found = []

    def run():
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _in_worker(work):
    return Parallel(n_jobs=2)(delayed(work)() for _ in range(1))[0]


def _forked(work):
    return Parallel(n_jobs=2, backend="multiprocessing")(delayed(work)() for _ in range(1))[0]


def _taken(model, fitted):
    """Return a model with what another one was fitted to."""
    vars(model).update({name: value for name, value in vars(fitted).items()
                        if name != "_carried"})
    return model


WHERE = {"here": lambda work: work(), "thread": _in_thread,
         "older thread": lambda work: POOL.submit(work).result(), "worker": _in_worker,
         "forked": _forked}


class Elsewhere(DPLogisticRegression):
    """Is fitted somewhere else, as it says itself."""

    where = "thread"

    def fit(self, X, y):
        fitted = WHERE[self.where](lambda: DPLogisticRegression.fit(self, X, y))
        return _taken(self, fitted)


class RidgeElsewhere(DPRidge):
    """The same of a regression."""

    where = "thread"

    def fit(self, X, y):
        fitted = WHERE[self.where](lambda: DPRidge.fit(self, X, y))
        return _taken(self, fitted)


class Fit:
    """The fit of a model that goes to another process."""

    def __init__(self, model, X, y):
        self.model, self.X, self.y = model, X, y

    def __call__(self):
        return DPLogisticRegression.fit(self.model, self.X, self.y)


class Greedy(DPLogisticRegression):
    """Makes other fits beside its own."""

    where, of = "here", "before"

    def fit(self, X, y):
        other = DPLogisticRegression(epsilon=self.epsilon, delta=self.delta, solver="gd",
                                     max_iter=2, data_norm=1.0, classes=[0, 1])
        if self.of == "before":
            WHERE[self.where](lambda: other.fit(X, y))
        super().fit(X, y)
        if self.of == "after":
            WHERE[self.where](lambda: other.fit(X, y))
        return self


def settings(where, **more):
    return {"solver": "gd", "max_iter": 2, "data_norm": 1.0, "classes": [0, 1], **more}


def made(cls, where, **attributes):
    kind = type(cls.__name__, (cls,), {"where": where, **attributes, "__module__": __name__})
    return kind(**settings(where))


@pytest.fixture(params=[1, 4])
def runs(request, monkeypatch):
    fix_runs(monkeypatch, request.param)
    return request.param


@pytest.mark.covering
@pytest.mark.parametrize("where", ["thread", "older thread"])
@pytest.mark.parametrize("piped", [False, True])
def test_models_that_are_fitted_in_threads_are_covered(where, piped, runs):
    model = made(Elsewhere, where)
    if piped:
        model = make_dp_pipeline(DPStandardScaler(), model, shares={"dpstandardscaler": 0.2})
    search = DPRandomizedSearchCV(model, {}, epsilon=2.0, n_iter=3)
    with PrivacyBudget(30.0, 1e-2) as budget:
        search.fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPRandomizedSearchCV"]


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("where", ["worker", "forked"])
def test_models_that_are_fitted_in_workers_are_covered(where, runs):
    with PrivacyBudget(30.0, 1e-2) as budget:
        DPRandomizedSearchCV(Worker(**settings(where)).set_where(where), {}, epsilon=2.0,
                             n_iter=3).fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPRandomizedSearchCV"]


class Worker(DPLogisticRegression):
    """Is fitted in another process."""

    place = "worker"

    def set_where(self, where):
        Worker.place = where
        return self

    def fit(self, X, y):
        fitted = WHERE[Worker.place](Fit(self, X, y))
        return _taken(self, fitted)


@pytest.mark.parametrize("of", ["before", "after"])
@pytest.mark.parametrize("where", ["here", "thread", "older thread"])
def test_fits_beside_that_of_a_run_are_refused_and_charged_nowhere(where, of, runs):
    search = DPRandomizedSearchCV(made(Greedy, where, of=of), {}, epsilon=2.0, n_iter=3)
    with PrivacyBudget(30.0, 1e-2) as budget, pytest.raises(BudgetExceededError):
        search.fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPRandomizedSearchCV"]
    assert not hasattr(search, "best_estimator_")


@pytest.mark.covering(most=3)
@pytest.mark.parametrize("where", WHERE)
def test_fits_in_a_function_of_a_run_are_refused(where, runs):
    """A function is asked for rows before a run is charged, when it is, and when it is scored."""
    def function(rows):
        if inside[0]:
            WHERE[where](Fit(clone(model), X, Y))
        return rows

    inside, model = [False], DPLogisticRegression(epsilon=0.1, delta=1e-6, **settings(where))
    search = DPRandomizedSearchCV(make_dp_pipeline(FunctionTransformer(function), model), {},
                                  epsilon=2.0, n_iter=3)
    search._probed(None)
    with PrivacyBudget(30.0, 1e-2) as budget:
        original = DPRandomizedSearchCV._opened_session

        def session(self, *args):
            found = original(self, *args)
            inside[0] = True
            return found

        with pytest.MonkeyPatch.context() as patched, pytest.raises(BudgetExceededError):
            patched.setattr(DPRandomizedSearchCV, "_opened_session", session)
            search.fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPRandomizedSearchCV"]


def test_fits_of_other_threads_are_refused_beside_code_that_is_not_known():
    """They could be those of a run; beside known code they are charged for themselves."""
    entered, ended = threading.Event(), threading.Event()

    class Waiting(DPLogisticRegression):
        def fit(self, X, y):
            entered.set()
            assert ended.wait(60)
            return super().fit(X, y)

    search = DPRandomizedSearchCV(Waiting(**settings("here")), {}, epsilon=2.0, n_iter=3)
    with PrivacyBudget(30.0, 1e-2) as budget, ThreadPoolExecutor(1) as pool:
        searched = pool.submit(search.fit, X, Y)
        assert entered.wait(60)
        other = DPLogisticRegression(**settings("here"))
        with pytest.raises(BudgetExceededError, match="Fit after the search"):
            other.fit(X, Y)
        ended.set()
        searched.result()
        other.fit(X, Y)
    assert [charge.name for charge in budget.charges] == ["DPRandomizedSearchCV",
                                                          "DPLogisticRegression"]


@pytest.mark.parametrize("where", ["here", "thread", "older thread"])
def test_what_follows_from_one_release_is_not_drawn_anew(where, monkeypatch):
    """Strengths that differ by nothing give models that differ by nothing, from one release."""
    found = []

    class Kept(RidgeElsewhere):
        def fit(self, X, y):
            found.append(super().fit(X, y).coef_)
            return self

    Kept.where = where
    model = Kept(solver="sufficient_statistics", target_bounds=(0, 1), data_norm=1.0)
    search = DPGridSearchCV(model, {}, epsilon=1.0, n_iter=1,
                            post_params={"alpha": [0.1, 0.1 + 1e-9, 0.1 + 2e-9]})
    with PrivacyBudget(30.0, 1e-2) as budget:
        search.fit(X, Y)
    assert len(budget.charges) == 1 and len(found) == 3
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-6)


def test_what_follows_from_one_release_stays_in_its_process():
    class Away(DPRidge):
        def fit(self, X, y):
            return _in_worker(lambda: DPRidge.fit(self, X, y))

    model = Away(solver="sufficient_statistics", target_bounds=(0, 1), data_norm=1.0)
    search = DPGridSearchCV(model, {}, epsilon=1.0, n_iter=1, post_params={"alpha": [0.1, 1.0]})
    with PrivacyBudget(30.0, 1e-2) as budget, pytest.raises(Exception) as raised:
        search.fit(X, Y)
    # joblib has words of its own for what cannot be sent.
    assert "its own process" in str(raised.value.__cause__)
    assert len(budget.charges) == 1


SCALED = {"shares": {"featureunion__a": 0.1, "featureunion__b": 0.1}}


def test_all_parts_of_what_a_search_found_state_the_whole():
    from sklearn.pipeline import FeatureUnion

    union = FeatureUnion([("a", DPStandardScaler()), ("b", DPStandardScaler())])
    model = DPLogisticRegression(**settings("here"))
    for searched in (
            DPRandomizedSearchCV(make_dp_pipeline(union, model, **SCALED), {}, n_iter=2),
            DPTunedThresholdClassifier(make_dp_pipeline(union, model, **SCALED))):
        searched.set_params(epsilon=1.0).fit(X, Y)
        stated = list(_certificates(searched))
        assert len(stated) >= 5
        assert {each.epsilon for each in stated} == {1.0}
        assert all(each is searched.privacy_ for each in stated)


def _certificates(value, seen=None):
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, (str, int, float, np.ndarray)):
        return
    seen[id(value)] = value
    if isinstance(value, Certificate):
        return
    own = vars(value).get("privacy_") if hasattr(value, "__dict__") else None
    if isinstance(own, Certificate):
        yield own
    inner = (value.values() if isinstance(value, dict) else value if isinstance(
        value, (list, tuple)) else getattr(value, "__dict__", {}).values())
    for each in inner:
        yield from _certificates(each, seen)


def _model():
    return DPLogisticRegression(epsilon=0.05, delta=1e-6, **settings("here"))


def _fits_elsewhere(rows, inside, fit):
    if inside[0]:
        with ThreadPoolExecutor(1) as pool:
            # It is refused, whatever the function makes of that.
            pool.submit(fit).exception()
    return rows


def only_in_runs(monkeypatch):
    inside, original = [False], DPGridSearchCV._opened_session

    def session(self, *args):
        found = original(self, *args)
        inside[0] = True
        return found

    monkeypatch.setattr(DPGridSearchCV, "_opened_session", session)
    return inside


def searched(function, settings, n_runs, monkeypatch):
    """Return what was charged for a search whose function fits a model in a thread."""
    fix_runs(monkeypatch, n_runs)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) / 4
    search = DPGridSearchCV(make_dp_pipeline(FunctionTransformer(function), _model()), settings,
                            epsilon=2.0, n_iter=3)
    with PrivacyBudget(30.0, 1e-2) as budget:
        search.fit(rows, (rows[:, 0] > 0).astype(int))
    return [charge.name for charge in budget.charges]


def test_one_setting_with_code_that_is_not_known_is_enough(monkeypatch):
    inside, fit = only_in_runs(monkeypatch), partial(_model().fit, X, Y)
    charged = searched(None, {"functiontransformer__func": [
        np.abs, lambda rows: _fits_elsewhere(rows, inside, fit)]}, 40, monkeypatch)
    assert charged == ["DPGridSearchCV"]


def test_functions_in_a_partial_are_code_that_is_not_known(monkeypatch):
    inside, fit = only_in_runs(monkeypatch), partial(_model().fit, X, Y)
    function = partial(_fits_elsewhere, inside=inside, fit=fit)
    assert searched(function, {}, 2, monkeypatch) == ["DPGridSearchCV"]


def test_what_sets_a_run_up_is_within_the_search(runs):
    """A candidate whose `set_params` fits is refused, however many there are."""
    class Setting(DPLogisticRegression):
        def set_params(self, **params):
            if "epsilon" in params:
                other.fit(X, Y)
            return super().set_params(**params)

    other = DPLogisticRegression(epsilon=0.1, delta=1e-6, **settings("here"))
    search = DPRandomizedSearchCV(Setting(**settings("here")), {}, epsilon=2.0, n_iter=3)
    with PrivacyBudget(30.0, 1e-2) as budget, pytest.raises(BudgetExceededError):
        search.fit(X, Y)
    names = [charge.name for charge in budget.charges]
    # The checks before it, of settings that stand for all, are of a public number.
    assert names[-1] == "DPRandomizedSearchCV"
    assert len(names) == len(list(search._probes())) + 1


class _FittingLaw:
    """A distribution of a caller that makes a private fit whenever it is asked."""

    def rvs(self, random_state=None):
        DPRidge(epsilon=0.01, delta=1e-9, target_bounds=(-3, 3)).fit(X, X[:, 0])
        return 1e-3


def test_fits_in_the_settings_of_a_search_are_refused():
    """Whatever is foreign in a search is, not in its candidates alone."""
    search = DPRandomizedSearchCV(DPRidge(target_bounds=(-3, 3)), {"alpha": _FittingLaw()},
                                  n_iter=5, delta=1e-6)
    with PrivacyBudget(100.0, 1e-3), pytest.raises(BudgetExceededError, match="of their own"):
        search.fit(X, X[:, 0])
