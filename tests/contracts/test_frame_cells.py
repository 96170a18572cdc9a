"""Tables are read cell by cell: no cell has a say in how another one is read."""

import warnings
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from dpsk import DPOneHotEncoder
from dpsk._data.cells import as_cells
from dpsk._data.tables import Buckets, read_next_table, read_table
from dpsk._warnings import behind_private_step

SECRET = "Secretville"


class Reader(BaseEstimator):
    """What has names and a number of features, and no more."""


def read(X, declared=None):
    return read_table(Reader(), X, declared)


def frame(**columns):
    return pd.DataFrame({name: pd.Series(cells, dtype=object) if isinstance(cells, list)
                         else cells for name, cells in columns.items()})


def next_positions(X, categories):
    """Return positions of cells of the only column among categories that were found."""
    reader = Reader()
    table = read_table(reader, X, None)
    return read_next_table(reader, X, table.known({0: range(len(categories))}))[:, 0].tolist()


@pytest.mark.parametrize("dtype", [
    "float64", "float32", "int64", "uint8", "Int64", "Float64", "Sparse[float64]"])
def test_numbers_of_every_dtype_are_numbers(dtype):
    cells = pd.Series([3, 1, 2, 0, 5, 4]).astype(dtype)
    table = read(frame(a=cells))
    assert table.columns[0].categories is None and table.found == [None]
    assert table.values[:, 0].tolist() == [3, 1, 2, 0, 5, 4] and table.values.dtype == np.float64


@pytest.mark.parametrize("dtype", ["float64", "Int64", "Float64"])
def test_a_missing_number_is_nan(dtype):
    table = read(frame(a=pd.array([1, None, 2], dtype=dtype)))
    np.testing.assert_array_equal(table.values[:, 0], [1, np.nan, 2])


@pytest.mark.parametrize("dtype", ["object", "string"])
def test_words_are_found_in_canonical_order(dtype):
    words = pd.Series(["b", None, "a", "b", "c", "a"]).astype(dtype)
    for order in ([0, 1, 2, 3, 4, 5], [4, 3, 2, 1, 0, 5]):
        table = read(frame(w=words.iloc[order]))
        assert table.found == [["a", "b", "c"]] and table.columns[0].categories == []
        np.testing.assert_array_equal(
            table.values[:, 0], np.array([1, -1, 0, 1, 2, 0])[order])


@pytest.mark.parametrize("dtype, cells, categories", [
    ("bool", [True, False, True], [False, True]),
    ("boolean", [True, False, None], [False, True]),
    (pd.CategoricalDtype(["z", "y", "x"]), ["y", None, "z"], ["z", "y", "x"]),
    (pd.CategoricalDtype([3, 1]), [1, None, 3], [3, 1])])
def test_categories_of_a_dtype_are_those_and_keep_their_order(dtype, cells, categories):
    table = read(frame(c=pd.Series(cells, dtype=dtype)))
    assert table.columns[0].categories == categories and table.found == [None]
    assert table.values[:, 0].tolist() == [
        -1 if cell is None else categories.index(cell) for cell in cells]


def test_what_is_declared_comes_before_the_dtype():
    X = frame(number=np.arange(3), word=["b", "a", "q"], held=pd.Categorical([1, 2, 1]))
    table = read(X, {"number": [2, 0], "word": ["a", "b"], "held": (0.0, 3.0)})
    assert [column.categories for column in table.columns] == [[2, 0], ["a", "b"], None]
    assert table.columns[2].edges == (0.0, 3.0)
    np.testing.assert_array_equal(table.values, [[1, 1, 1], [-1, 0, 2], [0, -1, 1]])


@pytest.mark.parametrize("first", [1, 1.0, True, np.float64(1.0), np.int8(1), np.True_])
def test_cells_that_are_equal_are_one_category_whichever_comes_first(first):
    cells = [first, 1, 1.0, True, "a", -0.0, 0, False]
    table = read(frame(w=cells))
    assert [(type(each), each) for each in table.found[0]] == [(int, 0), (int, 1), (str, "a")]
    assert table.values[:, 0].tolist() == [1, 1, 1, 1, 2, 0, 0, 0]
    assert next_positions(frame(w=cells), table.found[0]) == [1, 1, 1, 1, 2, 0, 0, 0]


@pytest.mark.parametrize("first, plain", [
    (Enum("Word", {"A": "a"}, type=str).A, "a"), (np.str_("a"), "a"), (np.bytes_(b"a"), b"a")])
def test_words_of_other_types_are_plain_ones(first, plain):
    (found,) = read(frame(w=[first, plain, first])).found
    assert [(type(each), each) for each in found] == [(type(plain), plain)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "longdouble", "object"])
@pytest.mark.parametrize("framed", [False, True])
def test_numbers_of_every_dtype_are_categories_in_one_order(dtype, framed):
    numbers = np.array([2.5, np.nan, -1.0, -0.0, np.inf, 0.0, -0.5, 2.0**70, -1.0], dtype)
    X = frame(a=numbers) if framed else numbers[:, None]
    table = read_table(Reader(), X, None, "words")
    assert [repr(each) for each in table.found[0]] == [
        "-0.5", "2.5", "inf", "-1", "0", str(2**70)]
    assert table.values[:, 0].tolist() == [1, -1, 3, 4, 2, 4, 0, 5, 3]


def test_a_column_is_searched_for_distinct_words_once(monkeypatch):
    searched, factorize = [], pd.Series.factorize
    monkeypatch.setattr(pd.Series, "factorize", lambda self: searched.append(0) or factorize(self))
    read(frame(w=["b", "a", None, "b"]))
    assert len(searched) == 1


def test_numbers_are_told_apart_without_a_look_at_each(monkeypatch):
    looks = []
    monkeypatch.setattr("dpsk._data.cells.is_missing", lambda cell: looks.append(cell))
    read_table(Reader(), np.random.default_rng(0).normal(size=(50, 1)), None, "words")
    assert not looks


def test_rare_categories_are_hashed_only_for_features_of_training_rows(monkeypatch):
    hashed = []
    monkeypatch.setattr(Buckets, "_bucket", lambda self, cell: hashed.append(cell) or 0)
    X = np.random.default_rng(0).normal(size=(5000, 1))
    encoder = DPOneHotEncoder(epsilon=8.0).fit(X)
    assert not hashed
    assert encoder.transform(X[:9]).any(axis=1).all() and len(hashed) == 9


def test_whole_numbers_that_no_double_holds_are_told_apart():
    cells = [2**53, 2**53 + 1, 10**40, float(2**53)]
    table = read(frame(w=cells))
    assert table.found == [[2**53, 2**53 + 1, 10**40]]
    assert table.values[:, 0].tolist() == [0, 1, 2, 0]
    declared = read(frame(w=np.array([2**53 + 1, 2**53])), {"w": [2**53, 2**53 + 1]})
    assert declared.values[:, 0].tolist() == [1, 0]


def test_what_is_unseen_or_missing_is_none_of_the_categories():
    reader = Reader()
    table = read_table(reader, frame(w=["a", "b", "a"]), None)
    known = table.known({0: [1]})
    assert known[0].categories == ["b"]
    for cells in (["b", "a", None], ["b", "new", np.nan], ["b", 3.5, pd.NA], ["b", 0, pd.NaT]):
        assert read_next_table(reader, frame(w=cells), known).tolist() == [[0], [-1], [-1]]


@pytest.mark.parametrize("container", [list, np.array, lambda X: np.array(X, dtype=object)])
def test_arrays_and_lists_hold_numbers_unless_they_are_declared(container):
    X = container([[1.0, 2], [3.0, 4], [5.0, 2]])
    table = read(X, {1: [4, 2]})
    np.testing.assert_array_equal(table.values, [[1, 1], [3, 0], [5, 1]])
    assert [column.name for column in table.columns] == [0, 1]


@pytest.mark.parametrize("cell", ["z", None, True, 2.5, 2**70, b"z"])
@pytest.mark.parametrize("X, declared", [
    ([[1, 2], [2, 1], [1, 1], [2, 2]], {0: [1, 2], 1: [1, 2]}),
    ([[True, 1], [False, 1], [True, 0], [True, 1]], {0: [True, False], 1: (0, 2)})])
def test_no_cell_of_a_list_has_a_say_in_how_the_others_are_read(X, declared, cell):
    whole = read(X, declared)
    changed = read([[cell, X[0][1]], *X[1:]], declared)
    np.testing.assert_array_equal(changed.values[1:], whole.values[1:])
    assert repr(changed.columns) == repr(whole.columns)


@pytest.mark.parametrize("cell", [True, 2, 2.5, None])
def test_kinds_of_columns_do_not_follow_the_cells_of_a_list(cell):
    X = [[True, 1], [False, 1], [True, 0]]
    assert repr(read([[cell, 1], *X[1:]]).columns) == repr(read(X).columns)


@pytest.mark.parametrize("index", [[5, 3, 9], [0, 0, 0], [("a", 1), ("b", 2), ("a", 1)]])
def test_labels_of_rows_say_nothing(index):
    X = pd.DataFrame({"a": [1.0, 2, 3], "w": ["x", "y", "x"]})
    np.testing.assert_array_equal(read(X.set_axis(index)).values, read(X).values)


def test_names_and_numbers_of_features_are_set_and_asked_for():
    reader, X = Reader(), pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    table = read_table(reader, X, None)
    assert reader.n_features_in_ == 2 and reader.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        read_next_table(reader, X[["b", "a"]], table.known({1: [0]}))
    plain = Reader()
    known = read_table(plain, np.eye(2), None).columns
    with pytest.raises(ValueError, match="X has 1 features, but Reader is expecting 2"):
        read_next_table(plain, np.eye(2)[:, :1], known)
    names = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    tuples = pd.DataFrame([[1.0, 2.0]] * 2, columns=names)
    assert [column.name for column in read(tuples).columns] == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("X, match", [
    (sparse.csr_matrix(np.eye(3)), "sparse matrix; Reader takes tables"),
    (np.zeros(3), "Expected 2D array, got 1D"), (np.zeros((2, 2, 2)), "Found array with dim 3"),
    (object(), "Expected 2D array, got scalar"), ([[1, 2], [3]], "Expected 2D array, got 1D"),
    (np.zeros((1, 2)), "a minimum of 2 is required"), (np.zeros((3, 0)), "0 feature"),
    (np.zeros((3, 1), complex), "Complex data not supported"),
    (np.zeros((3, 1), "M8[s]"), "not 'datetime64'"),
    (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"] * 2)}), "column 'd' is of datetime64"),
    (pd.DataFrame({"d": pd.to_timedelta([1, 2])}), "column 'd' is of timedelta64"),
    (pd.DataFrame({"d": [1j, 2.0]}), "column 'd' is of complex128")])
def test_what_is_no_table_is_refused(X, match):
    with pytest.raises((TypeError, ValueError), match=match):
        read(X)


def test_tables_that_are_not_in_memory_are_refused():
    class Blocks:
        n, n_features = 4, 2

        def blocks(self):
            raise AssertionError("read")

    with pytest.raises(TypeError, match="X is a source of rows in blocks"):
        read(Blocks())
    dask = pytest.importorskip("dask.dataframe", reason="a collection of Dask")
    with pytest.raises(TypeError, match=r"X is not in memory; Reader takes .* '.compute\(\)'"):
        read(dask.from_pandas(pd.DataFrame({"a": [1.0, 2.0]}), npartitions=1))


def test_names_that_repeat_are_refused():
    X = pd.DataFrame(np.eye(2), columns=["a", "a"])
    with pytest.raises(Exception, match="'a'"):
        read(X)


@pytest.mark.parametrize("cell, match", [
    ([SECRET], "column 'w' holds a cell that cannot be hashed"),
    ((SECRET,), "column 'w' holds a cell that is neither a word nor a number"),
    (pd.Timestamp("2020-01-01"), "column 'w' holds a cell that is neither"),
    ({SECRET: 1}, "cannot be hashed"), (1j, "neither a word nor a number")])
def test_cells_that_are_no_categories_are_refused_and_not_quoted(cell, match):
    with pytest.raises(ValueError, match=match) as caught:
        read(frame(w=["a", cell, "b"]))
    assert SECRET not in str(caught.value) and "2020" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("declared", [None, {"a": (0.0, 1.0)}])
def test_words_among_numbers_are_not_quoted(declared):
    X = frame(a=np.arange(3.0), w=["a", "b", "c"])
    known = read(X).columns
    bad = np.array([[1.0, "a"], [SECRET, "b"]], dtype=object)
    reader = Reader()
    read_table(reader, X.to_numpy()[:, :2], {1: ["a"]})
    for call in (lambda: read(bad, {1: ["a", "b"]}),
                 lambda: read_next_table(reader, bad, known)):
        with pytest.raises(ValueError, match="could not convert string to float; X: column") as (
                caught), warnings.catch_warnings(record=True) as warned:
            call()
        said = str(caught.value) + "".join(str(one.message) for one in warned)
        assert SECRET not in said
        assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("cells", [
    ["a", "bb", None, 7, "12", -3, 1.5, True, "\ud800", b"x", "9" * 5000]])
def test_buckets_hold_categories_by_themselves(cells):
    table = read(frame(w=cells))
    whole = table.hashed(5)
    assert len(whole.columns[0].categories) == 5 and whole.found == [None]
    codes = whole.values[:, 0]
    assert codes[2] == -1 and set(np.delete(codes, 2)) <= set(range(5))
    # Numbers, and words of digits, go by their remainder.
    assert codes[[3, 4, 5, 7]].tolist() == [2, 2, 2, 1]
    for place in range(len(cells)):
        alone = frame(w=[cells[place], "other"])
        assert read(alone).hashed(5).values[0, 0] == codes[place]
        reader = Reader()
        read_table(reader, alone, None)
        assert read_next_table(reader, alone, whole.columns)[0, 0] == codes[place]


@pytest.mark.parametrize("cell", [np.inf, -np.inf, 1e400, "inf", 10**400])
def test_numbers_that_are_not_finite_are_refused(cell):
    X = np.array([[1.0], [cell], [2.0]], dtype=object)
    with pytest.raises((ValueError, OverflowError)) as caught:
        read(X)
    assert "infinity" in str(caught.value) or "too large" in str(caught.value)


@pytest.mark.audit
def test_a_table_of_many_words_is_read_like_one_of_few():
    """No number of categories is refused: whether it is reached, a single row may decide."""
    words = np.char.mod("%07d", np.arange((1 << 20) + 1))
    table = read(pd.DataFrame({"w": words}))
    assert len(table.found[0]) == len(words)
    assert (table.values[:, 0] == np.arange(len(words))).all()


class Alike:
    """Object that equals a word, and has its hash."""

    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        return other == "a"


@pytest.mark.parametrize("change", [
    lambda cells: frame(w=cells), lambda cells: as_cells(cells)[:, None]], ids=["frame", "array"])
def test_odd_cells_behind_a_private_step_have_no_say_either(change):
    """Cells that equal a word or a number, and are none, count as missing wherever they stand."""
    cells = ["a", Alike(), 1, 1j, 1 + 0j, Decimal(1), Decimal("sNaN"), Fraction(1),
             Fraction(10**400), np.inf, True, np.True_, (1,), [1], pd.NA, np.datetime64("NaT"),
             np.timedelta64(1, "D")]

    def names(cells):
        with behind_private_step():
            table = read_table(Reader(), change(cells), None, "words")
        found = table.found[0]
        return [None if code < 0 else found[int(code)] for code in table.values[:, 0]]

    alone = [names([cell, cell])[0] for cell in cells]
    assert alone == ["a", None, 1, None, None, 1, None, 1, np.inf, np.inf, 1, 1, *[None] * 5]
    for start in range(len(cells)):
        assert names(cells[start:] + cells[:start]) == alone[start:] + alone[:start]
