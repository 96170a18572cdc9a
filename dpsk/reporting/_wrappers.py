"""Findings and members of scikit-learn's wrappers, such as pipelines."""

from functools import partial

import numpy as np

from dpsk._data.entries import WithoutNA
from dpsk._kinds import is_one_of, kind_of
from dpsk._origin import is_of
from dpsk.reporting._findings import COUNTED, UNKEPT, UNKNOWN, Exposed, Member, Note
from dpsk.reporting._folds import LISTED, are_listed

__all__ = ["STATELESS", "UNKEPT_FITS", "WRAPPERS", "wraps"]

_NOTHING = ("passthrough", "drop")
#: Generator of findings and members for each wrapper, by the name of its class.
WRAPPERS: dict = {}
#: Wrappers whose parameters may hold the fitted estimators.
STATELESS = {"FeatureUnion", "FixedThresholdClassifier", "FrozenEstimator", "FunctionTransformer",
             "Pipeline"}
UNKEPT_FITS = ("models that were fitted inside were not kept, so what they cost is not known; fit "
           "inside a PrivacyBudget, which charges them.")


def wraps(*names):
    """Register a generator of findings and members for some classes of wrappers."""
    def registered(says):
        WRAPPERS.update(dict.fromkeys(names, says))
        return says
    return registered


@wraps("FrozenEstimator")
def _(frozen, path):
    yield Member(f"{path}.estimator", frozen.estimator)


@wraps("FunctionTransformer")
def _(transformer, path):
    for name in ("func", "inverse_func"):
        function = getattr(transformer, name)
        if function is None or _maps_entries(function):
            yield Member(path, function, silent=True)
        else:
            yield Exposed(path, f"{name} of a FunctionTransformer: unknown, no guarantee, as a "
                                "function may look at all rows or fit models. Use a ufunc of "
                                "NumPy, or partial of one with constants, such as "
                                "partial(np.multiply, 0.1).", UNKNOWN)
    if transformer.kw_args or transformer.inv_kw_args or callable(transformer.feature_names_out):
        yield Exposed(path, "a FunctionTransformer with kw_args, inv_kw_args or a function for "
                            "feature_names_out: unknown, no guarantee. Use a ufunc of NumPy, or "
                            "partial of one with constants.", UNKNOWN)


@wraps("Pipeline")
def _(pipeline, path):
    yield from _named(pipeline.steps, path)


@wraps("FeatureUnion")
def _(union, path):
    yield from _named(union.transformer_list, path)


@wraps("ColumnTransformer")
def _(columns, path):
    fitted = [(name, each) for name, each, _ in columns.transformers_]
    yield from _named(fitted, path)
    asked = [chosen for _, _, chosen in columns.transformers if callable(chosen)]
    if any(not _by_dtype(chosen) for chosen in asked):
        yield Exposed(path, "columns were chosen by a function, which may look at rows; use "
                            "names, positions or make_column_selector.", UNKNOWN)
    elif asked:
        yield Note(path, "the dtypes of columns are taken as public.")
    if columns.sparse_threshold > 0 and not _are_dense(columns, [each for _, each in fitted]):
        yield Exposed(path, "whether the columns are sparse together, sparse_output_, may follow "
                            "from how many entries are zero; fit again with sparse_threshold=0.")


@wraps("TransformedTargetRegressor")
def _(regressor, path):
    yield Member(f"{path}.transformer_", regressor.transformer_)
    yield Member(f"{path}.regressor_", regressor.regressor_)


@wraps("OneVsRestClassifier", "OutputCodeClassifier")
def _(model, path):
    yield from _members(model.estimators_, path)
    yield from _classes(model, path)
    if getattr(model, "multilabel_", False):
        yield Exposed(path, "a label that all rows have, or none, gets no private fit, which "
                            "shows exactly whether one row differs; use MultiOutputClassifier "
                            "and declare classes=.")


@wraps("MultiOutputClassifier", "MultiOutputRegressor", "VotingRegressor")
def _(model, path):
    yield from _members(model.estimators_, path)


@wraps("VotingClassifier")
def _(model, path):
    yield from _members(model.estimators_, path)
    yield from _classes(model, path)


@wraps("OneVsOneClassifier")
def _(model, path):
    yield from _members(model.estimators_, path)
    yield Exposed(path, "OneVsOneClassifier fits each pair of classes on the rows of these two: "
                        "how many rows a class has is used without noise, and a row whose label "
                        "changes leaves one set of fits for another.")


@wraps("BaggingClassifier", "BaggingRegressor")
def _(model, path):
    yield from _members(model.estimators_, path)
    yield Exposed(path, "bags are drawn by rows, as many as there are, which guarantees for "
                        "groups of rows do not cover.", COUNTED)
    if model.bootstrap:
        yield Exposed(path, "bags are drawn with replacement: a row that is in one several times "
                            "is not protected by a guarantee for one row; use bootstrap=False.")
    else:
        yield Note(path, "bags are taken to have been drawn without replacement, as bootstrap "
                         "says now.")
    if getattr(model, "_sample_weight", None) is not None:
        yield Exposed(path, "rows are drawn by their weights over the sum of all, so that one "
                            "weight moves other rows, and _sample_weight keeps them; fit without "
                            "sample_weight.")
    if hasattr(model, "oob_score_"):
        yield Exposed(path, "oob_score_ is made of exact scores of rows: they have no noise.")
    if type(model).__name__ == "BaggingClassifier":
        yield from _classes(model, path)


@wraps("AdaBoostClassifier", "AdaBoostRegressor")
def _(model, path):
    yield from _members(model.estimators_, path)
    yield Exposed(path, f"{type(model).__name__} weights rows by the exact errors of the members "
                        "before, and publishes these errors and weights of members.")
    # AdaBoost drops a member that is no better than chance, but its fit still counts.
    yield Exposed(path, UNKEPT_FITS, UNKEPT)


@wraps("CalibratedClassifierCV")
def _(model, path):
    fitted = [each.estimator for each in model.calibrated_classifiers_]
    yield from _members(fitted, path)
    yield Exposed(f"{path}.calibrated_classifiers_",
                  f"{model.method} calibration is fitted to exact scores and labels of rows, and "
                  "stores scores of single rows where it is isotonic.")
    if not isinstance(model.cv, str) and are_listed(model.cv):
        yield Exposed(path, LISTED, UNKEPT)
    # With ensemble=False the models of the folds are not kept; a frozen estimator has none.
    if len(fitted) == 1 and type(fitted[0]).__name__ != "FrozenEstimator":
        yield Exposed(path, UNKEPT_FITS, UNKEPT)


@wraps("FixedThresholdClassifier")
def _(model, path):
    # With a prefitted estimator it predicts without a fit of its own.
    name = "estimator_" if hasattr(model, "estimator_") else "estimator"
    yield Member(f"{path}.{name}", getattr(model, name))


@wraps("TunedThresholdClassifierCV")
def _(model, path):
    yield Member(f"{path}.estimator_", model.estimator_)
    yield Exposed(path, "best_threshold_ was chosen by exact scores of rows: they have no noise. "
                        "Use DPTunedThresholdClassifier.")
    if model.estimator_ is not model.estimator:
        yield Exposed(path, UNKEPT_FITS, UNKEPT)


@wraps("StackingClassifier", "StackingRegressor")
def _(model, path):
    yield from _members(model.estimators_, path)
    yield Member(f"{path}.final_estimator_", model.final_estimator_)
    # With cv="prefit" the members are the very objects that were passed in.
    given = {id(each) for _, each in model.estimators}
    if not all(id(each) in given for each in model.estimators_):
        yield Exposed(path, UNKEPT_FITS, UNKEPT)
    if type(model).__name__ == "StackingClassifier":
        yield from _classes(model, path)


@wraps("SelectFromModel")
def _(selector, path):
    yield Member(f"{path}.estimator_", selector.estimator_)
    yield Exposed(path, "SelectFromModel picks columns by scores that are not known to have "
                        "noise.")


@wraps("ClassifierChain", "RegressorChain")
def _(chain, path):
    yield from _members(chain.estimators_, path)
    yield Exposed(path, "models may have been fitted to folds by cv, and would not have been "
                        "kept; use MultiOutputClassifier or MultiOutputRegressor.", UNKEPT)


@wraps("RFE", "RFECV", "SequentialFeatureSelector", "SelfTrainingClassifier", "RANSACRegressor",
       "IterativeImputer")
def _(model, path):
    if hasattr(model, "estimator_"):
        yield Member(f"{path}.estimator_", model.estimator_)
    yield Exposed(path, f"{type(model).__name__} fits again and again, and chooses columns, rows "
                        "or what is filled in without noise.")
    yield Exposed(path, UNKEPT_FITS, UNKEPT)


def _named(steps, path):
    for name, step in steps:
        if not (step is None or (type(step) is str and step in _NOTHING)):
            yield Member(f"{path}.{name}", step)


def _members(estimators, path):
    flat = [each for group in estimators for each in (group if isinstance(group, list) else
                                                      [group])]
    for place, each in enumerate(flat):
        if type(each) is not str:
            yield Member(f"{path}.estimators_[{place}]", each)


def _classes(model, path):
    """Yield the note that classes are assumed public, and the encoders that hold them."""
    for value in vars(model).values():
        if type(value).__name__ in ("LabelEncoder", "LabelBinarizer") and kind_of(type(value)):
            yield Member(path, value, silent=True)
    yield Note(path, "the classes that occur in the rows are taken as public.")


def _maps_entries(function):
    """Return whether a function is known to act on each entry separately."""
    constants = ()
    if type(function) is WithoutNA:
        return function.given is None or _maps_entries(function.given)
    if type(function) is partial and not function.keywords and not vars(function):
        function, constants = function.func, function.args
    if not (type(function) is np.ufunc and getattr(np, function.__name__, None) is function):
        return False
    plain = all(is_one_of(type(each), (int, float)) or (
        type(each) is np.ndarray and each.ndim < 2 and each.dtype.kind in "iuf")
        for each in constants)
    return (plain and function.signature is None and function.nout == 1
            and function.nargs == len(constants) + 2)


def _by_dtype(chosen):
    """Return whether a column selector is scikit-learn's `make_column_selector`."""
    return type(chosen).__name__ == "make_column_selector" and is_of(type(chosen), "sklearn")


def _are_dense(columns, parts):
    """Return whether the outputs of all column transformers are dense for any entries."""
    tables = [is_of(type(each), "dpsk") and hasattr(each, "privacy_") and "DPTransformer" in {
        base.__name__ for base in type(each).__mro__} for each in parts]
    # Input is dense if it was a frame, or if a part accepts only dense tables.
    dense = hasattr(columns, "feature_names_in_") or any(tables)
    return all(known or (dense and _keeps_frames(each))
               for known, each in zip(tables, parts, strict=True))


def _keeps_frames(part):
    """Return whether a part returns frames and arrays unchanged in type.

    Other parts return a sparse matrix for a frame with only sparse dtypes. A fitted part does not
    show whether that happened.
    """
    return isinstance(part, str) or (
        type(part).__name__ == "FunctionTransformer" and is_of(type(part), "sklearn")
        and not part.validate)
