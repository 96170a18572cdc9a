"""A data frame's columns that are not numeric are named, their entries are not."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from tests.registry import every_estimator, training_rows

_N = 20


def _column(kind):
    return {
        "float": np.linspace(0, 1, _N),
        "integer": np.arange(_N),
        "boolean": np.arange(_N) % 2 == 0,
        "nullable": pd.array(range(_N), dtype="Int64"),
        "numbers as objects": np.arange(_N).astype(object),
        "category of numbers": pd.Categorical([1, 2] * (_N // 2)),
        "words": ["sesame", "street"] * (_N // 2),
        "category": pd.Categorical(["sesame", "street"] * (_N // 2)),
        "mixed": [1.5, "sesame"] * (_N // 2),
        "lists": [["sesame"]] * _N,
        "missing": pd.array([31337, None] * (_N // 2), dtype="object"),
    }[kind]


_NUMERIC = ["float", "integer", "boolean", "nullable", "numbers as objects",
            "category of numbers"]
_OTHER = {"words": "(str|object)", "category": "category", "mixed": "object", "lists": "object"}


class Frame:
    """The part of a Polars frame's interface that tells it from an array."""

    def __init__(self, **columns):
        self._columns = {name: np.asarray(values) for name, values in columns.items()}
        self.columns = list(columns)
        self.dtypes = [SimpleNamespace(name=None) if values.dtype.kind == "U" else values.dtype
                       for values in self._columns.values()]
        self.shape = (_N, len(columns))

    def __len__(self):
        return _N

    def __getitem__(self, name):
        return self._columns[name]

    def __array__(self, dtype=None, copy=None):
        return np.column_stack(
            [values.astype(object) for values in self._columns.values()]).astype(dtype or object)


def _y(cls):
    return training_rows(cls(), n=_N)[1]


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("kind", _OTHER)
def test_the_column_and_its_kind_are_named_in_fits_and_predictions(cls, kind):
    X = pd.DataFrame({"income": _column("float"), "word": _column(kind)})
    model = cls().fit(pd.DataFrame({"income": _column("float"), "word": _column("integer")}),
                      _y(cls))
    expected = (rf"^X is not numeric in column 'word' \({_OTHER[kind]}\); encode public "
                r"categories by DPOneHotEncoder\(columns=...\), or let "
                r"make_dp_pipeline\(DPTableVectorizer\(\), ...\) find categories within the "
                r"budget")
    for call in (lambda: cls().fit(X, _y(cls)), lambda: model.predict(X)):
        with pytest.raises(ValueError, match=expected) as caught:
            call()
        assert not any(word in str(caught.value) for word in ("sesame", "street", "income"))
        assert caught.value.__cause__ is None and caught.value.__context__ is None


@every_estimator
def test_numeric_columns_of_every_kind_are_one_array(cls):
    X = pd.DataFrame({kind: _column(kind) for kind in _NUMERIC})
    model = cls().fit(X, _y(cls))
    assert model.feature_names_in_.tolist() == _NUMERIC
    plain = cls().fit(X.astype(float).to_numpy(), _y(cls))
    assert plain.n_features_in_ == model.n_features_in_ == len(_NUMERIC)


@every_estimator
def test_a_missing_entry_is_not_taken_for_a_word(cls):
    X = pd.DataFrame({"a": pd.array([31337, None] * (_N // 2), dtype="Int64"),
                      "b": _column("float")})
    with pytest.raises(ValueError, match="contains NaN"):
        cls().fit(X, _y(cls))


@every_estimator
def test_columns_are_told_apart_where_names_repeat_and_many_are_counted(cls):
    X = pd.DataFrame(np.full((_N, 8), "sesame"), columns=list("aabcdefg"))
    X.insert(0, "b", _column("float"), allow_duplicates=True)
    with pytest.raises(ValueError, match="column 'a' .*, column 'a' .*, column 'b' .*, "
                                         r"column 'd' \(\w+\) and 3 more columns;"):
        cls().fit(X, _y(cls))


@every_estimator
def test_arrays_of_words_are_refused_with_the_remedy_of_frames(cls):
    words = np.array([["sesame", 1.0], ["street", 2.0]] * (_N // 2), dtype=object)
    for X in (words, words.tolist(), words.astype(str)):
        with pytest.raises(ValueError, match=r"^could not convert string to float; X must be "
                                             r"numeric; .*DataFrame.*DPTableVector") as caught:
            cls().fit(X, _y(cls))
        assert "sesame" not in str(caught.value)


def test_targets_that_are_words_do_not_blame_the_rows():
    from dpsk import DPRidge
    X = pd.DataFrame({"a": _column("numbers as objects"), "b": _column("float")})
    with pytest.raises(ValueError, match="; y must be numeric"):
        DPRidge().fit(X, _column("words"))


@every_estimator
def test_frames_of_other_libraries_are_recognized_by_their_interface(cls):
    words = Frame(income=_column("float"), word=_column("words"))
    with pytest.raises(ValueError, match=r"not numeric in column 'word' \(SimpleNamespace\)"):
        cls().fit(words, _y(cls))
    numbers = Frame(income=_column("float"), age=_column("integer"))
    assert cls().fit(numbers, _y(cls)).n_features_in_ == 2
    assert is_classifier(cls()) or cls().fit(numbers, _y(cls)).predict(numbers).shape == (_N,)


@every_estimator
def test_gaps_are_sent_to_what_takes_them_in_fits_only(cls):
    X = pd.DataFrame({"a": _column("float"), "b": _column("float")}).to_numpy(copy=True)
    model = cls().fit(X, _y(cls))
    X[1, 1] = np.nan
    with pytest.raises(ValueError, match=r"^Input X contains NaN\. .*DPTableVectorizer.*"
                                         r"DPSimpleImputer.*DPPipeline"):
        cls().fit(X, _y(cls))
    with pytest.raises(ValueError, match=r"^Input X contains NaN\.$"):
        model.predict(X)
