"""Every call that may release something, by walking what is public, and arguments that are bad.

A new estimator, metric, evaluation or display is found by itself; one that cannot be called by
its defaults needs a line in `EXAMPLES`.
"""

import importlib
import inspect
import math
import pkgutil
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils import get_tags

import dpsk
from dpsk import metrics, statistics

__all__ = ["EXEMPT", "WEIGHTS", "Call", "X", "bad_values", "calls", "public_callables"]

#: What is public and releases nothing of rows by itself.
EXEMPT = {
    **dict.fromkeys(("BestOf", "BudgetCertificate", "Certificate", "Composed", "Disclosure",
                     "Dominated", "Gaussian", "NotPrivate", "Pure", "Repeated", "SampledGaussian",
                     "certificate_schema", "compose", "delta", "epsilon", "from_dp_accounting",
                     "noise_multiplier", "noise_scale", "to_dp_accounting", "total",
                     "type_two_error", "PrivacyCurveDisplay", "TradeOffCurveDisplay"),
                    "accounting without rows"),
    **dict.fromkeys(("PrivacyBudget", "BudgetExceededError", "PrivacyWarning", "NoiseSeed",
                     "NpyFiles", "ParquetFiles"), "no call on rows"),
    **dict.fromkeys(("CoefficientSummary", "PrivacyReport", "privacy_report", "PrivacyPlan",
                     "PrivacyPlanDisplay", "plan_evaluation", "plan_privacy", "DPShapeDisplay",
                     "Estimate", "CrossValidation", "Description", "export_text", "plot_tree"),
                    "reads what was released, or public numbers"),
    **dict.fromkeys(("get_scorer", "get_scorer_names", "make_dp_pipeline"),
                    "makes what releases, and is called by other names"),
    **dict.fromkeys(("audit", "main", "AuditDisplay", "AuditResult", "delta_lower_bound",
                     "epsilon_lower_bound", "mu_lower_bound"), "audits tables of its own"),
}
#: Arguments that are functions of the caller's: what they make of rows is theirs.
_FUNCTIONS = ("functiontransformer__func", "functiontransformer__kw_args")

N_ROWS, N_COLUMNS = 40, 3
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(N_ROWS, N_COLUMNS))
LABELS = (X[:, 0] > 0).astype(int)
TARGETS = np.clip(X[:, 0], -1.0, 1.0)
WEIGHTS = np.linspace(0.5, 1.5, N_ROWS)
GROUPS = np.arange(N_ROWS) // 2


@dataclass(frozen=True)
class Call:
    """A call that releases something: how it is made, and arguments that are right.

    `params` are of a constructor, where there is one; `given` of what is called.
    """

    make: object
    params: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    is_estimator: bool = False

    def __call__(self):
        """Make the call; returns what it was made on, or None."""
        if not self.is_estimator:
            self.make(**self.given)
            return None
        self.fit(self.made())
        return None

    def made(self):
        """Return the estimator, not fitted."""
        made = self.make()
        return made.set_params(**self.params)

    def fit(self, made):
        """Fit it."""
        first, *others = self.given.values()
        names = list(self.given)[1:]
        made.fit(first, **dict(zip(names, others, strict=True)))

    def changed(self, name, value):
        """Return the call with another value of one argument, of the constructor or beside it."""
        of_fit = inspect.signature(self.make().fit).parameters if self.is_estimator else ()
        if not self.is_estimator or name in of_fit or name.endswith("__sample_weight"):
            return replace(self, given={**self.given, name: value})
        return replace(self, params={**self.params, name: value})


def _classifier(**params):
    return dpsk.DPLogisticRegression(**{"solver": "gd", "max_iter": 2, **params})


def _columns():
    return ColumnTransformer([("a", dpsk.DPStandardScaler(), [0]), ("b", "passthrough", [1, 2])])


def _pipeline(*steps, **params):
    return lambda: dpsk.make_dp_pipeline(*(step() for step in steps), **params)


def _regressor():
    return dpsk.DPRidge(solver="gd", max_iter=2)


def _union():
    return FeatureUnion([("a", dpsk.DPStandardScaler()), ("b", Normalizer())])


_ROWS = {"X": X, "y": LABELS}
#: Estimators that need more than the rule gives, and several of those that hold others.
EXAMPLES = {
    "DPGridSearchCV": lambda: dpsk.DPGridSearchCV(_classifier(), {"alpha": [0.0, 0.1]}),
    "DPRandomizedSearchCV": lambda: dpsk.DPRandomizedSearchCV(_classifier(),
                                                              {"alpha": [0.0, 0.1]}),
    "DPTunedThresholdClassifier": lambda: dpsk.DPTunedThresholdClassifier(_classifier()),
    "DPPipeline": _pipeline(dpsk.DPTableVectorizer, _classifier),
    "DPTDRegressor": lambda: dpsk.DPTDRegressor(reward_bounds=(-1.0, 1.0)),
    "DPGridSearchCV of regressors": lambda: dpsk.DPGridSearchCV(
        _regressor(), {"alpha": [0.0, 0.1]}, score_bound=1.0),
    "DPGridSearchCV of pipelines": lambda: dpsk.DPGridSearchCV(
        _pipeline(dpsk.DPStandardScaler, _classifier)(), {"dplogisticregression__alpha": [0.0]}),
    "DPTunedThresholdClassifier of pipelines": lambda: dpsk.DPTunedThresholdClassifier(
        _pipeline(dpsk.DPTableVectorizer, _classifier)()),
    "DPGridSearchCV with post_params": lambda: dpsk.DPGridSearchCV(
        _classifier(), {"max_iter": [2, 3]}, post_params={"threshold": [0.3, 0.5]}),
    **{f"DPPipeline of {name}": _pipeline(*steps) for name, steps in {
        "a scaler": (dpsk.DPStandardScaler, _classifier),
        "an imputer": (dpsk.DPSimpleImputer, dpsk.DPStandardScaler, _regressor),
        "principal components": (dpsk.DPPCA, _classifier),
        "an additive model": (dpsk.DPStandardScaler, dpsk.DPAdditiveClassifier),
        "a network": (Normalizer, dpsk.DPStandardScaler,
                      lambda: dpsk.DPMLPClassifier(hidden_layer_sizes=(3,), max_iter=2)),
        "splines": (dpsk.DPSplineTransformer, _regressor),
        "columns": (_columns, _classifier),
        "parts": (_union, _regressor),
        "a function": (dpsk.DPMinMaxScaler, FunctionTransformer, _classifier),
    }.items()},
}
#: Shorter fits, of whatever has the parameter.
_SHORT = {"max_iter": 2, "hidden_layer_sizes": (3,), "noise_dim": 2}


def public_callables():
    """Return all that is public and can be called, by name, from modules without an underscore."""
    found = {}
    for each in [dpsk.__name__, *(f"dpsk.{one.name}" for one in pkgutil.iter_modules(dpsk.__path__)
                                  if one.name[0] != "_")]:
        module = importlib.import_module(each)
        found.update({name: getattr(module, name) for name in getattr(module, "__all__", ())
                      if callable(getattr(module, name)) and name[0] != "_"})
    return found


def calls():
    """Return every call that may release something, by name."""
    found = {}
    for name, made in public_callables().items():
        if inspect.isclass(made) and issubclass(made, BaseEstimator):
            found[name] = _fit_of(EXAMPLES.get(name, made))
        elif name in statistics.__all__ and inspect.isfunction(made):
            found[name] = _statistic(name, made)
        elif name.startswith("dp_"):
            found[name] = _metric(name, made)
        for way in ("from_predictions", "from_estimator"):
            if hasattr(made, way) and name not in EXEMPT:
                found[f"{name}.{way}"] = _evaluation(name, getattr(made, way), way)
    return {**found, **{name: _fit_of(make) for name, make in EXAMPLES.items()
                        if name not in found}}


def _fit_of(make):
    """Return the call of a fit, with all that it may be told of rows."""
    made = make()
    known = inspect.signature(type(made).fit).parameters
    params = {name: value for name, value in _SHORT.items()
              if name in made.get_params() and not isinstance(made, dpsk.DPTDRegressor)}
    if "states" in known:
        given = {"states": X, "rewards": TARGETS, "next_states": X, "terminal": LABELS == 1}
        return Call(make, params, given, True)
    regresses = is_regressor(made)
    rows = np.abs(X) if get_tags(made).input_tags.positive_only else X
    given = {"X": rows, "y": TARGETS if regresses else LABELS}
    return Call(make, params, given, True)


_FITTED = {"classifier": LogisticRegression().fit(X, LABELS), "regressor": Ridge().fit(X, TARGETS)}


def _predictions(name):
    """Return labels or targets, and what is predicted, for a metric or an evaluation."""
    numbers = any(word in name for word in ("Regression", "mean_", "r2"))
    if numbers:
        return TARGETS, 0.9 * TARGETS
    words = any(word in name for word in ("Multiclass", "accuracy", "f1", "confusion"))
    return LABELS, LABELS if words else _FITTED["classifier"].predict_proba(X)[:, 1]


def _metric(name, function):
    if name == "dp_cross_validate":
        return Call(function, given={"estimator": _classifier(), "X": X, "y": LABELS, "cv": 2})
    told = list(inspect.signature(function).parameters)[:2]
    more = {"target_bounds": (-1.0, 1.0)} if _predictions(name)[0] is TARGETS else {}
    return Call(function, given={**dict(zip(told, _predictions(name), strict=True)), **more})


def _statistic(name, function):
    told = {"dp_quantile": {"q": 0.5}, "dp_sum": {"bounds": (-1.0, 1.0)},
            "dp_value_counts": {"categories": [0, 1]}}
    rows = {"dp_value_counts": LABELS, "dp_histogram": X[:, 0]}.get(name, X)
    return Call(function, given={next(iter(inspect.signature(function).parameters)): rows,
                                 **told.get(name, {})})


def _evaluation(name, function, way):
    y, found = _predictions(name)
    more = {"target_bounds": (-1.0, 1.0)} if y is TARGETS else {}
    if "Display" in name:
        more["epsilon"] = 1.0
    if way == "from_estimator":
        kind = "regressor" if y is TARGETS else "classifier"
        return Call(function, given={"estimator": _FITTED[kind], "X": X, "y": y, **more})
    told = list(inspect.signature(function).parameters)[:2]
    return Call(function, given={**dict(zip(told, (y, found), strict=True)), **more})


def _row(value, dtype=float):
    rows = X.astype(dtype)
    rows[3, 1] = value
    return rows


_BAD_ROWS = {
    "float32": X.astype("f4"), "float16": X.astype("f2"), "object": X.astype(object),
    "complex": X.astype(complex), "dates": X.astype("M8[s]"), "words": X.astype(str),
    "bool": X > 0, "int": X.astype(int), "one column": X[:, :1], "no column": X[:, :0],
    "1-D": X[:, 0], "3-D": X[:, :, None], "empty": X[:0], "one row": X[:1], "two rows": X[:2],
    "shorter": X[:-1], "list": X.tolist(), "None": None, "text": "rows", "object()": object(),
    "nan": _row(np.nan), "inf": _row(np.inf), "huge": _row(1e300), "nan32": _row(np.nan, "f4"),
    "huge32": _row(3e38, "f4"), "all nan": np.full_like(X, np.nan), "zeros": np.zeros_like(X),
    "csr": sparse.csr_array(X), "coo": sparse.coo_array(X),
    "csr32": sparse.csr_array(X, dtype="f4"),
    "frame": pd.DataFrame(X, columns=list("abc")), "names": pd.DataFrame(X, columns=["a", 1, "c"]),
    "twins": pd.DataFrame(X, columns=["a", "a", "c"]),
    "mixed": pd.DataFrame({"a": X[:, 0], "b": LABELS.astype(str), "c": X[:, 2]}),
    "categories": pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(LABELS), "c": X[:, 2]}),
    "gaps": pd.DataFrame({"a": X[:, 0], "b": [None, *X[1:, 1]], "c": X[:, 2]}),
    "masked": np.ma.array(X, mask=X > 1.0), "masked nowhere": np.ma.array(X),
    "masked rows": [np.ma.array(row, mask=row > 1.0) for row in X],
    "late nan": np.vstack([X[:-1], [np.nan] * N_COLUMNS]),
    "dates in frame": pd.DataFrame({"a": X[:, 0], "b": X[:, 1].astype("M8[s]"), "c": X[:, 2]}),
}
_BAD_TARGETS = {
    "shorter": lambda y: y[:-1], "empty": lambda y: y[:0], "column": lambda y: y[:, None],
    "2-D": lambda y: np.stack([y, y], axis=1), "None": lambda y: None, "text": lambda y: "words",
    "constant": lambda y: np.zeros_like(y),
    "nan": lambda y: np.where(np.arange(len(y)), y, np.nan),
    "inf": lambda y: np.where(np.arange(len(y)), y, np.inf), "huge": lambda y: y * 1e300,
    "words": lambda y: y.astype(str), "complex": lambda y: y.astype(complex),
    "dates": lambda y: y.astype("M8[s]"), "float32": lambda y: y.astype("f4"),
    "object": lambda y: y.astype(object), "three": lambda y: np.arange(len(y)) % 3,
    "fractions": lambda y: y + 0.5, "mixed": lambda y: np.array([*y[1:].tolist(), "x"], object),
    "missing": lambda y: np.array([*y[1:].tolist(), None], object), "late": lambda y: np.append(
        y[:-1], 7), "scalar": lambda y: 1.0, "series": pd.Series, "list": lambda y: y.tolist(),
    "masked": lambda y: np.ma.array(y, mask=np.arange(len(y)) == 3),
    "masked nowhere": np.ma.array, "masked entry": lambda y: [*y[1:].tolist(), np.ma.masked],
    "NaT": lambda y: np.where(
        np.arange(len(y)) == 3, np.datetime64("NaT"), y.astype("M8[s]")),
    "NaT in list": lambda y: [np.datetime64("NaT"), *y[1:].astype("M8[s]")],
    "lonely": lambda y: np.where(np.arange(len(y)) == 5, 1, 0)}
_BAD_WEIGHTS = {
    "right": WEIGHTS, "shorter": WEIGHTS[:-1], "nan": np.where(GROUPS, WEIGHTS, np.nan),
    "inf": np.where(GROUPS, WEIGHTS, np.inf), "negative": -WEIGHTS, "zeros": 0.0 * WEIGHTS,
    "masked": np.ma.array(WEIGHTS, mask=WEIGHTS > np.median(WEIGHTS)),
    "masked nowhere": np.ma.array(WEIGHTS),
    "one huge": np.where(np.arange(N_ROWS), WEIGHTS, 1e39), "huge": np.full(N_ROWS, 1e39),
    "half of the range": np.full(N_ROWS, 3e38), "tiny": np.full(N_ROWS, 1e-46),
    "subnormal": np.full(N_ROWS, 1e-310), "enormous": np.full(N_ROWS, 1e308),
    "2-D": WEIGHTS[:, None], "words": WEIGHTS.astype(str), "complex": WEIGHTS.astype(complex),
    "scalar": 2.0, "text": "balanced", "object": WEIGHTS.astype(object), "float32":
        WEIGHTS.astype("f4"), "one row": np.eye(N_ROWS)[0]}
_BAD_GROUPS = {
    "right": GROUPS, "shorter": GROUPS[:-1], "masked": np.ma.array(GROUPS, mask=LABELS > 0),
    "masked nowhere": np.ma.array(GROUPS), "one": np.zeros(N_ROWS, int), "nan": np.where(
        GROUPS, GROUPS, np.nan), "None": np.array([None, *GROUPS[1:]], object), "2-D":
        GROUPS[:, None], "words": GROUPS.astype(str), "fractions": GROUPS + 0.5, "two":
        LABELS, "text": "patient", "dates": GROUPS.astype("M8[s]"), "complex":
        GROUPS.astype(complex), "mixed": np.array([*GROUPS[1:].tolist(), "x"], object)}
#: What stands for a value of any parameter: those that it takes are no harm.
_ANYTHING = {repr(value): value for value in (
    None, True, -1, 0, 1, 2, 0.5, 1.5, -0.5, 1e-310, 1e300, math.nan, math.inf, 10**400, 1j,
    "auto", "nonsense", (), [], [1], ["a"], (0.0, 1.0), (1.0, 0.0), {}, {0: 1.0}, {"a": 1},
    [[0, 1]], [0, 1], [5, 6], [0.5], (3,), b"bytes")}
_ANYTHING["object()"], _ANYTHING["array"], _ANYTHING["type"] = object(), X[:2], int
_TABLES = {**dict.fromkeys(("X", "x", "states", "next_states", "public_X"), _BAD_ROWS),
           **dict.fromkeys(("groups", "by"), _BAD_GROUPS),
           **dict.fromkeys(("sample_weight",), _BAD_WEIGHTS)}
_TARGET_NAMES = ("y", "rewards", "public_y", "y_true", "y_pred", "y_score", "y_proba", "terminal")


def bad_values(call):
    """Yield (name, what, value) of arguments that may be bad, of all that a call takes."""
    for name in _arguments(call):
        table = _TABLES.get(name.rpartition("__")[2])
        if table is not None:
            yield from ((name, what, value) for what, value in table.items())
        elif name in _TARGET_NAMES:
            good = call.given.get(name, LABELS)
            yield from ((name, what, bad(good)) for what, bad in _BAD_TARGETS.items())
        else:
            yield from ((name, what, value) for what, value in _ANYTHING.items())
    if call.is_estimator:
        for name in sorted(set(call.made().get_params(deep=True)) - set(_FUNCTIONS)):
            yield from ((name, what, value) for what, value in _ANYTHING.items())


def _arguments(call):
    """Return the names of all arguments of a call, those of steps and of options included."""
    target = type(call.made()).fit if call.is_estimator else call.make
    parameters = inspect.signature(target).parameters
    known = [name for name, parameter in parameters.items()
             if name != "self" and parameter.kind is not parameter.VAR_KEYWORD]
    if "options" in parameters and target.__name__ in statistics.__all__:
        known += [name for name in inspect.signature(statistics.dp_mean).parameters
                  if name not in known and name != "X"]
    elif "options" in parameters or "evaluation_kw" in parameters:
        known += sorted({name for evaluation in (
            metrics.BinaryEvaluation, metrics.MulticlassEvaluation, metrics.RegressionEvaluation)
            for name in inspect.signature(evaluation.from_predictions).parameters
            if name not in known and name[:2] != "y_"})
    if "evaluation_kw" in parameters:
        known += ["color", "linewidth", "unknown", "plot_chance_level", "chance_level_kw",
                  "despine", "ref_line", "n_bins", "strategy"]
    if hasattr(target, "__self__") or not call.is_estimator or not hasattr(call.made(), "steps"):
        return known
    return [*known, *(f"{name}__sample_weight" for name, step in call.made().steps
                      if "sample_weight" in inspect.signature(step.fit).parameters)]
