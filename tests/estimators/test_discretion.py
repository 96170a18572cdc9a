"""No message, warning, log or print carries a data value; errors keep scikit-learn's words."""

import logging
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier

from tests.estimators.pairs import build
from tests.instruments import forbid_noise
from tests.loops import in_a_row
from tests.registry import (
    ESTIMATORS,
    every_estimator,
    every_fit,
    is_linear,
    takes_groups,
    training_rows,
)

# Any of these in a message would be a leak, whatever the formatting around it.
_NUMBER, _WORD = 31337.0, "sesame"
_LEAKS = ("31337", "3133", "3.13", "sesame", "SESAME")


class Unreadable:
    """An entry whose conversion fails with the value in the message."""

    def __float__(self):
        raise RuntimeError(f"cannot read {_WORD}")

    def __repr__(self):
        return _WORD


def _rows():
    X = np.full((20, 3), _NUMBER)
    X[::2] = 1.0
    return X


def _with(value, dtype=object):
    X = _rows().astype(dtype)
    X[3, 1] = value
    return X


_LONG = _rows()[:, 0]
_ROWS = {
    "one-dimensional": (_LONG, ValueError,
                        "Expected 2D array, got 1D array instead.*Reshape your"),
    "scalar": (_NUMBER, ValueError, "Expected 2D array, got scalar array instead"),
    "string": (_WORD, ValueError, "could not convert string to float"),
    "three-dimensional": (_rows()[None], ValueError, "Found array with dim 3"),
    "no columns": (_rows()[:, :0], ValueError, r"Found array with 0 feature\(s\)"),
    "frame without columns": (pd.DataFrame(index=range(20)), ValueError,
                              r"Found array with 0 feature\(s\)"),
    "object column": (_with(_WORD), ValueError, "could not convert string to float"),
    "bytes": (_with(_WORD.encode()), ValueError, "could not convert string to float"),
    "strings": (np.full((20, 3), _WORD), ValueError, "could not convert string to float"),
    "complex": (_with(1j * _NUMBER, complex), ValueError, "Complex data not supported"),
    "nan": (_with(np.nan, float), ValueError, "Input X contains NaN"),
    "none": (_with(None), ValueError, "Input X contains NaN"),
    "infinity": (_with(np.inf, float), ValueError, "Input X contains infinity"),
    "long double": (_with(np.longdouble("31337e4000"), np.longdouble), ValueError,
                    "Input X contains infinity"),
    "huge integer": (_with(31337 * 10**400), OverflowError, "int too large"),
    "dictionary": (_with({_WORD: _NUMBER}), TypeError, "float.. argument must be"),
    "unreadable": (_with(Unreadable()), Exception, ""),
    "nested": ([[_NUMBER, 1.0], [_NUMBER]] * 10, ValueError, "inhomogeneous shape"),
    "sparse nan": (sp.csr_matrix(_with(np.nan, float)), ValueError, "Input X contains NaN"),
    "sparse infinity": (sp.csr_array(_with(np.inf, float)), ValueError,
                        "Input X contains infinity"),
    "sparse coordinates": (sp.coo_array(_with(np.nan, float)), ValueError,
                           "Input X contains NaN"),
    "sparse columns": (sp.csc_matrix(_with(np.inf, float)), ValueError,
                       "Input X contains infinity"),
    "sparse complex": (sp.csr_matrix(_with(1j * _NUMBER, complex)), ValueError, "Complex data"),
    "sparse empty": (sp.csr_matrix((20, 0)), ValueError, r"Found array with 0 feature\(s\)"),
    "frame": (pd.DataFrame({"a": [_WORD] * 20, "b": _NUMBER}), ValueError,
              "X is not numeric in column 'a'.*OneHotEncoder"),
    "categorical": (pd.DataFrame({"a": pd.Categorical([_WORD, "x"] * 10)}), ValueError,
                    r"X is not numeric in column 'a' \(category\)"),
    "missing": (pd.DataFrame({"a": pd.array([31337, None] * 10, dtype="Int64")}), ValueError,
                "contains NaN"),
    "series": (pd.Series(_LONG, index=[_WORD] * 20), ValueError,
               "Expected a 2-dimensional container"),
    "column names": (pd.DataFrame({"a": _LONG, 3: _LONG}), TypeError, "Feature names are only"),
}
_TARGETS = {
    "none": (None, ValueError, "requires y to be passed"),
    "scalar": (_NUMBER, ValueError, "1d array"),
    "scalar array": (np.array(_NUMBER), ValueError, "1d array"),
    "too short": (_LONG[:7], ValueError, r"inconsistent numbers of samples: \[20, 7\]"),
    "two columns": (_rows()[:, :2], ValueError, r"1d array, got an array of shape \(20, 2\)"),
    "nested": ([[_NUMBER], [_NUMBER, 1.0]] * 10, ValueError, "inhomogeneous shape"),
    "nan": (np.where(_LONG > 1, np.nan, _LONG), ValueError, "Input y contains NaN"),
    "infinity": (np.where(_LONG > 1, _LONG, np.inf), ValueError, "Input y contains infinity"),
    "complex": (_LONG * 1j, ValueError, "Complex data not supported"),
    "sparse": (sp.csr_matrix(_LONG), TypeError, "Sparse data was passed"),
    "unreadable": (np.array([Unreadable(), 1.0] * 10, dtype=object), Exception, ""),
    "mixed": (np.array([_WORD, 31337] * 10, dtype=object), (TypeError, ValueError), ""),
    "missing": (np.array([_WORD, np.nan] * 10, dtype=object), ValueError, ""),
}
_WEIGHTS = {
    "words": (np.array([_WORD] * 20), ValueError, "could not convert string to float"),
    "nan": (np.where(_LONG > 1, np.nan, _LONG), ValueError, "sample_weight contains NaN"),
    "infinity": (np.where(_LONG > 1, np.inf, _LONG), ValueError,
                 "sample_weight contains infinity"),
    "scalar nan": (np.nan, ValueError, "sample_weight: must be finite"),
    "scalar infinity": (np.inf, ValueError, "sample_weight: must be finite"),
    "negative": (-_LONG, ValueError, "sample_weight: must be finite and >= 0"),
    "one negative": (np.where(np.arange(20) == 3, -_NUMBER, 1.0), ValueError,
                     "sample_weight: must be finite and >= 0"),
    "zeros": (np.zeros(20), ValueError, "weight.*zero"),
    "too short": (_LONG[:7], ValueError, r"sample_weight.shape == \(7,\), expected \(20,\)!"),
    "no row": (np.array(_NUMBER), (TypeError, ValueError), "sample_weight|Sample weights"),
    "two columns": (_rows()[:, :2], ValueError, "Sample weights must be 1D array or scalar"),
    "unreadable": (np.array([Unreadable(), 1.0] * 10, dtype=object), Exception, ""),
}
_CLASSES = {
    "continuous": (np.linspace(0.5, _NUMBER, 20), {}, "Unknown label type: continuous"),
    "one number": (np.full(20, 31337), {}, "one class only"),
    "one word": (np.full(20, _WORD), {}, "one class only"),
    "undeclared number": (np.array([0, 31337] * 10), {"classes": [0, 1]}, "outside classes="),
    "undeclared word": (np.array(["no", _WORD] * 10), {"classes": ["no", "yes"]},
                        "outside classes="),
    "words for numbers": (np.array([_WORD, "1"] * 10), {"classes": [0, 1]}, "y|classes"),
    "numbers for words": (np.array([31337, 1] * 10), {"classes": ["no", "yes"]}, "y|classes"),
    "objects for words": (np.array([31337, "no"] * 10, dtype=object), {"classes": ["no", "yes"]},
                          "y|classes|<"),
}
_GROUPS = {
    "continuous": (np.linspace(0.5, _NUMBER, 20), {}, "Unknown label type: continuous"),
    "one word": (np.full(20, _WORD), {}, "one class only.*group_labels="),
    "undeclared number": (np.array([0, 31337] * 10), {"group_labels": [0, 1]},
                          "outside group_labels="),
    "undeclared word": (np.array(["no", _WORD] * 10), {"group_labels": ["no", "yes"]},
                        "outside group_labels="),
    "words for numbers": (np.array([_WORD, "1"] * 10), {"group_labels": [0, 1]}, "group"),
    "nan": (np.where(_LONG > 1, np.nan, _LONG), {}, "contains NaN"),
    "too short": (_LONG[:7], {}, "groups of length 7.*20 rows"),
    "two columns": (_rows()[:, :2], {}, "groups of shape"),
    "nested": ([[_NUMBER], [_NUMBER, 1.0]] * 10, {}, "inhomogeneous shape"),
    "unreadable": (np.array([Unreadable(), 1.0] * 10, dtype=object), {}, ""),
    "mixed": (np.array([_WORD, 31337] * 10, dtype=object), {}, ""),
    "missing": (np.array([_WORD, None] * 10, dtype=object), {}, ""),
    "undeclared shares": (np.array([0, 31337] * 10), {"group_shares": {0: 0.5, 1: 0.5}},
                          "one share for every group"),
}
_NUMBERS = {
    "words": (np.array([_WORD] * 20), "could not convert string to float"),
    "bytes": (np.array([_WORD.encode()] * 20), "could not convert string to float"),
    "word objects": (np.array([_WORD, 1.0] * 10, dtype=object), "could not convert string"),
    "frame": (pd.DataFrame({"y": [_WORD] * 20}), "could not convert string"),
}


_CLASSIFIERS = [cls for _, cls in sorted(ESTIMATORS.items()) if is_classifier(cls())]
_REGRESSORS = [cls for _, cls in sorted(ESTIMATORS.items()) if not is_classifier(cls())]


def cases(table):
    return [pytest.param(*case, id=name) for name, case in table.items()]


def _said(error):
    """Return every word on an exception and on whatever it carries along."""
    words, left = [], [error]
    while left:
        one = left.pop()
        words += [str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", ""))]
        left += [chained for chained in (one.__cause__, one.__context__) if chained is not None]
    return " ".join(words)


@pytest.fixture
def refused(monkeypatch, capfd, caplog):
    """Call a function that must fail, and check that nothing it says is a data value."""
    def call(kind, match, function, *args):
        with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
            warnings.simplefilter("always")
            forbid_noise(monkeypatch)
            with pytest.raises(kind, match=f"(?s){match}") as raised:
                function(*args)
        out, err = capfd.readouterr()
        said = " ".join([_said(raised.value), *(str(one.message) for one in caught), out, err,
                         caplog.text])
        assert not [leak for leak in _LEAKS if leak in said], said
        assert not [one for one in caught if issubclass(one.category, RuntimeWarning)]

    return call


def _targets(cls):
    return np.arange(20) % 2 if is_classifier(cls()) else np.linspace(-1, 1, 20)


@every_estimator
@in_a_row("X, kind, match", _ROWS.values())
def test_rows_refused_by_fit_are_not_quoted(cls, X, kind, match, refused):
    if sp.issparse(X) and not is_linear(cls):
        kind, match = (TypeError, ValueError), "Sparse data was passed|Complex data"
    refused(kind, match, cls().fit, X, _targets(cls))


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("X, kind, match", cases(
    {name: case for name, case in _ROWS.items() if name != "column names"}))
def test_rows_refused_by_prediction_are_not_quoted(cls, X, kind, match, refused):
    if sp.issparse(X) and not is_linear(cls):
        kind, match = (TypeError, ValueError), "Sparse data was passed|Complex data"
    # Fitted on as many columns, so that what is refused is the content.
    columns = X.shape[1] if getattr(X, "ndim", 0) == 2 else 3
    model = cls().fit(np.eye(20)[:, :max(columns, 1)], _targets(cls))
    refused(kind, match, model.predict, X)


@every_estimator
@in_a_row("y, kind, match", _TARGETS.values())
def test_targets_refused_by_fit_are_not_quoted(cls, y, kind, match, refused):
    refused(kind, match, cls().fit, np.eye(20)[:, :3], y)


@every_estimator
@in_a_row("weights, kind, match", _WEIGHTS.values())
def test_weights_refused_by_fit_are_not_quoted(cls, weights, kind, match, refused):
    refused(kind, match, cls().fit, np.eye(20)[:, :3], _targets(cls), weights)


@pytest.mark.parametrize("cls", _CLASSIFIERS)
@pytest.mark.parametrize("y, params, match", cases(_CLASSES))
def test_labels_are_not_quoted(cls, y, params, match, refused):
    refused((TypeError, ValueError), match, cls(**params).fit, np.eye(20)[:, :3], y)


@pytest.mark.parametrize("cls", [cls for cls in _CLASSIFIERS if takes_groups(cls)])
@pytest.mark.parametrize("groups, params, match", cases(_GROUPS))
def test_groups_are_not_quoted(cls, groups, params, match, refused):
    def fit(rows, targets):
        cls(**params).fit(rows, targets, groups=groups)

    refused((TypeError, ValueError, RuntimeError), match, fit, np.eye(20)[:, :3], _targets(cls))


@pytest.mark.parametrize("cls", _REGRESSORS)
@pytest.mark.parametrize("y, match", cases(_NUMBERS))
def test_words_as_regression_targets_are_not_quoted(cls, y, match, refused):
    with warnings.catch_warnings():
        # A frame of one column is flattened with scikit-learn's warning about its shape.
        warnings.simplefilter("ignore")
        refused(ValueError, match, cls().fit, np.eye(20)[:, :3], y)


@every_estimator
def test_another_number_of_features_is_refused_as_scikit_learn_does(cls, refused):
    model = cls().fit(*training_rows(cls()))
    refused(ValueError, f"X has 3 features, but {cls.__name__} is expecting 4 features as input",
            model.predict, _rows())


@every_estimator
def test_other_feature_names_are_refused_as_scikit_learn_does(cls, refused):
    X, y = training_rows(cls(), n_features=3)
    model = cls().fit(pd.DataFrame(X, columns=list("abc")), y)
    refused(ValueError, "The feature names should match.*unseen at fit time.*- d",
            model.predict, pd.DataFrame(_rows(), columns=list("abd")))


@every_estimator
def test_a_model_that_is_not_fitted_says_so(cls):
    with pytest.raises(Exception, match="not fitted yet") as raised:
        cls().predict(_rows())
    assert raised.type.__name__ == "NotFittedError"


@pytest.mark.covering(most=12)
@every_fit
def test_a_fit_says_nothing_that_depends_on_the_rows(cls, solver, capfd):
    said = []
    # Networks refuse what is not finite in single precision.
    for value in (1e-300, 0.5, _NUMBER, 1e300 if is_linear(cls) else 1e38):
        X, y = training_rows(cls())
        X[0], X[1] = value, -value
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            build(cls, solver, verbose=1).fit(X, y)
        said.append(capfd.readouterr())
    assert len(set(said)) == 1 and "noise multiplier" in said[0].out


@pytest.mark.covering
@every_fit
def test_a_quiet_fit_prints_nothing(cls, solver, capfd, caplog):
    with caplog.at_level(logging.DEBUG):
        build(cls, solver).fit(*training_rows(cls()))
    assert capfd.readouterr() == ("", "") and caplog.text == ""
