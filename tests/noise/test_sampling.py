"""Indices and batches are drawn with exactly the probabilities that amplification assumes."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from dpsk._privacy.noise.samplers import standard_normal
from dpsk._privacy.noise.streams import (
    EntropyStream,
    exponentials,
    poisson_batches,
    random_index,
    signed_uniforms,
)
from tests.noise.levels import LEVEL, binomial_fits, dispersion_fits, follows


class ScriptedStream:
    """A stream that hands out given words, and fails when there are none left."""

    def __init__(self, *words):
        self._left = list(words)

    def words(self, count):
        taken, self._left = self._left[:count], self._left[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint64)


def _member(batches, n, count):
    member = np.zeros((count, n), dtype=bool)
    for row, batch in zip(member, batches, strict=True):
        row[batch] = True
    return member


@pytest.mark.parametrize("n, rate, count", [(40, 0.1, 4000), (40, 0.5, 4000), (7, 0.97, 9000),
                                            (1000, 0.01, 8000)])
def test_every_row_enters_every_batch_with_the_sampling_rate(n, rate, count):
    member = _member(poisson_batches(EntropyStream(), n, rate, count), n, count)
    assert binomial_fits(member.sum(), n * count, rate)
    assert not binomial_fits(member.sum(), n * count, 0.9 * rate)
    # The ends of a batch are where an off-by-one would show.
    assert binomial_fits(member[:, 0].sum(), count, rate)
    assert binomial_fits(member[:, -1].sum(), count, rate)
    spread = rate * (1 - rate)
    assert dispersion_fits(member.sum(axis=0), count * rate, count * spread)


def test_the_first_batch_of_a_call_is_like_any_other():
    stream, calls, rate = EntropyStream(), 2000, 0.3
    member = np.concatenate([_member(poisson_batches(stream, 3, rate, 1), 3, 1)
                             for _ in range(calls)])
    for row in range(3):
        assert binomial_fits(member[:, row].sum(), calls, rate)


@pytest.mark.parametrize("n, rate, count", [(40, 0.1, 4000), (40, 0.5, 4000), (7, 0.97, 9000)])
def test_rows_enter_independently_of_each_other_and_of_earlier_batches(n, rate, count):
    member = _member(poisson_batches(EntropyStream(), n, rate, count), n, count)
    even = n // 2 * 2
    together = member[:, :even:2] & member[:, 1:even:2]
    assert binomial_fits(together.sum(), together.size, rate**2)
    again = member[:-1:2] & member[1::2]
    assert binomial_fits(again.sum(), again.size, rate**2)


def test_batch_sizes_vary_as_a_binomial_and_not_as_a_fixed_size():
    n, rate, count = 1000, 0.1, 2000
    sizes = [len(batch) for batch in poisson_batches(EntropyStream(), n, rate, count)]
    assert dispersion_fits(sizes, n * rate, n * rate * (1 - rate))
    assert not dispersion_fits([n * rate] * count, n * rate, n * rate * (1 - rate))


@pytest.mark.parametrize("n, rate, count", [(2, 1e-12, 5), (10**12, 1e-11, 300), (3, 1 - 1e-9, 50),
                                            (50_000, 0.9, 3), (1, 0.5, 100)])
def test_batches_are_increasing_row_numbers_at_extreme_rates(n, rate, count):
    batches = list(poisson_batches(EntropyStream(), n, rate, count))
    assert len(batches) == count
    for batch in batches:
        assert np.all((batch >= 0) & (batch < n)) and np.all(np.diff(batch) > 0)
    assert binomial_fits(sum(map(len, batches)), n * count, rate)


@pytest.mark.parametrize("stop", [1, 2, 7, 1000])
def test_random_index_is_uniform(stop):
    stream = EntropyStream()
    draws = np.array([random_index(stream, stop) for _ in range(20_000)])
    assert draws.min() >= 0 and draws.max() < stop
    if stop > 1:
        assert stats.chisquare(np.bincount(draws, minlength=stop)).pvalue > LEVEL


def test_random_index_rejects_words_that_would_favor_small_indices():
    # 2**64 is 1 modulo 3, so the topmost word is drawn again.
    assert random_index(ScriptedStream(2**64 - 1, 5), 3) == 2
    assert random_index(ScriptedStream(2**64 - 2), 3) == (2**64 - 2) % 3


def test_uniform_halves_are_uniform_with_a_fair_and_independent_sign():
    signs, halves = signed_uniforms(EntropyStream(), 20_000)
    negative = signs == 1 << 63
    assert np.all(negative | (signs == 0))
    assert binomial_fits(negative.sum(), len(negative), 0.5)
    for part in (halves, halves[negative], halves[~negative]):
        assert follows(part, stats.uniform(0, 0.5))


def test_small_uniforms_get_more_bits_from_another_word():
    short, long = 3 | (1 << 63), 5 << 59
    signs, halves = signed_uniforms(ScriptedStream(short, long, 1 << 63), 2)
    np.testing.assert_array_equal(signs, np.array([1 << 63, 0], np.uint64))
    np.testing.assert_array_equal(halves, [3.5 * 2.0**-64, (5 << 59) * 2.0**-64])


def test_short_words_are_extended_each_by_its_own():
    words = [2, 1 << 61, 7 | (1 << 63)]
    extra = [1 << 62, 3 << 62]
    _, halves = signed_uniforms(ScriptedStream(*words, *extra), 3)
    np.testing.assert_array_equal(halves * 2.0**64, [2.25, 2.0**61, 7.75])


def test_extreme_words_give_finite_noise():
    for word in (0, 1 << 63, 2**64 - 1, 2**63 - 1):
        noise = standard_normal(ScriptedStream(word, 0), (1,))
        assert np.all(np.isfinite(noise))
        assert np.all(np.isfinite(exponentials(ScriptedStream(word, 0), 1)))
    # The farthest reach: no word at all in 128 bits.
    assert standard_normal(ScriptedStream(0, 0), (1,))[0] == ndtri(2.0**-129) < -13
