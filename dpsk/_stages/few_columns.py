"""Sparse shrinkage: which blocks of coefficients stand out of their noise, where few do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["FEWEST_BLOCKS", "shares_of_few"]

#: Fewer blocks are too few to estimate the distribution of their coefficients.
FEWEST_BLOCKS = 20
#: Candidates for actual over predicted noise; the prediction covers the mechanism's noise alone.
_NOISE_FACTORS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: A larger noise factor is read as small effects of many coefficients.
_MOST_NOISE = 4.0
#: Up to so many blocks all variances are tried at once.
_FEW_BLOCKS = 200
#: Rounds of pairwise products before logarithms; they leave one of `FEWEST_BLOCKS` values.
_HALVINGS = 4
#: Differences of log densities are cut off here: the exponential of it is negligible.
_LEAST_LOG = -700.0
#: Candidate variances of the slab, over the median noise.
_VARIANCES = 2.0 ** np.arange(-1.0, 15.0)


def shares_of_few(energies: FloatArray, noises: FloatArray,
                  sizes: FloatArray) -> FloatArray | None:
    r"""Return the share of each block of coefficients to keep, or None where all may matter.

    The model is a spike and slab. A block of d coordinates is noise of variance s\ :sup:`2`
    (spike) or, with the same probability for each block, that noise plus a normal variable of
    variance t\ :sup:`2` (slab). The probability, the variance and the size of the noise maximize
    the likelihood on a grid. The share is the posterior mean ``P(slab) t^2 / (t^2 + s^2)``.
    Implausibly large noise counts as small effects, of which a share is kept in every block.
    All blocks may matter unless the log likelihood exceeds that of a single normal distribution
    by more than the logarithm of the number of blocks (Bayesian information criterion).

    Parameters
    ----------
    energies : ndarray of shape (n_blocks,)
        Sum of squares of every block; at least `FEWEST_BLOCKS` blocks.
    noises : ndarray of shape (n_blocks,)
        Expected sum of squares of noise alone, above 0.
    sizes : ndarray of shape (n_blocks,)
        Number of coordinates of every block.

    References
    ----------
    Johnstone, Silverman (2004), "Needles and straw in haystacks: empirical Bayes estimates of
    possibly sparse sequences".
    """
    n_blocks = len(energies)
    chances = np.geomspace(1.0 / n_blocks, 1.0, 25)[:-1, None]
    predicted = noises / sizes
    usual = float(np.median(predicted))
    best, one_law, shares = -math.inf, -math.inf, None
    for factor in _NOISE_FACTORS:
        noise = factor * predicted
        spike = _log_density(energies, noise, sizes)
        for some in np.split(factor * usual * _VARIANCES, _parts(n_blocks)):
            variances = some[:, None, None]
            slab = _log_density(energies, noise + variances, sizes)
            one_law = max(one_law, float(slab.sum(axis=2).max()))
            # Both densities are divided by the larger one, which becomes 1.
            smaller, above = np.exp(np.fmax(-np.abs(slab - spike), _LEAST_LOG)), slab > spike
            of_slab, of_spike = np.where(above, 1.0, smaller), np.where(above, smaller, 1.0)
            mixed = of_spike + chances * (of_slab - of_spike)
            sums = np.maximum(spike, slab).sum(axis=2) + _sum_of_logs(mixed)
            place = np.unravel_index(np.argmax(sums), sums.shape)
            if sums[place] > best:
                best, variance = float(sums[place]), some[place[0]]
                chosen = chances[place[1]] * of_slab[place[0], 0] / mixed[place]
                small = max(0.0, 1.0 - _MOST_NOISE / factor)
                shares = small + (1.0 - small) * chosen * variance / (variance + noise)
    return shares if best > one_law + math.log(n_blocks) else None


def _parts(n_blocks):
    """Return the number of parts in which to try the variances, so that a part fits the cache."""
    return 1 if n_blocks <= _FEW_BLOCKS else len(_VARIANCES)


def _sum_of_logs(values):
    """Return the sum of logarithms over the last axis, of values between 1e-9 and 1."""
    # Products of up to 31 values need far fewer logarithms, and do not underflow.
    for _ in range(_HALVINGS):
        half = values.shape[-1] // 2
        products = values[..., :half] * values[..., half:2 * half]
        if values.shape[-1] % 2:
            products[..., 0] *= values[..., -1]
        values = products
    return np.log(values).sum(axis=-1)


def _log_density(energies, variances, sizes):
    """Return the logarithms of normal densities, without their constants."""
    return -0.5 * (sizes * np.log(variances) + energies / variances)
