"""Noise rounded to the grid of exact sums: its law, and what its low-order bits give away."""

import numpy as np
import pytest
from scipy import stats

from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Squared
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.grids import float_unit, grid_bits
from dpsk._privacy.noise.samplers import standard_normal, symmetric_normal
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries.gradients import GradientOracle
from dpsk._sums.linear_sums import float_sums, grid_sums
from tests.noise.levels import LEVEL, binomial_fits, follows

_CLIP = 2.0
scales = pytest.mark.parametrize("z", [2.0**-39, 2.0**-31, 2.0**-16, 1.3, 1e7])


def _oracle(targets, z, count, exact, n_features=1):
    """Return an oracle over two rows (1, 0, ..): the sum at 0 is minus the sum of targets."""
    model = LinearModel(n_features, None, False, 2.0)
    rows = Rows(np.eye(n_features)[[0, 0]], np.array(targets))
    declared = NoisySums(FullBatch(), count)
    if exact:
        sums = grid_sums(model, Squared(), rows, _CLIP, grid_bits(2, _CLIP, z * _CLIP))
    else:
        sums = float_sums(model, Squared(), rows, _CLIP)
    return GradientOracle(sums, declared, z, Session(EntropyStream(), Ledger(declared(z))))


def _noisy_sums(targets, z, exact, count=300, n_features=70):
    """Return sums with fresh noise; two is a power of two, so that the mean loses no bit."""
    oracle = _oracle(targets, z, count, exact, n_features)
    theta = np.zeros(n_features)
    return 2.0 * np.array([oracle.gradient(theta) for _ in range(count)])


@scales
def test_rounded_noise_follows_the_normal_of_its_scale_and_no_other(z):
    noise = _noisy_sums([0.0, 0.0], z, exact=True) / (z * _CLIP)
    assert follows(noise, stats.norm())
    for wrong in (2 / 3, 3 / 2):
        assert not follows(wrong * noise, stats.norm())


@scales
def test_noise_lands_on_whole_units_and_evenly_on_their_residues(z):
    resolution = 2.0 ** -grid_bits(2, _CLIP, z * _CLIP)
    for targets in ([0.0, 0.0], [1.0, 0.0], [1.0, 0.3]):
        units = _noisy_sums(targets, z, exact=True) / resolution
        np.testing.assert_array_equal(units, np.rint(units))
        counts = np.bincount(np.ravel(units % 8.0).astype(int), minlength=8)
        assert stats.chisquare(counts).pvalue > LEVEL


@pytest.mark.thorough
def test_noise_of_neighboring_tables_differs_by_their_exact_sums_only():
    for targets, exact in (([0.0, 0.0], 0.0), ([1.0, 0.0], -1.0), ([1.0, 1.0], -2.0)):
        sums = _noisy_sums(targets, 1.3, exact=True, count=10_000, n_features=1) / (1.3 * _CLIP)
        assert follows(sums - exact / (1.3 * _CLIP), stats.norm())
        assert exact == 0.0 or not follows(sums, stats.norm())


# The attack: near zero a sum of -1 and noise near 1 has no bits below 2^-53, as noise near 1 has
# none; noise near zero around a sum of 0 has. The tables differ in one target.

_TABLES = {"without": [0.0, 0.0], "with": [1.0, 0.0]}


def _shows_fine_bits(sums):
    """Return where a sum is near zero, and whether it has bits below 2^-53 there."""
    near = np.abs(sums) < 0.125
    return near, near & (sums * 2.0**53 != np.rint(sums * 2.0**53))


def test_low_order_bits_tell_neighbors_apart_in_floating_point():
    found = {}
    for name, targets in _TABLES.items():
        # What an answer without units would be.
        sums = -sum(targets) + 0.5 * _CLIP * standard_normal(EntropyStream(), (5000,))
        near, fine = _shows_fine_bits(sums)
        assert near.sum() > 50
        found[name] = fine.sum() / near.sum()
    # At epsilon 1 the two shares could not differ by more than a factor of e and delta.
    assert found["with"] == 0.0 and found["without"] > 0.8


def test_answers_of_float_sums_have_no_such_bits():
    for targets in _TABLES.values():
        sums = _noisy_sums(targets, 0.5, exact=False, count=5000, n_features=1)
        near, fine = _shows_fine_bits(sums)
        assert near.sum() > 50 and not fine.any()
        odd = (sums / float_unit(0.5 * _CLIP)) % 2.0
        assert set(np.unique(odd)) == {0.0, 1.0}
        assert binomial_fits(int(odd.sum()), odd.size, 0.5)


def test_low_order_bits_tell_nothing_on_the_grid():
    for targets in _TABLES.values():
        sums = _noisy_sums(targets, 0.5, exact=True, count=5000, n_features=1)
        near, fine = _shows_fine_bits(sums)
        assert near.sum() > 50 and not fine.any()
        odd = (sums * 2.0 ** grid_bits(2, _CLIP, 0.5 * _CLIP)) % 2.0
        assert binomial_fits(int(odd.sum()), odd.size, 0.5)
        # Bits of every place are as even near zero, where floating point gave itself away.
        assert binomial_fits(int(odd[near].sum()), int(near.sum()), 0.5)


def _symmetric(std, draws=250, size=60):
    diagonal, beside = [], []
    for _ in range(draws):
        law = Sensitivity(1.0, "symmetric_normal", unit=1.0).noise(Gaussian(1.0 / std))
        noise = law.added(np.zeros((size, size)), law.draw(EntropyStream(), (size, size)), 1.0)
        np.testing.assert_array_equal(noise, noise.T)
        np.testing.assert_array_equal(noise, np.rint(noise))
        diagonal.append(np.diag(noise))
        beside.append(noise[np.triu_indices(size, 1)][::30])
    return np.array(diagonal), np.array(beside)


@pytest.mark.parametrize("std", [2.0**10, 3.7e4, 2.0**22, 1e9, 2.0**40])
def test_symmetric_noise_has_half_the_variance_beside_the_diagonal(std):
    diagonal, beside = _symmetric(std)
    for sample, spread in ((diagonal, std), (beside, std / np.sqrt(2))):
        assert follows(sample / spread, stats.norm())
        for wrong in (2 / 3, 3 / 2):
            assert not follows(wrong * sample / spread, stats.norm())
    # Neighboring entries are drawn apart: their difference has twice the variance.
    assert follows((diagonal[:, 1:] - diagonal[:, :-1])[:, ::2] / std, stats.norm(0, np.sqrt(2)))


def test_symmetric_noise_is_spherical_in_an_orthonormal_basis():
    # Then a step of the Frobenius norm r costs r / std in every direction.
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(6, 6))
    direction = direction + direction.T
    direction /= np.linalg.norm(direction)
    shadows = [np.sum(direction * symmetric_normal(EntropyStream(), (6, 6)))
               for _ in range(12_000)]
    assert follows(np.array(shadows), stats.norm())
    for wrong in (2 / 3, 3 / 2):
        assert not follows(wrong * np.array(shadows), stats.norm())
