"""Columns of tables on their way through samplers: their dtypes, their words, their noise."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpsk import DPWGAN, DPGaussianSampler, DPOneHotEncoder, DPTableVectorizer, DPTreeSampler
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped

N = 600
SHORT = {DPWGAN: {"max_iter": 2, "hidden_layer_sizes": 4, "generator_hidden_layer_sizes": 4}}
every_sampler = pytest.mark.parametrize("cls", [DPTreeSampler, DPWGAN])
pytestmark = pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")


def make(cls, **params):
    return cls(**{"epsilon": 8.0, "delta": 1e-4, **SHORT.get(cls, {}), **params})


def positions(n_values, seed=0):
    return np.random.default_rng(seed).integers(0, n_values, N)


@every_sampler
def test_one_entry_of_a_list_does_not_change_what_is_drawn(cls):
    plain = [[int(a), int(b)] for a, b in zip(positions(3), positions(4, 1), strict=True)]
    for entry in (2, 2.5, 2**70, np.float32(2)):
        rows = [[entry, 0], *plain[1:]]
        drawn = make(cls).fit(rows).sample(20)
        assert drawn.dtype == np.float64 and not np.array_equal(drawn, np.rint(drawn))


@every_sampler
@pytest.mark.parametrize("kind", [object, str, list])
def test_words_in_an_array_are_drawn_again(cls, kind):
    words = np.array(["a", "bcd", "longer"], dtype=object)[positions(3)][:, None]
    X = words.tolist() if kind is list else words.astype(kind)
    drawn = make(cls, columns={0: ["a", "bcd", "longer", "never"]}).fit(X).sample(200)
    assert drawn.shape == (200, 1) and set(drawn[:, 0]) <= {"a", "bcd", "longer", "never"}
    mixed = np.column_stack([words, positions(9).astype(object)])
    drawn = make(cls, columns={0: ["a", "bcd", "longer"], 1: (0, 9)}).fit(mixed).sample(50)
    assert set(drawn[:, 0]) <= {"a", "bcd", "longer"}
    assert all(0.0 <= value <= 9.0 for value in drawn[:, 1])


@every_sampler
@pytest.mark.parametrize("kind", [str, bytes])
def test_one_longer_word_of_an_array_shows_in_its_releases_only(cls, kind):
    words = np.array(["a", "b", "longer"]).astype(kind)
    rows = words[positions(2)][:, None].astype(f"{words.dtype.kind}1")
    others = np.vstack([words[2:, None], rows[1:]])
    assert others.dtype != rows.dtype
    faces, answers = [], None
    for X in (rows, others):
        with taped(answers) as tape:
            sampler = make(cls, columns={0: words.tolist()}, random_state=0).fit(X)
        answers = tape.answers
        faces.append(pickle.dumps(vars(sampler)))
    assert faces[0] == faces[1]


@every_sampler
def test_arrays_of_other_libraries_are_drawn_again(cls):
    class Tensor:
        """Rows with a dtype that is not one of NumPy's."""

        dtype, shape, ndim = object(), (N, 1), 2

        def __array__(self, dtype=None, copy=None):
            return positions(3)[:, None].astype(dtype or np.float32)

        def __len__(self):
            return N

    assert make(cls).fit(Tensor()).sample(5).shape == (5, 1)


@every_sampler
@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float16])
def test_what_a_dtype_does_not_hold_is_not_drawn(cls, frame, dtype):
    largest = np.finfo(dtype).max if dtype == np.float16 else np.iinfo(dtype).max
    X = np.array([0, 1, largest], dtype=dtype)[positions(3)][:, None]
    X = pd.DataFrame(X, columns=["a"]) if frame else X
    # Bounds that are learnt reach beyond the largest; so do these.
    for columns in (None, {("a" if frame else 0): (-1e5, 1e25)}):
        drawn = np.asarray(make(cls, columns=columns).fit(X).sample(400))
        assert drawn.dtype == dtype and np.isfinite(drawn.astype(float)).all()
        if cls is DPTreeSampler and columns is None and dtype == np.uint8:
            # What wraps around would be here.
            assert np.mean((drawn > 30) & (drawn < 225)) < 0.2


@every_sampler
@pytest.mark.parametrize("dtype", ["UInt8", "Float32", "Sparse[float64]", "boolean"])
def test_dtypes_of_pandas_are_kept(cls, dtype):
    X = pd.DataFrame({"a": pd.Series(positions(2)).astype(dtype), "b": positions(2, 1)})
    assert make(cls).fit(X).sample(30).dtypes["a"] == X.dtypes["a"]


@every_sampler
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_times_may_be_categories(cls, unit):
    days = pd.to_datetime(["2020-01-01", "2021-01-01"]).astype(f"datetime64[{unit}]")
    X = pd.DataFrame({"day": pd.Series(days[positions(2)])})
    for frame, columns in ((X, {"day": list(days)}), (X.astype("category"), None)):
        drawn = make(cls, columns=columns).fit(frame).sample(20)["day"]
        assert drawn.dtype == frame["day"].dtype and set(drawn) <= set(days)


@pytest.mark.parametrize("ordered", [False, True])
def test_declared_categories_take_the_place_of_those_of_the_dtype(ordered):
    words = np.array(["a"] * 9 + ["b"])[np.arange(N) % 10]
    X = pd.DataFrame({"w": pd.Categorical(words, ordered=ordered),
                      "v": pd.Categorical(positions(5)), "t": positions(2).astype(bool)})
    columns = {"w": ["c", "b", "a"], "v": (0, 5), "t": (0, 1)}
    sampler = make(DPTreeSampler, columns=columns).fit(X)
    drawn = sampler.sample(500)
    assert drawn["w"].cat.categories.tolist() == ["c", "b", "a"]
    assert drawn["w"].cat.ordered is ordered
    assert (drawn["w"] == "a").mean() > 0.6
    assert drawn["v"].dtype == drawn["t"].dtype == float and drawn["v"].between(0, 5).all()
    # Nothing is left of categories that nobody declared.
    assert b"CategoricalDtype" not in pickle.dumps(sampler.set_params(columns=None)._columns[1])


@pytest.mark.parametrize("cls", [DPTreeSampler, DPTableVectorizer, DPOneHotEncoder])
@pytest.mark.parametrize(("dtype", "given", "remedy"), [
    ("int64", ["0", "1"], "declare numbers"), ("Float64", ["0", 1], "declare numbers"),
    (bool, ["no", "yes"], "declare numbers"), ("string", [0, 1], "declare words")])
def test_categories_that_no_cell_of_a_dtype_can_be_are_refused(cls, dtype, given, remedy):
    frame = pd.DataFrame({"code": pd.Series(positions(2)).astype(dtype)})
    for X, name in ((frame, "code"), *([(frame.to_numpy(), 0)] if dtype in ("int64", bool)
                                       else [])):
        with pytest.raises(ValueError, match=f"columns: {name!r} has .*; {remedy}.* convert"):
            cls(columns={name: given}).fit(X)


@every_sampler
def test_sparse_rows_with_categories_are_refused_like_others(cls):
    X = sparse.csr_matrix(positions(2)[:, None].astype(float))
    with pytest.raises(TypeError, match="dense data is required"):
        make(cls, columns={0: [0, 1]}).fit(X)


@every_sampler
def test_missing_words_are_refused_with_their_remedy(cls):
    X = pd.DataFrame({"a": np.array(["a", "b", None], dtype=object)[positions(3)]})
    with pytest.raises(ValueError, match="give missing values one of their own"):
        make(cls, columns={"a": ["a", "b"]}).fit(X)


def test_the_noise_of_a_seed_does_not_meet_the_same_rows_in_other_cells():
    codes, numbers = positions(2), positions(10, 1)
    frames = [pd.DataFrame({"a": pd.Categorical.from_codes(codes, words), "b": values})
              for words in (["x", "y"], ["x", "y", "z"])
              for values in (numbers, numbers.astype(float))]
    noises = []
    for X in frames:
        with taped() as tape:
            make(DPTreeSampler, columns={"b": (0, 9)}, n_bins=4,
                 random_state=NoiseSeed(3)).fit(X)
        noises.append(tape.noise[0][:4])
    for place, one in enumerate(noises):
        for other in noises[:place]:
            assert not np.array_equal(one, other)


def test_no_table_is_made_of_columns_of_too_many_categories():
    many = np.arange(20_000).tolist()
    rng = np.random.default_rng(0)
    # All pairs of two such columns would take gigabytes.
    X = np.column_stack([rng.choice(many, size=(N, 2)), positions(2), positions(2)]).astype(float)
    with taped() as tape:
        sampler = make(DPTreeSampler, columns={0: many, 1: many, 2: [0, 1], 3: [0, 1]}).fit(X)
    assert (sampler.parents_[:2] == -1).all() and set(sampler.parents_[2:]) == {-1, 2}
    assert len(tape.answers) == 5 and sampler.sample(9).shape == (9, 4)
    alone = make(DPTreeSampler, columns={0: many, 1: many}).fit(X[:, :2])
    assert alone.parents_.tolist() == [-1, -1]


@pytest.mark.parametrize("cls", [DPGaussianSampler, DPTreeSampler, DPWGAN])
@pytest.mark.parametrize("names", [
    pd.RangeIndex(2), pd.Index([0.5, 1.5]), pd.Index(["a", "b"], name="which"),
    pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")], names=["upper", "lower"])])
def test_frames_come_back_under_their_names_whatever_these_are(cls, names):
    X = pd.DataFrame({"a": positions(5), "b": positions(4, 1)})
    X.columns = names
    drawn = make(cls).fit(X).sample(3)
    pd.testing.assert_index_equal(drawn.columns, names, exact="equiv")


@every_sampler
def test_columns_of_the_same_name_and_columns_alone_are_refused(cls):
    X = pd.DataFrame({"a": positions(5), "b": positions(4, 1)})
    with pytest.raises(ValueError, match="several columns 'a'; give every column a name"):
        make(cls).fit(X.set_axis(["a", "a"], axis=1))
    with pytest.raises(ValueError, match=r"2-dimensional container|1D array"):
        make(cls).fit(X["a"])
