"""What is in a fitted object: private fits, how often a row is in them, and all that is not."""

import inspect
from dataclasses import dataclass, replace
from functools import singledispatch

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from dpsk._budget import PrivacyBudget
from dpsk._privacy.certificate import GROUP_RELATION, Certificate
from dpsk.reporting._report import PrivacyReport

__all__ = ["Exposed", "Note", "Private", "known", "parts_of"]

_NOTHING = ("passthrough", "drop", None)
#: Packages of which it is known what a `fit` does.
_KNOWN = {"dpsk", "sklearn"}


@dataclass(frozen=True)
class Private:
    """Private fits that a row is in.

    Attributes
    ----------
    path : str
        Where they are in what was reported on.
    certificate : Certificate
        Of one of them, or what bounds it.
    count : int
        How many of them one row is in at most.
    """

    path: str
    certificate: Certificate
    count: int = 1


@dataclass(frozen=True)
class Exposed:
    """Something of rows that leaves without noise, or of which nothing is known.

    Attributes
    ----------
    path, sentence : str
    """

    path: str
    sentence: str


@dataclass(frozen=True)
class Note:
    """Something that the guarantee rests on, and that cannot be checked here.

    Attributes
    ----------
    path, sentence : str
    """

    path: str
    sentence: str


def parts_of(fitted, path):
    """Yield the parts of a fitted object, whose place in the whole is `path`."""
    yield from _parts(fitted, path)
    if _parts.dispatch(type(fitted)) is not _parts.dispatch(object) and _has_own_fit(fitted):
        yield Exposed(path, f"{type(fitted).__name__} has a fit of its own: what that learns of "
                            "rows beside the parts is not known.")


@singledispatch
def _parts(fitted, path):
    """Yield the parts of what stands for itself; a kind of wrapper is one that is registered."""
    certificate, name = _certificate(fitted), type(fitted).__name__
    if certificate is not None:
        yield Private(path, certificate)
        if _has_own_fit(fitted):
            yield Note(path, f"{name} has a fit of its own: that it learns of rows no more than "
                             "its certificate states is taken on trust.")
    elif _learns_nothing(fitted):
        return
    else:
        yield Exposed(path, f"{name} has no certificate: what it learnt from rows, it learnt "
                            "without noise as far as is known.")


#: Registers the parts of a kind of wrapper.
known = _parts.register


@known
def _(certificate: Certificate, path):
    yield Private(path, certificate)


@known
def _(report: PrivacyReport, path):
    for part in (*report.private, *report.exposed, *report.notes):
        yield replace(part, path=f"{path}.{part.path}")


@known
def _(budget: PrivacyBudget, path):
    raise TypeError(f"{path} is a budget, which limits fits and is none of them: print it for "
                    "what has been spent, and report on the fitted models.")


@known
def _(frozen: FrozenEstimator, path):
    # What was fitted with noise had rows to protect, which may be these.
    yield from (part for part in parts_of(frozen.estimator, f"{path}.estimator")
                if isinstance(part, Private))
    yield Note(path, f"{type(frozen.estimator).__name__} is frozen: that it was fitted to other "
                     "rows, but for what it has a certificate of, is taken on trust.")


@known
def _(transformer: FunctionTransformer, path):
    if transformer.func is not None:
        yield Note(path, "the function of a FunctionTransformer is taken to map every row by "
                         "itself.")


@known(list)
@known(tuple)
def _(several, path):
    for place, each in enumerate(several):
        yield from parts_of(each, f"{path}[{place}]")


@known
def _(pipeline: Pipeline, path):
    yield from _named(pipeline.steps, path)


@known
def _(union: FeatureUnion, path):
    yield from _named(union.transformer_list, path)


@known
def _(columns: ColumnTransformer, path):
    yield from _named([(name, fitted) for name, fitted, _ in columns.transformers_], path)


@known
def _(regressor: TransformedTargetRegressor, path):
    yield from parts_of(regressor.transformer_, f"{path}.transformer_")
    yield from parts_of(regressor.regressor_, f"{path}.regressor_")


@known
def _(model: OneVsRestClassifier, path):
    yield from _members(model.estimators_, path)
    yield _classes(path)


@known(MultiOutputClassifier)
@known(MultiOutputRegressor)
def _(model, path):
    yield from _members(model.estimators_, path)


@known(VotingClassifier)
@known(VotingRegressor)
def _(model, path):
    yield from _members(model.estimators_, path)
    if isinstance(model, VotingClassifier):
        yield _classes(path)


@known
def _(model: OneVsOneClassifier, path):
    yield from _members(model.estimators_, path)
    yield Exposed(path, "OneVsOneClassifier fits each pair of classes on the rows of these two: "
                        "how many rows a class has is used without noise, and a row whose label "
                        "changes leaves one set of fits for another.")


@known(BaggingClassifier)
@known(BaggingRegressor)
def _(model, path):
    members = list(_members(model.estimators_, path))
    yield from members
    if model.bootstrap:
        yield Exposed(path, "bags are drawn with replacement: a row that is in one several times "
                            "is not protected by a guarantee for one row; use bootstrap=False.")
    if any(isinstance(part, Private) and part.certificate.relation == GROUP_RELATION
           for part in members):
        yield Exposed(path, "bags are drawn by rows, as many as there are, which guarantees for "
                            "groups of rows do not cover.")
    if hasattr(model, "oob_score_"):
        yield _exact(path, "oob_score_")
    if isinstance(model, BaggingClassifier):
        yield _classes(path)


@known(AdaBoostClassifier)
@known(AdaBoostRegressor)
def _(model, path):
    yield from _members(model.estimators_, path)
    yield Exposed(path, f"{type(model).__name__} weights rows by the exact errors of the members "
                        "before, and publishes these errors and weights of members.")


@known
def _(model: CalibratedClassifierCV, path):
    yield from _members([each.estimator for each in model.calibrated_classifiers_], path)
    yield Exposed(f"{path}.calibrated_classifiers_",
                  f"{model.method} calibration is fitted to exact scores and labels of rows, and "
                  "stores scores of single rows where it is isotonic.")


@known
def _(model: FixedThresholdClassifier, path):
    # Around a fitted one it predicts without a fit of its own.
    name = "estimator_" if hasattr(model, "estimator_") else "estimator"
    yield from parts_of(getattr(model, name), f"{path}.{name}")


@known
def _(model: TunedThresholdClassifierCV, path):
    yield from parts_of(model.estimator_, f"{path}.estimator_")
    yield Exposed(path, "best_threshold_ was chosen by exact scores of rows: they have no noise. "
                        "Use DPTunedThresholdClassifier.")
    yield _unkept(path)


@known(StackingClassifier)
@known(StackingRegressor)
def _(model, path):
    yield from _members(model.estimators_, path)
    yield from parts_of(model.final_estimator_, f"{path}.final_estimator_")
    if model.cv != "prefit":
        yield _unkept(path)
    if isinstance(model, StackingClassifier):
        yield _classes(path)


def _named(steps, path):
    for name, step in steps:
        if not (isinstance(step, str) or step in _NOTHING):
            yield from parts_of(step, f"{path}.{name}")


def _members(estimators, path):
    flat = [each for group in estimators for each in (group if isinstance(group, list) else
                                                      [group])]
    for place, each in enumerate(flat):
        yield from parts_of(each, f"{path}.estimators_[{place}]")


def _classes(path):
    return Note(path, "the classes that occur in the rows are taken as public.")


def _exact(path, name):
    return Exposed(path, f"{name} is, or was chosen by, exact scores of rows: they have no noise.")


def _unkept(path):
    return Exposed(path, "models that were fitted to folds inside were not kept, so what they "
                         "cost is not known; fit inside a PrivacyBudget, which charges them.")


def _learns_nothing(fitted):
    """Return whether a transformer says that it needs no rows to be fitted."""
    # A predictor may say so as well, and learn from those that it gets.
    if not hasattr(fitted, "transform") or hasattr(fitted, "predict"):
        return False
    try:
        return not get_tags(fitted).requires_fit
    except (AttributeError, TypeError, ValueError):
        return False


def _certificate(fitted):
    """Return an object's certificate, or None; not one that it passes on from a part."""
    try:
        inspect.getattr_static(fitted, "privacy_")
    except AttributeError:
        return None
    found = fitted.privacy_
    return found if isinstance(found, Certificate) else None


def _has_own_fit(fitted):
    """Return whether the `fit` of an estimator is of neither this package nor scikit-learn."""
    fit = getattr(type(fitted), "fit", None)
    return fit is not None and fit.__module__.partition(".")[0] not in _KNOWN
