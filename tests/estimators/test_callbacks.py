"""scikit-learn's callbacks are told how far a fit is, and never of rows."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
    make_dp_pipeline,
)
from dpsk.accounting import compose
from tests.registry import every_estimator

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

X = np.random.default_rng(0).normal(size=(80, 3))
Y = np.arange(80) % 2
PUBLIC = {"n_features_in_", "feature_names_in_", "classes_"}


class Told:
    """Keeps all that it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        # Between answers an estimator holds neither rows nor anything that depends on them.
        shown = {name for name in vars(estimator) if name.endswith("_")} - PUBLIC
        assert context.task_name != "answer" or not shown
        self.events.append(("end", context.task_name))
        return True

    def count(self, *event):
        return self.events.count(event)


class Asking(Told):
    """Asks for rows."""

    def on_fit_task_end(self, estimator, context, *, X=None):
        raise AssertionError


def model(**params):
    return DPLogisticRegression(**{
        "solver": "gd", "max_iter": 7, "precondition": False, "temperature": False,
        "data_norm": 1.0, "delta": 1e-3, **params})


def test_every_answer_is_told_of_once():
    told = Told()
    fitted = model().set_callbacks(told).fit(X, Y)
    assert told.events[0] == ("setup", "fit")
    assert told.events[-1] == ("teardown", "fit")
    assert told.count("begin", "answer") == told.count("end", "answer") == 7
    assert told.count("begin", "DPLogisticRegression") == told.count(
        "end", "DPLogisticRegression") == 1
    # It can be fitted again, and stopping is not for callbacks: coefficients have all steps.
    assert fitted.n_iter_ == 7
    fitted.__dict__ = {key: value for key, value in vars(fitted).items() if key[-1] != "_"}
    assert len(fitted.fit(X, Y)._skl_callbacks) == 1


def test_long_fits_are_told_of_by_hundredths():
    told = Told()
    model(max_iter=1050).set_callbacks(told).fit(X, Y)
    assert told.count("begin", "answer") == 100


@pytest.mark.parametrize("whole", [
    lambda: make_dp_pipeline(DPTableVectorizer(), model(), delta=1e-3),
    lambda: make_pipeline(FunctionTransformer(), model())], ids=["ours", "scikit-learn's"])
def test_steps_of_pipelines_are_told_of(whole):
    told, pipeline = Told(), whole()
    pipeline.set_callbacks(told)
    if "DP" not in type(pipeline).__name__:
        # It hands only some of its callbacks to its steps, as they say.
        pipeline.steps[-1][1].set_callbacks(told)
    pipeline.fit(X, Y)
    assert told.count("begin", "answer") >= 7
    assert told.count("setup", "fit") == told.count("teardown", "fit") > 0


def test_a_fit_that_fails_takes_its_callbacks_down():
    told = Told()
    with pytest.raises(ValueError, match="epsilon"):
        model(epsilon=-1.0).set_callbacks(told).fit(X, Y)
    assert told.events == [("setup", "fit"), ("begin", "fit"), ("teardown", "fit")]


@pytest.mark.parametrize("asking", [
    Asking, lambda: callback.ScoringMonitor(scoring="accuracy")], ids=["rows", "scores"])
def test_what_would_score_rows_at_each_step_is_refused_by_name(asking):
    made = asking()
    with pytest.raises(ValueError, match=f"{type(made).__name__}: its on_fit_task_end asks for"):
        model().set_callbacks(made)
    smuggled = model()
    smuggled._skl_callbacks = [made]
    with pytest.raises(ValueError, match="a release without noise"):
        smuggled.fit(X, Y)
    assert not hasattr(smuggled, "privacy_")


@every_estimator
def test_every_estimator_takes_callbacks(cls):
    told = Told()
    made = cls()
    assert made.set_callbacks(told) is made
    assert made._skl_callbacks == [told]
    assert cls.fit.__wrapped__.__qualname__ == cls.fit.__qualname__


def test_what_is_charged_is_the_same():
    told, plain = model().set_callbacks(Told()).fit(X, Y), model().fit(X, Y)
    assert compose(told.privacy_) == compose(plain.privacy_)


def _inside(place, told):
    """Return a search of which something inside has a callback."""
    heard = model().set_callbacks(told)
    if place == "parameter":
        steps = make_dp_pipeline(FunctionTransformer(), model())
        return DPGridSearchCV(steps, {"dplogisticregression": [heard]}, n_iter=3)
    if place == "distribution":
        steps = make_dp_pipeline(FunctionTransformer(), model())
        return DPRandomizedSearchCV(steps, {"dplogisticregression": [heard]}, n_iter=3)
    if place == "step":
        heard = make_dp_pipeline(FunctionTransformer(), heard)
    if place == "pipeline":
        heard = make_dp_pipeline(FunctionTransformer(), model()).set_callbacks(told)
    if place == "threshold":
        return DPTunedThresholdClassifier(heard)
    return DPGridSearchCV(heard, {}, n_iter=3)


@pytest.mark.parametrize("place", ["estimator", "step", "pipeline", "parameter", "distribution",
                                   "threshold"])
def test_runs_of_a_search_are_told_to_nobody(place):
    """How many there are is secret, and so are the models that lose."""
    told = Told()
    _inside(place, told).fit(np.tile(X, (5, 1)), np.tile(Y, 5))
    assert not told.events
