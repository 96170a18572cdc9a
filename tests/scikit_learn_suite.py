"""Run scikit-learn's own tests of its linear models on ours, without noise.

    python -m tests.scikit_learn_suite [arguments of pytest]

Each class stands in scikit-learn's test modules for the one whose name it has. It takes that
one's parameters, and fits ours at epsilon=inf with bounds that nothing exceeds, read from the
data, as nothing is private there. What does not pass is listed in docs/scikit_learn_tests.md.
"""

import sys
import warnings
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn import linear_model, svm

import dpsk
from dpsk.exceptions import PrivacyWarning

MODULES = ["linear_model/tests/test_logistic.py", "linear_model/tests/test_ridge.py",
           "linear_model/tests/test_base.py", "linear_model/_glm/tests/test_glm.py",
           "svm/tests/test_svm.py"]

#: No noise, and a bound on rows that none exceeds.
_WIDE = {"epsilon": np.inf, "data_norm": 1e10}


def _shown(self, model):
    """Show what ours fitted under scikit-learn's attributes."""
    self.solver_ = getattr(self, "solver", None)
    self.coef_, self.intercept_ = model.coef_, model.intercept_
    self.n_features_in_, self.n_iter_ = model.n_features_in_, np.array([model.n_iter_])
    if hasattr(model, "feature_names_in_"):
        self.feature_names_in_ = model.feature_names_in_
    return self


def _unwarned(fit):
    """Return a fit without the warning that it is not private, which many tests count."""
    @wraps(fit)
    def quiet(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            return fit(*args, **kwargs)
    return quiet


def _rows(X):
    """Return how many rows there are."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


class LogisticRegression(linear_model.LogisticRegression):
    """Fit by `DPLogisticRegression`."""

    @_unwarned
    def fit(self, X, y, sample_weight=None):
        """Fit ours."""
        self._validate_params()
        n = _rows(X)
        penalty = ({0.0: "l2", 1.0: "l1"}.get(self.l1_ratio or 0.0, "elasticnet")
                   if self.penalty in (None, "deprecated") else self.penalty)
        model = dpsk.DPLogisticRegression(
            alpha=0.0 if np.isinf(self.C) else 1.0 / (self.C * n),
            penalty="l2" if np.isinf(self.C) else penalty, l1_ratio=self.l1_ratio or 0.0,
            fit_intercept=bool(self.fit_intercept), class_weight=self.class_weight,
            **_WIDE).fit(X, y, sample_weight=sample_weight)
        self.classes_ = model.classes_
        return _shown(self, model)


class LinearSVC(svm.LinearSVC):
    """Fit by `DPLinearSVC`."""

    @_unwarned
    def fit(self, X, y, sample_weight=None):
        """Fit ours."""
        self._validate_params()
        n = _rows(X)
        model = dpsk.DPLinearSVC(
            loss=self.loss, penalty=self.penalty, alpha=1.0 / (self.C * n),
            fit_intercept=bool(self.fit_intercept), class_weight=self.class_weight,
            **_WIDE).fit(X, y, sample_weight=sample_weight)
        self.classes_ = model.classes_
        return _shown(self, model)


def _bounds(y):
    largest = float(np.abs(np.asarray(y, dtype=float)).max(initial=0.0))
    return (-2.0 * largest - 1.0, 2.0 * largest + 1.0)


class LinearRegression(linear_model.LinearRegression):
    """Fit by `DPLinearRegression`."""

    @_unwarned
    def fit(self, X, y, sample_weight=None):
        """Fit ours."""
        self._validate_params()
        return _shown(self, dpsk.DPLinearRegression(
            target_bounds=_bounds(y), fit_intercept=bool(self.fit_intercept),
            **_WIDE).fit(X, y, sample_weight=sample_weight))


class Ridge(linear_model.Ridge):
    """Fit by `DPRidge`."""

    @_unwarned
    def fit(self, X, y, sample_weight=None):
        """Fit ours."""
        self._validate_params()
        n = _rows(X)
        return _shown(self, dpsk.DPRidge(
            alpha=self.alpha / n, target_bounds=_bounds(y),
            fit_intercept=bool(self.fit_intercept), **_WIDE).fit(
                X, y, sample_weight=sample_weight))


class PoissonRegressor(linear_model.PoissonRegressor):
    """Fit by `DPPoissonRegressor`."""

    @_unwarned
    def fit(self, X, y, sample_weight=None):
        """Fit ours."""
        self._validate_params()
        high = 3.0 * float(np.max(y, initial=0.0)) + 1.0
        weight = 1.0 if sample_weight is None else float(np.mean(sample_weight))
        return _shown(self, dpsk.DPPoissonRegressor(
            alpha=self.alpha / high * weight, target_bounds=(0.0, high),
            fit_intercept=bool(self.fit_intercept), **_WIDE).fit(
                X, y, sample_weight=sample_weight))


_OURS = {cls.__name__: cls for cls in (LogisticRegression, LinearSVC, LinearRegression, Ridge,
                                       PoissonRegressor)}
_THEIRS = {vars(module)[name]: cls for name, cls in _OURS.items()
           for module in (linear_model, svm) if name in vars(module)}


def _replaced(value):
    """Return ours for one of theirs, or for an instance of it."""
    if isinstance(value, type):
        return _THEIRS.get(value, value)
    if type(value) in _THEIRS:
        return _THEIRS[type(value)](**value.get_params(deep=False))
    return value


class Stand:
    """A plugin of pytest that puts our classes in the place of theirs."""

    def pytest_collection_modifyitems(self, items):
        """Replace the names of modules and the parameters of tests; keep what has any."""
        kept = []
        for item in items:
            names = set(item.function.__code__.co_names)
            used = names & set(_OURS)
            for name in used & set(vars(item.module)):
                setattr(item.module, name, _OURS[name])
            if hasattr(item, "callspec"):
                params = item.callspec.params
                for key, value in params.items():
                    if _replaced(value) is not value:
                        params[key] = _replaced(value)
                        used.add(key)
            if used:
                kept.append(item)
        items[:] = kept


if __name__ == "__main__":
    root = Path(sklearn.__file__).parent
    sys.exit(pytest.main(
        ["-p", "no:cacheprovider", "-q", "-n", "0", "--rootdir", str(root), "-c", "/dev/null",
         "-W", "ignore", *sys.argv[1:], *(str(root / module) for module in MODULES)],
        plugins=[Stand()]))
