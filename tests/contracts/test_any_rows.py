"""What holds of clips and grids for any numbers a row, a weight or a point may consist of."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpsk._data.source import Rows
from dpsk._models.clipping import HEADROOM, clip_factors, shortened
from dpsk._objective.losses import LOSSES
from dpsk._privacy.noise.grids import exact_bits, float_unit, grid_bits
from dpsk._sums.linear_sums import float_sums, grid_sums
from dpsk._sums.truncation import Shares, whole_units
from tests.privacy.strategies import quick
from tests.registry import make_loss, make_model, make_targets, usable_clip

#: Losses that leave a gradient to be clipped, and how sums are added up.
names = st.sampled_from(sorted(LOSSES))
kinds = st.sampled_from([float_sums, grid_sums])
dtypes = st.sampled_from([np.float32, np.float64])
#: From what a clip may be, less the ends that the parameters refuse.
lengths = st.floats(-10, 10).map(lambda power: 10.0**power)
anything = st.floats(width=64)


def rows(count=1, columns=3):
    """Draw rows of either precision, of whatever is finite: validation lets in nothing else."""
    return dtypes.flatmap(lambda dtype: arrays.arrays(
        dtype, (count, columns), elements=st.floats(
            width=8 * np.dtype(dtype).itemsize, allow_nan=False, allow_infinity=False)))


def _square(vector):
    """Return the exact squared length of a vector."""
    return sum((Fraction(float(entry))**2 for entry in vector.ravel()), Fraction(0))


@quick
@given(arrays.arrays(np.float64, (4, 3), elements=anything), lengths)
def test_shortened_rows_have_no_more_than_their_length(X, length):
    with np.errstate(all="ignore"):
        short = shortened(X.copy(), length)
    assert np.isfinite(short).all()
    for row, before in zip(short, X, strict=True):
        assert _square(row) <= Fraction(length)**2
        # One that is well within the bound is left as it is.
        if np.isfinite(before).all() and _square(before) <= Fraction(length * 0.999)**2:
            np.testing.assert_array_equal(row, before)


@quick
@given(arrays.arrays(np.float64, 5, elements=anything), lengths)
def test_factors_lie_between_nought_and_one_and_keep_the_bound(norms, limit):
    norms = np.abs(norms)
    factors = clip_factors(norms, limit * HEADROOM)
    assert np.all((factors >= 0) & (factors <= 1))
    for norm, factor in zip(norms, factors, strict=True):
        if factor:
            assert Fraction(float(norm)) * Fraction(float(factor)) <= Fraction(limit)
        else:
            assert not math.isfinite(norm) or norm > limit


def _sums(kind, name, X, y, weights, clip_norm, n_samples=1):
    model, loss = make_model(name, X.shape[1]), make_loss(name)
    clip_norm = usable_clip(loss, model, clip_norm)
    table = Rows(X, y, weights, np.inf)
    if kind is float_sums:
        return float_sums(model, loss, table, clip_norm)
    bits = grid_bits(n_samples, clip_norm, 3.0 * clip_norm)
    return grid_sums(model, loss, table, clip_norm, bits)


@quick
@given(kinds, names, rows(), st.floats(0.0, 1e10), lengths, anything, st.integers(0, 9))
def test_one_row_adds_no_more_than_the_clip_norm(kind, name, X, weight, clip_norm, at, seed):
    y = make_targets(name, 1, np.random.default_rng(seed))
    y = y if y.dtype == int else y.astype(X.dtype)
    with np.errstate(all="ignore"):
        sums = _sums(kind, name, X, y, np.array([weight]), clip_norm)
        gradient = sums.gradient(np.full(sums.model.shape, at))
    assert _square(gradient) <= Fraction(sums.clip_norm)**2


@quick
@given(names, rows(4), lengths, st.floats(-1e3, 1e3))
def test_a_sum_on_the_grid_is_that_of_its_rows_one_by_one(name, X, clip_norm, at):
    y = make_targets(name, 4, np.random.default_rng(0))
    y = y if y.dtype == int else y.astype(X.dtype)
    with np.errstate(all="ignore"):
        whole, *alone = (_sums(grid_sums, name, X[part], y[part], None, clip_norm, 4)
                         for part in (slice(4), [0], [1], [2], [3]))
        theta = np.full(whole.model.shape, at)
        apart = sum(sums.gradient(theta) for sums in alone)
        np.testing.assert_array_equal(whole.gradient(theta), apart)


@quick
@given(rows(2), st.integers(-40, 40))
def test_cutting_to_whole_units_lengthens_nothing(X, bits):
    assume(np.isfinite(X).all() and np.abs(X).max() < 1e30)
    factor = 2.0**bits
    units = whole_units(X, factor, Shares(X, np.ones(2)))
    np.testing.assert_array_equal(units, np.trunc(units))
    for cut, entry in zip(units.ravel(), X.ravel(), strict=True):
        exact = Fraction(float(entry)) * Fraction(factor)
        assert abs(Fraction(float(cut))) <= abs(exact) < abs(Fraction(float(cut))) + 1


@quick
@given(lengths, lengths)
def test_a_grid_holds_sums_and_noise_in_52_bits(largest, noise):
    unit = Fraction(2)**-exact_bits(largest, noise)
    assert Fraction(largest) + 10 * Fraction(noise) <= 2**52 * unit * (1 + Fraction(1, 2**40))
    assert Fraction(noise) <= 2**40 * unit
    bits = grid_bits(1, largest, noise)
    assert bits is None or Fraction(noise) >= 2**10 * Fraction(2)**-bits


@quick
@given(st.floats(1e-300, 1e300))
def test_a_unit_of_rounding_is_a_power_of_two_far_below_the_noise(noise):
    unit = float_unit(noise)
    assert math.frexp(unit)[0] == 0.5
    assert Fraction(unit) <= Fraction(noise) / 2**30 < 2 * Fraction(unit)
