"""Features of a table: rows of norm at most the root of the number of columns, each by itself."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import ndtri

from dpsk._models.products import product_by_row
from dpsk._models.shifted_log import ShiftedLog
from dpsk._models.table_code import Indicators, LinearSplineBasis, TableCode

#: Knots that numbers come between with care.
KNOTS = {
    "even": [-1.0, 0.0, 1.0, 2.0], "one": [0.25],
    "an ulp apart": [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 2.0) + 2.0**-52],
    "denormal": [0.0, 5e-324, 1e-323, 2.2e-308], "huge": [-4e12, -1e12, 0.0, 4e12],
    "declared": [-1e30, -1e-100, 1e-100, 1e30], "uneven": [0.0, 1e-300, 1.0, 1e300],
    "thirds": [0.1, 0.1 + 1.0 / 3.0, 0.7]}
every_knots = pytest.mark.parametrize("name", KNOTS)


def adversarial(knots):
    """Return numbers on knots, an ulp beside them, between them, beyond the ends, and extreme."""
    knots = np.array(knots)
    between = [knots[:-1] + share * np.diff(knots) for share in (
        1e-300, 2.0**-60, 2.0**-25, 1e-4, 1 / 3, 0.5, 2 / 3, 1 - 2.0**-25, 1 - 2.0**-53)]
    return np.concatenate([
        knots, np.nextafter(knots, np.inf), np.nextafter(knots, -np.inf), *between,
        [0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308, np.nan]])


def written(part, values, dtype=np.float32):
    out = np.zeros((len(values), part.width), dtype)
    part.write(np.asarray(values, dtype=np.float64), out)
    return out


def squared_norm(row):
    """Return the exact square of the norm of a row."""
    return sum(Fraction(float(entry))**2 for entry in row)


@every_knots
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_are_those_of_two_neighbors_and_of_norm_at_most_one(name, dtype):
    part = LinearSplineBasis(np.array(KNOTS[name]))
    numbers = adversarial(KNOTS[name])
    features = written(part, numbers, dtype)
    assert np.isfinite(features).all() and (features >= 0).all() and (features <= 1).all()
    for number, row in zip(numbers, features, strict=True):
        used = np.flatnonzero(row)
        if math.isnan(number):
            assert len(used) == 0
            continue
        assert len(used) in (1, 2) and np.ptp(used) <= 1
        assert squared_norm(row) <= 1
        assert row.sum() == pytest.approx(1.0, abs=1e-7)


@every_knots
def test_on_a_knot_all_weight_is_there_and_beyond_the_ends_at_the_end(name):
    knots = np.array(KNOTS[name])
    part = LinearSplineBasis(knots)
    np.testing.assert_array_equal(written(part, knots), np.eye(len(knots)))
    for number, end in ((-1.7e308, 0), (1.7e308, -1), (np.nextafter(knots[0], -np.inf), 0),
                        (np.nextafter(knots[-1], np.inf), -1)):
        np.testing.assert_array_equal(written(part, [number])[0], np.eye(len(knots))[end])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=6, unique=True),
       st.lists(st.floats(allow_infinity=False), min_size=1, max_size=6))
def test_no_number_between_any_knots_is_longer_than_one(knots, numbers):
    basis = LinearSplineBasis(np.array(sorted(set(map(float, np.add(knots, 0.0))))))
    features = written(basis, numbers)
    assert all(squared_norm(row) <= 1 for row in features)
    assert (features >= 0).all() and np.isfinite(features).all()


def test_curves_are_straight_between_knots():
    knots = np.array([0.0, 1.0, 4.0])
    values = np.array([2.0, -1.0, 5.0])
    numbers = np.array([-3.0, 0.0, 0.25, 1.0, 2.5, 4.0, 9.0])
    features = written(LinearSplineBasis(knots), numbers, np.float64)
    np.testing.assert_allclose(features @ values, np.interp(numbers, knots, values))


#: Scales of columns that are skewed to either side, mildly, as far as it goes, and far from 0.
SCALES = {"right": ShiftedLog(1.0, 0.7, 3.0), "left": ShiftedLog(-2.0, 0.1, 0.2),
          "mild": ShiftedLog(0.0, 1.0, 1.0 + 1e-6), "most": ShiftedLog(5.0, 1e-3, 8.0),
          "tiny": ShiftedLog(1e-9, 1e-12, 0.125), "far": ShiftedLog(1e12, 3.0, 2.0)}
every_scale = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)


@every_scale
def test_quartiles_are_one_from_the_median_on_its_scale(scale):
    numbers = scale.inverse([-1.0, 0.0, 1.0])
    np.testing.assert_allclose(scale(numbers), [-1.0, 0.0, 1.0], atol=1e-3)
    wide = np.diff(numbers)
    assert wide[1] / wide[0] == pytest.approx(scale.ratio, rel=1e-3)
    places = np.linspace(-4.0, 4.0, 60)
    assert (np.diff(scale(scale.inverse(places))) >= 0.0).all()


def test_the_scale_of_lognormal_numbers_makes_them_normal():
    numbers = np.exp(1.0 + 2.0 * np.linspace(-3.0, 3.0, 25))
    scale = ShiftedLog.of_quartiles(*np.exp(1.0 + 2.0 * ndtri([0.25, 0.5, 0.75])), 0.0, 8.0)
    np.testing.assert_allclose(scale(numbers) * ndtri(0.75), np.linspace(-3.0, 3.0, 25))


@pytest.mark.parametrize("quartiles, error", [
    ((0.0, 1.0, 2.0), 0.0), ((0.0, 1.0, 2.5), 0.5), ((1.0, 1.0, 2.0), 0.1),
    ((0.0, 2.0, 2.0), 0.1)])
def test_quartiles_that_show_no_skew_have_no_scale(quartiles, error):
    assert ShiftedLog.of_quartiles(*quartiles, error, 8.0) is None


@pytest.mark.parametrize("ratio", [1e-3, 0.5, 3.0, 1e4])
def test_skew_is_as_large_as_its_error_leaves_it_and_no_larger_than_the_most(ratio):
    scale = ShiftedLog.of_quartiles(-1.0, 0.0, ratio, 0.3, 8.0)
    drawn = np.log(ratio) - 0.09 / np.log(ratio)
    assert np.log(scale.ratio) == pytest.approx(np.clip(drawn, -np.log(8.0), np.log(8.0)))


@every_scale
@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-6.0, 6.0), min_size=1, max_size=6, unique=True),
       st.lists(st.floats(allow_infinity=False), min_size=1, max_size=6))
def test_no_number_on_any_scale_is_longer_than_one(scale, places, numbers):
    knots = np.unique(scale.inverse(places))
    knots = knots[np.append(True, np.diff(scale(knots)) > 0.0)]
    numbers = np.concatenate([numbers, knots, np.nextafter(knots, np.inf)])
    for dtype in (np.float32, np.float64):
        features = written(LinearSplineBasis(knots, scale=scale), numbers, dtype)
        assert all(squared_norm(row) <= 1 for row in features[~np.isnan(numbers)])
        assert (features >= 0).all() and np.isfinite(features).all()
        assert (features[~np.isnan(numbers)].sum(axis=1) > 0.999999).all()


def test_curves_are_straight_on_their_scale():
    scale = ShiftedLog.of_quartiles(1.0, 2.0, 4.0, 0.0, 8.0)
    knots, values = np.array([1.0, 4.0, 16.0]), np.array([0.0, 2.0, 4.0])
    numbers = np.array([0.5, 1.0, 2.0, 8.0, 16.0, 99.0])
    features = written(LinearSplineBasis(knots, scale=scale), numbers, np.float64)
    np.testing.assert_allclose(features @ values, [0.0, 0.0, 1.0, 3.0, 4.0, 4.0], atol=1e-12)


def test_indicators_are_one_a_row_and_any_other_is_the_last():
    part = Indicators(["a", "b"])
    np.testing.assert_array_equal(written(part, [1, 0, -1]), [[0, 1, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("kept", [[], [0], [4], [1, 3], [0, 1, 2, 3, 4]])
def test_positions_of_what_was_found_become_those_of_what_is_kept(kept):
    part = Indicators([f"c{each}" for each in kept], np.array(kept, dtype=np.intp))
    features = written(part, [-1, 0, 1, 2, 3, 4])
    assert (features.sum(axis=1) == 1).all() and features[0, -1] == 1
    for position in range(5):
        place = kept.index(position) if position in kept else len(kept)
        assert features[position + 1, place] == 1


def code(pairs=()):
    parts = (LinearSplineBasis(np.array([0.0, 1.0, 3.0])),
             Indicators(["a", "b"], np.array([2, 5])), LinearSplineBasis(np.array([5.0])))
    return TableCode(parts, pairs)


def table():
    numbers = adversarial([0.0, 1.0, 3.0])
    return np.column_stack([numbers, np.resize([-1.0, 2, 5, 3], len(numbers)),
                            np.resize([np.nan, 7.0], len(numbers))])


def test_a_row_is_no_longer_than_the_root_of_the_number_of_columns():
    X, one = table(), code()
    out = np.full((len(X), one.width), np.nan, np.float32)
    one.dense(X, out)
    assert one.norm == math.sqrt(3)
    assert all(squared_norm(row) <= 3 for row in out)
    # It is attained, by numbers on knots.
    assert max(map(squared_norm, out)) == 3
    assert one.width == 7
    assert [(each.start, each.stop) for each in one.slices] == [(0, 3), (3, 6), (6, 7)]


def test_products_of_two_columns_are_no_longer_than_one():
    """All weights of two hats, as they come from adversarial numbers of both."""
    numbers = adversarial([0.0, 1.0, 3.0])
    X = np.array([[one, 2.0, other] for one in numbers for other in numbers])
    parts = (LinearSplineBasis(np.array([0.0, 1.0, 3.0])),
             Indicators(["a", "b"], np.array([2, 5])),
             LinearSplineBasis(np.array([-1.0, 0.0, 0.1, 1.0])))
    one = TableCode(parts, ((0, 2), (1, 2)))
    features = one.features(X)
    assert one.width == 3 + 3 + 4 + 12 + 12 and one.norm == math.sqrt(5)
    assert [each.stop for each in one.slices] == [3, 6, 10, 22, 34]
    first, second = features[:, :3], features[:, 6:10]
    np.testing.assert_array_equal(
        features[:, 10:22], (first[:, :, None] * second[:, None, :]).reshape(len(X), 12))
    np.testing.assert_array_equal(one.features(X, TableCode(parts).features(X)), features)
    assert isinstance(one.compact(X), np.ndarray)
    for where in one.slices:
        for row in np.unique(features[:, where], axis=0):
            assert squared_norm(row) <= 1


def test_rows_are_sparse_where_most_features_are_zero():
    """With a number that may be missing, one on a single knot, and hashed categories."""
    numbers = adversarial(np.linspace(-1.0, 1.0, 20))
    X = np.column_stack([np.roll(numbers, place) for place in range(4)])
    X[:, 3] = np.arange(len(X)) % 4
    parts = (LinearSplineBasis(np.linspace(-1.0, 1.0, 20), has_indicator=True),
             LinearSplineBasis(np.array([0.25])), LinearSplineBasis(np.linspace(-1.0, 1.0, 18)),
             Indicators(["a", "b", "bucket"], buckets=1))
    code = TableCode(parts, ((0, 2), (2, 3), (0, 1)))
    found = code.compact(X)
    assert sparse.issparse(found) and found.has_canonical_format
    assert found.dtype == np.float32 and found.nnz == 18 * len(X)
    np.testing.assert_array_equal(found.toarray(), code.features(X))
    # Whatever is known of it already.
    alone = TableCode(parts)
    for known in (alone.features(X), alone.compact(X)):
        again = code.compact(X, known)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(again, part), getattr(found, part))
    assert sparse.issparse(alone.compact(X))
    coef = np.random.default_rng(0).normal(size=(code.width, 2))
    whole = product_by_row(found.astype(np.float64), coef)
    np.testing.assert_allclose(whole, found.toarray() @ coef, atol=1e-12)
    for place in range(len(X)):
        alone = code.compact(X[place:place + 1]).astype(np.float64)
        np.testing.assert_array_equal(product_by_row(alone, coef)[0], whole[place])


@pytest.mark.parametrize("pairs", [(), ((0, 2),)])
def test_every_row_is_mapped_by_itself(pairs):
    X, one = table(), code(pairs)
    whole = np.empty((len(X), one.width), np.float32)
    one.dense(X, whole)
    for place in range(len(X)):
        alone = np.empty((1, one.width), np.float32)
        one.dense(X[place:place + 1], alone)
        np.testing.assert_array_equal(alone[0], whole[place])
    order = np.random.default_rng(0).permutation(len(X))
    again = np.empty_like(whole)
    one.dense(X[order], again)
    np.testing.assert_array_equal(again, whole[order])


def test_next_rows_come_by_positions_among_what_is_kept():
    later = code().for_next_rows()
    assert later.parts[1].kept is None
    out = np.empty((3, later.width), np.float32)
    later.dense(np.array([[0.0, 0, 5], [0.0, 1, 5], [0.0, -1, 5]]), out)
    np.testing.assert_array_equal(out[:, 3:6], np.eye(3))


def test_features_have_names():
    assert code().names(["x", "w", "z"]) == [
        "x[0]", "x[1]", "x[3]", "w_a", "w_b", "w_other", "z[5]"]
    assert code(((1, 2),)).names(["x", "w", "z"])[7:] == [
        "w_a x z[5]", "w_b x z[5]", "w_other x z[5]"]


def test_no_two_features_of_a_column_have_the_same_name():
    knots = np.array([1.0, 1.0 + 1e-12, 2.0])
    assert len(set(LinearSplineBasis(knots).names("x"))) == 3
    assert Indicators(["other", "a"]).names("w") == ["w_other", "w_a", "w_other_"]
