"""What is not exactly of a known class is called unknown, wherever it is and whatever it does."""

import functools
import math
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import _ConstantPredictor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRidge,
    DPRobustScaler,
    DPStandardScaler,
    make_dp_pipeline,
    privacy_report,
)

pytestmark = pytest.mark.filterwarnings("ignore")

DELTA = 1e-6
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(200, 3))
Y = (X[:, 0] > 0).astype(int)
#: Methods in which a class of one's own may learn from rows.
HOOKS = ["fit", "transform", "fit_transform", "partial_fit", "predict", "predict_proba", "score",
         "__init__", "__setattr__", "__getattribute__", "__sklearn_tags__", "__getstate__",
         "__sklearn_clone__", "get_params", "_anything"]
BASES = [Pipeline, FeatureUnion, FunctionTransformer, DPRobustScaler, BaggingClassifier,
         DPLogisticRegression, Normalizer, BaseEstimator]


def model(**params):
    return DPLogisticRegression(**{"epsilon": 0.5, "delta": DELTA, "solver": "gd", "max_iter": 2,
                                   "data_norm": 2.0, "classes": [0, 1], **params})


def made(cls):
    """Return a fitted object of a known class."""
    given = {Pipeline: [[("model", model())]], FeatureUnion: [[("a", DPStandardScaler())]],
             BaggingClassifier: [model(), 2]}.get(cls, [])
    options = {"bootstrap": False} if cls is BaggingClassifier else {}
    return cls(*given, **options).fit(X, Y)


def of(cls, **members):
    """Return a class of one's own that derives from a known one."""
    return type(f"Own{cls.__name__}", (cls,), members)


def unknown(report, name):
    said = [part for part in report.exposed if name in part.sentence
            and "unknown, no guarantee" in part.sentence]
    return (bool(said) and not report.is_private and report.epsilon == math.inf
            and report.fits_epsilon == math.inf)


@pytest.mark.covering
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
def test_a_subclass_is_unknown_whichever_method_it_has_of_its_own(base, hook):
    fitted = BaseEstimator() if base is BaseEstimator else made(base)
    assert base is BaseEstimator or not privacy_report([fitted]).exposed
    theirs = getattr(base, hook, lambda self, *args: self)
    fitted.__class__ = of(base, **{hook: lambda self, *args, **params: theirs(
        self, *args, **params)})
    report = privacy_report([fitted])
    assert unknown(report, f"Own{base.__name__}")
    known = base is not BaseEstimator
    assert (f"a subclass of {base.__name__}, whose methods" in str(report)) == known


class Centering(TransformerMixin, BaseEstimator):
    """Learns means in `transform`, and says that it needs no fit."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        self.mean_ = X.mean(axis=0)
        return X - self.mean_

    def inverse_transform(self, X):
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Claiming(ClassifierMixin, BaseEstimator):
    """Learns means, and has the certificate of a private model."""

    def fit(self, X, y):
        self.mean_ = X.mean(axis=0)
        self.classes_ = np.unique(y)
        self.privacy_ = model().fit(X - self.mean_, y).privacy_
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


class Delegating(BaseEstimator):
    """Learns means without noise, and passes on all attributes of a private model."""

    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, X, y):
        self.mean_ = X.mean(axis=0)
        self.inner_ = self.inner.fit(X - self.mean_, y)
        return self

    def __getattr__(self, name):
        if name == "inner_" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner_, name)


class Pretending(BaseEstimator):
    """Says that it is of a known class."""

    __module__ = "dpsk.linear_model._logistic"
    __class__ = DPLogisticRegression


Pretending.__qualname__ = Pretending.__name__ = "DPLogisticRegression"


class Slotted:
    __slots__ = ("held",)


class Listed(list):
    def __iter__(self):
        return iter(())


class Named(dict):
    def items(self):
        return ()


class Own(DPLogisticRegression):
    pass


class Bare:
    def fit(self, X, y=None):
        return self


class Folds(KFold):
    pass


class Hiding(list):
    def __iter__(self):
        return iter(self[1:])


class Word(str):
    def transform(self, X):
        return X - X.mean(axis=0)


def hiding(pipeline):
    pipeline.steps = Hiding(pipeline.steps)
    return pipeline


def with_step(step):
    pipeline = make_pipeline(DPStandardScaler(), model()).fit(X, Y)
    pipeline.steps.insert(0, ("step", step))
    return pipeline


def encoded_by():
    """Return an ensemble whose encoder of labels holds rows."""
    voting = VotingClassifier([("a", model())]).fit(X, Y)
    voting.le_.kept = X
    return voting


class Showing(dict):
    """Shows less than it has."""

    def keys(self):
        return [name for name in dict.keys(self) if name != "raw_"]

    def __iter__(self):
        return iter(self.keys())


def with_dict(fitted):
    fitted.__dict__ = Showing(vars(fitted), raw_=X)
    return fitted


#: Programmes around a class of one's own, and its name.
PLACES = {
    "alone": (lambda: Claiming().fit(X, Y), "Claiming"),
    "passing on": (lambda: Delegating(model()).fit(X, Y), "Delegating"),
    "pretending": (lambda: [Pretending()], "DPLogisticRegression"),
    "in a list": (lambda: [model().fit(X, Y), Centering()], "Centering"),
    "in a dict": (lambda: {"one": model().fit(X, Y), "two": Slotted()}, "Slotted"),
    "a list": (lambda: Listed([Claiming().fit(X, Y)]), "Listed"),
    "a dict": (lambda: Named(one=Claiming().fit(X, Y)), "Named"),
    "rows": (lambda: [model().fit(X, Y), X], "ndarray"),
    "a function": (lambda: [model().fit(X, Y), lambda: X], "function"),
    "first step": (lambda: make_pipeline(Centering(), model()).fit(X, Y), "Centering"),
    "last step": (lambda: make_pipeline(DPStandardScaler(), Claiming()).fit(X, Y), "Claiming"),
    "one budget": (lambda: make_dp_pipeline(Centering(), model()).fit(X, Y), "Centering"),
    "union": (lambda: FeatureUnion([("a", DPStandardScaler()), ("b", Centering())]).fit(X),
              "Centering"),
    "columns": (lambda: ColumnTransformer([("a", Centering(), [0])], sparse_threshold=0).fit(X),
                "Centering"),
    "voting": (lambda: VotingClassifier([("a", model()), ("b", Own())]).fit(X, Y), "Own"),
    "bags": (lambda: BaggingClassifier(Own(), 2, bootstrap=False).fit(X, Y), "Own"),
    "targets": (lambda: TransformedTargetRegressor(
        DPRidge(delta=DELTA), transformer=Centering()).fit(X, X[:, 0]), "Centering"),
    "a function of targets": (lambda: TransformedTargetRegressor(
        DPRidge(delta=DELTA), func=lambda y: y - y.mean(), inverse_func=lambda y: y,
        check_inverse=False).fit(X, X[:, 0]), "func of a FunctionTransformer"),
    "frozen": (lambda: make_pipeline(FrozenEstimator(Centering()), model()).fit(X, Y),
               "Centering"),
    "a search": (lambda: GridSearchCV(Own(delta=DELTA), {"alpha": [0.1]}, cv=KFold(2)).fit(X, Y),
                 "Own"),
    "a private search": (lambda: DPGridSearchCV(
        make_dp_pipeline(Centering(), model()), {"dplogisticregression__alpha": [0.0, 0.1]},
        scoring="accuracy").fit(X, Y), "Centering"),
    "a private search of one's own": (lambda: DPGridSearchCV(
        Own(classes=[0, 1]), {"alpha": [0.0, 0.1]}, scoring="accuracy").fit(X, Y), "Own"),
    "without tags": (lambda: Bare(), "Bare"),
    "folds of a search": (lambda: GridSearchCV(model(), {"alpha": [0.1]}, cv=Folds(2)).fit(X, Y),
                          "Folds"),
    "scores of a search": (lambda: GridSearchCV(
        model(), {"alpha": [0.1]}, cv=KFold(2), scoring=lambda *rows: 0.0).fit(X, Y), "function"),
    "behind a list": (lambda: hiding(make_pipeline(Centering(), model()).fit(X, Y)), "Hiding"),
    "a key of a dict": (lambda: {Centering(): model().fit(X, Y)}, "Centering"),
    "a word": (lambda: with_step(Word("passthrough")), "Word"),
    "memory": (lambda: Pipeline([("model", model())], memory=Cache()).fit(X, Y), "Cache"),
    "not in the table": (lambda: [_ConstantPredictor().fit(X, Y)], "_ConstantPredictor"),
}


class Cache:
    def cache(self, function, **options):
        return function


@pytest.mark.parametrize("name", PLACES)
def test_a_class_of_ones_own_is_named_wherever_it_is(name):
    make, said = PLACES[name]
    assert unknown(privacy_report(make()), said)


def holding(fitted, name, value):
    object.__setattr__(fitted, name, value)
    return fitted


def in_a_part(value):
    fitted = make_pipeline(DPStandardScaler(), model()).fit(X, Y)
    fitted.named_steps.dpstandardscaler.kept = value
    return fitted


#: Known classes with an attribute that their own code does not set, or of another kind.
HOLDING = {
    "a method": lambda: holding(model().fit(X, Y), "predict", lambda X: X),
    "rows": lambda: holding(model().fit(X, Y), "raw_", X),
    "a number": lambda: holding(model().fit(X, Y), "mean_", float(X.mean())),
    "a model": lambda: holding(made(BaggingClassifier), "other_", model().fit(X, Y)),
    "a certificate": lambda: holding(made(Pipeline), "privacy_", model().fit(X, Y).privacy_),
    "a function for a parameter": lambda: holding(model().fit(X, Y), "alpha", lambda: X),
    "a class for a parameter": lambda: holding(model().fit(X, Y), "alpha", Slotted),
    "in a container": lambda: holding(model().fit(X, Y), "solver_options", {"a": [Slotted()]}),
    "in an array": lambda: holding(model().fit(X, Y), "coef_", np.array([Centering()])),
    "in fields": lambda: holding(model().fit(X, Y), "coef_", np.array(
        [(Centering(),)], dtype=[("a", object)])),
    "an array of another class": lambda: holding(
        model().fit(X, Y), "coef_", np.ma.masked_array(np.eye(3))),
    "in a frame": lambda: holding(
        model().fit(X, Y), "coef_", pytest.importorskip("pandas").DataFrame({"a": [1.0]})),
    "in a mapping": lambda: holding(
        model().fit(X, Y), "solver_options", types.MappingProxyType({"a": Slotted()})),
    "in an encoder": encoded_by,
    "a dictionary that hides": lambda: with_dict(model().fit(X, Y)),
    "in a part": lambda: in_a_part(X),
    "in a stateless one": lambda: make_pipeline(
        holding(Normalizer(), "seen_", X), model()).fit(X, Y),
    "a callback": lambda: holding(model().fit(X, Y), "_skl_callbacks", [Slotted()]),
}


@pytest.mark.parametrize("name", HOLDING)
def test_what_the_code_of_a_class_does_not_set_is_unknown(name):
    report = privacy_report([HOLDING[name]()])
    assert report.fits_epsilon == math.inf
    assert any("unknown, no guarantee" in part.sentence for part in report.exposed)


def constants(*values):
    return functools.partial(np.multiply, *values)


KNOWN = [None, np.log1p, np.tanh, np.sqrt, constants(0.1), constants(np.array([0.1, 1.0, 2.0]))]
UNKNOWN = [
    lambda X: X - X.mean(axis=0), np.cumsum, np.sort, np.frompyfunc(lambda entry: entry, 1, 1),
    np.vectorize(lambda entry: entry), np.add.accumulate, functools.partial(np.matmul, np.eye(3)),
    constants(X), functools.partial(np.multiply, 0.1, where=True), constants(np.array([[1.0]])),
    constants(Slotted()), functools.partial(np.clip, 0.0, 1.0), Normalizer().fit_transform]


@pytest.mark.parametrize("before", [0, 1, 2, 5, 40])
def test_an_exact_model_is_found_behind_any_number_of_indexes(before):
    """What one index is read into is gone when the next one is read, and its address with it."""
    fitted, exact = model().fit(X, Y), StandardScaler().fit(X)
    known = [pd.Index([f"a{each}"], dtype=object) for each in range(before)]
    fitted.coef_ = [*known, pd.Index(["a"], dtype=object)]
    assert privacy_report(fitted).is_private
    fitted.coef_ = [*known, pd.Index([exact], dtype=object)]
    report = privacy_report(fitted)
    assert not report.is_private and report.epsilon == math.inf


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("number", range(len(KNOWN) + len(UNKNOWN)))
def test_functions_are_known_where_they_map_entries(number, place):
    function = [*KNOWN, *UNKNOWN][number]
    parameter = ["func", "inverse_func"][place]
    transformer = FunctionTransformer(**{parameter: function}, check_inverse=False)
    report = privacy_report([transformer, model().fit(X, Y)])
    known = number < len(KNOWN)
    assert report.is_private == known
    assert known or unknown(report, f"{parameter} of a FunctionTransformer")


@pytest.mark.parametrize("params", [
    {"kw_args": {"where": Y}}, {"inv_kw_args": {"out": X}},
    {"feature_names_out": lambda self, names: names}], ids=lambda params: next(iter(params)))
def test_functions_get_no_more_than_entries(params):
    report = privacy_report([FunctionTransformer(np.tanh, **params), model().fit(X, Y)])
    assert unknown(report, "FunctionTransformer")


@pytest.mark.parametrize("one_budget", [False, True])
def test_a_function_in_a_pipeline_is_unknown_under_one_budget_too(one_budget):
    make = make_dp_pipeline if one_budget else make_pipeline
    known, other = (make(FunctionTransformer(function), model()).fit(X, Y)
                    for function in (np.tanh, lambda X: np.tanh(X)))
    assert privacy_report(known).is_private
    assert unknown(privacy_report(other), "func of a FunctionTransformer")


def test_what_is_frozen_is_taken_on_trust_but_for_code_and_certificates():
    report = privacy_report(make_pipeline(
        FrozenEstimator(DPStandardScaler(epsilon=1.0, delta=DELTA).fit(X)), model()).fit(X, Y))
    assert report.is_private
    assert len(report.private) == 2
    report = privacy_report(make_pipeline(
        FrozenEstimator(StandardScaler().fit(X)), model()).fit(X, Y))
    assert report.is_private
    (note,) = report.notes
    assert "StandardScaler is frozen" in note.sentence
    mapped = FrozenEstimator(FunctionTransformer(lambda X: X - X.mean(axis=0)).fit(X))
    assert unknown(privacy_report([mapped, model().fit(X, Y)]), "func of a FunctionTransformer")


def test_private_parts_of_an_unknown_class_are_reported_by_themselves():
    own = Claiming().fit(X, Y)
    report = privacy_report([own.privacy_])
    assert report.is_private
    assert report.epsilon == own.privacy_.epsilon_at(own.privacy_.delta)
