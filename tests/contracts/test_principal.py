"""Spectra of noisy moments, and rows along principal directions."""

import numpy as np

from dpsk._models.principal import PrincipalRows
from dpsk._stages.spectrum import Spectrum


def test_a_spectrum_of_noise_alone_has_nothing_clear():
    """A direction of noise beyond 1.5 edges has a chance below 1e-10."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(40, 40))
    spectrum = Spectrum.of((noise + noise.T) / 2, 1.0)
    assert spectrum.n_clear == 1 and np.count_nonzero(spectrum.found) <= 3
    exact = Spectrum.of(np.diag([3.0, 2.0, 0.0]), 0.0)
    np.testing.assert_allclose(exact.found, [3.0, 2.0, 0.0])
    assert exact.n_clear == 2 and np.all(exact.vectors.max(axis=0) == 1.0)
    assert Spectrum.of(np.zeros((2, 2)), 0.0).n_clear == 1


def test_directions_that_are_rounded_make_no_row_longer_than_its_bound():
    for units in (None, np.array([0.5])):
        rows = PrincipalRows(np.zeros(4), 2.0, np.full((4, 1), 0.5 * (1.0 + 1e-6)), units)
        out = np.empty((1, 1))
        rows.dense(np.full((1, 4), 9.0), out)
        assert 0.99999 * rows.norm < abs(out[0, 0]) <= rows.norm


def test_units_of_no_variance_are_one():
    np.testing.assert_array_equal(PrincipalRows.units_of(np.zeros(2), 0.0), 1.0)
    np.testing.assert_array_equal(PrincipalRows.units_of(np.array([9.0, 1.0]), 4.0), [3.0, 2.0])


def test_a_row_rounds_alike_wherever_it_stands():
    """Groups of secret sizes may stand before it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(61, 37)) * np.exp(rng.normal(size=(61, 1)))
    for width in (1, 3, 8, 17):
        basis = np.linalg.qr(rng.normal(size=(37, width)))[0]
        rows = PrincipalRows(rng.normal(size=37), 3.0, basis, None)
        whole = np.empty((61, width))
        rows.dense(X, whole)
        for start in range(1, 61, 5):
            part = np.empty((61 - start, width))
            rows.dense(X[start:], part)
            np.testing.assert_array_equal(part, whole[start:])
