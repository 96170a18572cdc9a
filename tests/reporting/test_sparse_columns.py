"""Whether columns are sparse together may follow from one entry, and a report says so."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
)

from dpsk import DPLogisticRegression, DPStandardScaler, make_dp_pipeline, privacy_report

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.random.default_rng(0).uniform(-1, 1, size=(120, 3))
Y = (X[:, 0] > 0).astype(int)


def linear():
    return DPLogisticRegression(epsilon=20.0, delta=1e-6, solver="gd", max_iter=2, data_norm=2.0)


def scaler():
    return DPStandardScaler(epsilon=0.5, delta=1e-6)


@pytest.mark.parametrize("threshold, is_private", [(0.3, False), (0.0, True)])
def test_whether_columns_are_sparse_may_follow_from_one_entry(threshold, is_private):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
    frame["words"] = "some"
    columns = ColumnTransformer([
        ("scaled", scaler(), ["a"]), ("hashed", HashingVectorizer(n_features=8), "words")],
        sparse_threshold=threshold)
    report = privacy_report(columns.fit(frame))
    assert report.is_private == is_private
    assert is_private or "again with sparse_threshold=0" in report.exposed[0].sentence


@pytest.mark.parametrize("part", ["passthrough", FunctionTransformer(np.tanh)], ids=str)
def test_dense_columns_are_dense_whatever_their_entries(part):
    columns = ColumnTransformer([("scaled", scaler(), [0]), ("other", part, [1])])
    assert privacy_report(columns.fit(X)).is_private
    # No other part says that the table was dense.
    for places in ([1], [0, 1, 2]):
        columns = ColumnTransformer([("other", part, places)])
        assert not privacy_report([columns.fit(X), linear().fit(X, Y)]).is_private


def sparse_frame(n_entries):
    """Return a frame of three sparse columns with so many entries that are not zero."""
    pandas = pytest.importorskip("pandas")
    entries = np.zeros((len(X), 3))
    entries.ravel()[:n_entries] = 1.0
    return pandas.DataFrame({name: pandas.arrays.SparseArray(each, fill_value=0.0)
                             for name, each in zip("abc", entries.T, strict=True)})


#: Parts that map rows by themselves, and what they were fitted beside.
MAPS = [each() for each in (Binarizer, Normalizer, PolynomialFeatures, FunctionTransformer)] + [
    FunctionTransformer(validate=True, accept_sparse=True), "passthrough"]


@pytest.mark.covering
@pytest.mark.parametrize("names", [list("abcd"), [0, 1, 2, 3]], ids=["named", "numbered"])
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("part", MAPS, ids=str)
def test_a_sparse_frame_is_not_taken_for_a_dense_one(part, names, beside):
    """Around the threshold one entry says whether what comes out is sparse."""
    parts = [("other", part, names[:3]), *([("scaled", scaler(), names[3:])] if beside else [])]

    def fitted(n_entries, **params):
        frame = sparse_frame(n_entries)
        frame["d"] = X[:, 0]
        return ColumnTransformer(parts, **params).fit(frame.set_axis(names, axis=1))

    def report(columns):
        return privacy_report([columns, linear().fit(X, Y)])

    # All entries of a dense column count.
    few = 23 if beside else 107
    told = [fitted(n_entries) for n_entries in (few, few + 1)]
    tells = told[0].sparse_output_ != told[1].sparse_output_
    assert tells or type(part) is not Binarizer
    told = [report(each) for each in told]
    for each in told:
        assert not (tells and each.is_private)
        assert each.is_private or "again with sparse_threshold=0" in each.exposed[0].sentence
    assert told[0].is_private == told[1].is_private == (
        (beside or names[0] == "a") and (part == "passthrough" or (
            isinstance(part, FunctionTransformer) and not part.validate)))
    assert report(fitted(40, sparse_threshold=0)).is_private


@pytest.mark.parametrize("part", [Normalizer(), FunctionTransformer(), "passthrough"], ids=str)
def test_columns_behind_one_budget_are_dense(part):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
    columns = ColumnTransformer([("scaled", scaler(), ["a"]), ("other", part, ["b", "c"])])
    assert privacy_report(make_dp_pipeline(columns, linear()).fit(frame, Y)).is_private
