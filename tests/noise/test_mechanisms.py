"""The noise follows the law that the accounting assumes."""

import numpy as np
import pytest
from scipy import stats

from dpsk._privacy.noise.samplers import (
    gamma_norm,
    gumbel,
    laplace,
    standard_normal,
)
from dpsk._privacy.noise.streams import EntropyStream, KeyedStream, exponentials
from tests.noise.levels import follows

_N = 10_000
streams = pytest.mark.parametrize("make_stream", [
    EntropyStream, lambda: KeyedStream(bytes(range(16)))], ids=["entropy", "keyed"])


@streams
def test_normals_follow_the_standard_normal_and_no_other_scale(make_stream):
    noise = standard_normal(make_stream(), (_N,))
    assert follows(noise, stats.norm())
    for scale in (2 / 3, 3 / 2):
        assert not follows(scale * noise, stats.norm())


@streams
def test_the_largest_normals_are_as_large_as_they_should_be(make_stream):
    # The maximum of n magnitudes, put through its own law, is uniform.
    peaks = np.abs(standard_normal(make_stream(), (50, 200))).max(axis=1)
    assert follows(stats.halfnorm.cdf(peaks)**200, stats.uniform())


@streams
def test_normals_are_independent_of_their_neighbors_and_their_signs(make_stream):
    noise = standard_normal(make_stream(), (_N, 2))
    rotated = (noise[:, 0] + noise[:, 1]) / np.sqrt(2)
    assert follows(rotated, stats.norm())
    assert follows(noise[1:, 0] - noise[:-1, 0], stats.norm(scale=np.sqrt(2)))
    assert follows(np.abs(noise[noise > 0]), stats.halfnorm())
    assert follows(np.abs(noise[noise < 0]), stats.halfnorm())


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (4, 0, 2)])
def test_normals_have_the_shape_asked_for(shape):
    noise = standard_normal(EntropyStream(), shape)
    assert noise.shape == shape and noise.dtype == np.float64
    assert np.all(np.isfinite(noise))


@streams
def test_exponentials_follow_the_standard_exponential(make_stream):
    draws = exponentials(make_stream(), _N)
    assert follows(draws, stats.expon())
    for scale in (2 / 3, 3 / 2):
        assert not follows(scale * draws, stats.expon())


@streams
def test_laplace_noise_follows_its_law_and_no_other_scale(make_stream):
    noise = laplace(make_stream(), (_N // 2, 2))
    assert noise.shape == (_N // 2, 2)
    assert follows(noise, stats.laplace())
    for scale in (2 / 3, 3 / 2):
        assert not follows(scale * noise, stats.laplace())
    assert follows(np.abs(noise[noise > 0]), stats.expon())
    assert follows(np.abs(noise[noise < 0]), stats.expon())
    # The sign says nothing of the size, nor one draw of the next.
    small = np.abs(noise[:, 0]) < np.log(2)
    assert follows(noise[small, 1], stats.laplace()) and follows(noise[~small, 1], stats.laplace())


@streams
def test_the_largest_laplace_draws_are_as_large_as_they_should_be(make_stream):
    peaks = np.abs(laplace(make_stream(), (50, 200))).max(axis=1)
    assert follows(stats.expon.cdf(peaks)**200, stats.uniform())


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_gamma_norm_radius_follows_the_gamma_law_of_its_dimension(dimension):
    stream = EntropyStream()
    noise = np.array([gamma_norm(stream, (dimension,)) for _ in range(3000)])
    radius = np.linalg.norm(noise, axis=1)
    assert follows(radius, stats.gamma(dimension))
    for wrong in (2 / 3, 3 / 2):
        assert not follows(wrong * radius, stats.gamma(dimension))
    assert not follows(radius, stats.gamma(dimension + 1))


@pytest.mark.parametrize("dimension", [2, 5])
def test_gamma_norm_direction_is_uniform_and_independent_of_the_radius(dimension):
    stream = EntropyStream()
    noise = np.array([gamma_norm(stream, (dimension,)) for _ in range(3000)])
    radius = np.linalg.norm(noise, axis=1)
    cosine = noise @ np.full(dimension, dimension**-0.5) / radius
    law = stats.beta((dimension - 1) / 2, (dimension - 1) / 2, loc=-1, scale=2)
    assert follows(cosine, law)
    far = radius > np.median(radius)
    assert follows(cosine[far], law) and follows(cosine[~far], law)


def test_gamma_norm_noise_is_one_vector_whatever_its_shape():
    key = bytes(range(16))
    flat = gamma_norm(KeyedStream(key), (6,))
    np.testing.assert_array_equal(gamma_norm(KeyedStream(key), (3, 2)),
                                  flat.reshape(3, 2))


@streams
def test_gumbel_noise_follows_the_gumbel_law_of_its_scale(make_stream):
    noise = gumbel(make_stream(), (_N // 2, 2))
    assert noise.shape == (_N // 2, 2)
    assert follows(noise, stats.gumbel_r())
    for wrong in (2 / 3, 3 / 2):
        assert not follows(wrong * noise, stats.gumbel_r())


@pytest.mark.parametrize("word, uniform", [(0, 0.0), (1 << 63, 1.0)])
def test_gumbel_noise_is_finite_at_both_ends_of_its_uniform(word, uniform):
    class Extreme:
        """The lowest magnitude of either sign: nothing but the sign in all its words."""

        sign = word

        def words(self, count):
            drawn = np.full(count, self.sign, dtype=np.uint64)
            self.sign = 0
            return drawn

    noise = gumbel(Extreme(), (3,))
    assert np.all(np.isfinite(noise))
    # A uniform within 2^-127 of its end, where a double near 1 would have stopped at 2^-53.
    assert np.all(noise > 80.0 if uniform else noise < -4.0)
