"""Shares of values within classes, from noisy counts.

Naive Bayes adds up the log odds of all values of a row, and with them their noise. A class's
energy is the variance over rows of its log odds against all classes. Counts are shrunk towards
those of all classes until they have the energy that their squares show beyond noise. Log odds are
then divided by a temperature for the noise that is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["flag_shares", "log_distributions", "shrunk_shares", "temperature_of"]

#: Least pseudo-count, which keeps logarithms finite.
_LEAST = 1e-10

#: Least divisor.
_TINY = 1e-300

#: Energy that is assumed where noise hides it.
_USUAL_ENERGY = 3.0

#: By how many standard deviations of its noise an estimated energy is lowered.
_DEVIATIONS = 1.0


def log_distributions(tables: list[FloatArray], counts: FloatArray, noise: float,
                      alpha: float) -> tuple[list[FloatArray], list[FloatArray], float]:
    """Return log shares of values in every class, their noise, and the temperature.

    Log shares are one array a table, and so are the standard deviations of the noise in them, as
    if shares were not made to sum to 1.

    Parameters
    ----------
    tables : list of ndarray of shape (n_classes, n_values)
        Noisy counts. Every row counts once in each of several tables.
    counts : ndarray of shape (n_classes,)
        Rows of the classes, at least 1.
    noise : float
        Standard deviation of the noise on each count of a table.
    alpha : float
        Pseudo-count of every value.
    """
    parts = []
    for table in tables:
        width = table.shape[1]
        totals = counts if len(tables) > 1 else np.maximum(
            table.sum(axis=1), max(noise * math.sqrt(width), _LEAST))
        raw = table.sum(axis=0) / totals.sum()
        common = shrunk_shares(raw, 1.0 / width, _noise_of_all(totals, noise))
        common /= max(common.sum(), _LEAST)
        usual = np.outer(totals, common)
        # A single value has no other to differ from.
        spread = usual * (1.0 - common) if width > 1 else usual
        parts.append(_Part(table - np.outer(totals, raw), usual, spread, usual,
                           _noises(totals, noise)))
    found, noises, (kept, temperature) = [], [], _kept(parts, counts)
    for part, each in zip(parts, kept, strict=True):
        drawn = part.fitted(each) + max(alpha, _LEAST)
        found.append(np.log(drawn / drawn.sum(axis=1, keepdims=True)))
        noises.append(np.sqrt(each * part.noises) / drawn)
    return found, noises, temperature


def flag_shares(counts: FloatArray, sums: FloatArray, noise: float,
                alpha: float) -> tuple[FloatArray, float]:
    """Return shares of rows with each flag in every class, above 0, and the temperature.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        At least 1.
    sums : ndarray of shape (n_classes, n_features)
        Noisy counts of rows with a flag.
    noise, alpha : float
        As for `log_distributions`.
    """
    raw, noise_of_all = sums.sum(axis=0) / counts.sum(), _noise_of_all(counts, noise)
    least = min(0.5, noise_of_all / math.sqrt(len(raw)))
    common = shrunk_shares(raw, float(np.clip(raw.mean(), least, 1.0 - least)), noise_of_all)
    spread = np.outer(counts, common * (1.0 - common))
    part = _Part(sums - np.outer(counts, raw), np.outer(counts, common), spread, spread,
                 _noises(counts, noise))
    (kept,), temperature = _kept([part], counts)
    drawn = part.fitted(kept, counts[:, None])
    return (drawn + max(alpha, _LEAST)) / (counts[:, None] + 2.0 * max(alpha, _LEAST)), temperature


@dataclass(frozen=True)
class _Part:
    """Noisy counts, of shape (n_classes, n_values): what is usual, and how classes differ from it.

    Parameters
    ----------
    apart : ndarray
        Counts less the class's part of the counts of all classes.
    usual : ndarray
        Counts if the class were as all classes.
    spread, sizes : ndarray
        What differences are proportional to, and what divides their squares in the energy.
    noises : ndarray of shape (n_classes, 1)
        Noise variances of the differences.
    """

    apart: FloatArray
    usual: FloatArray
    spread: FloatArray
    sizes: FloatArray
    noises: FloatArray

    def fitted(self, kept: FloatArray, most: FloatArray | float = math.inf) -> FloatArray:
        """Return counts from 0 to `most`: as far inside as usual, or as the noise that is left."""
        left = np.sqrt(kept * self.noises)
        return np.clip(self.usual + kept * self.apart, np.minimum(self.usual, left),
                       most - np.minimum(most - self.usual, left))

    def energy(self, counts: FloatArray) -> tuple[float, float]:
        """Return the energy of a class, averaged over classes, and its noise.

        Squares are weighted by what they are expected to be a part of, so the noise is least.
        """
        weights = np.sum(self.spread, 1) / (counts * np.maximum(np.sum(self.spread**3, 1), _TINY))
        found = weights * np.sum(self.spread * (self.apart**2 - self.noises), 1)
        noises = weights * np.sqrt(2.0 * np.sum(self.spread**2, 1)) * self.noises[:, 0]
        return float(found.mean()), math.sqrt(float(np.mean(noises**2)) / len(counts))

    def expected(self, energy: float, counts: FloatArray) -> FloatArray:
        """Return the squares of differences that have an energy."""
        sums = np.maximum(self.spread.sum(axis=1), _TINY)
        return energy * (counts / sums)[:, None] * self.spread**2


def _noise_of_all(totals, noise):
    """Return the noise standard deviation on a share of all classes."""
    return noise * math.sqrt(len(totals)) / float(totals.sum())


def _noises(totals, noise):
    """Return the noise variance of a count less the class's part of all, shape (n_classes, 1)."""
    shares = totals / totals.sum()
    return (noise**2 * ((1.0 - shares)**2 + (len(shares) - 1) * shares**2))[:, None]


def shrunk_shares(shares, mean, noise):
    """Return shares shrunk to their usual mean, as far from 0 and 1 as the noise that is left."""
    away = shares - mean
    signal = max(0.0, float(np.mean(away**2)) - noise**2)
    kept = signal / (signal + noise**2) if noise else 1.0
    least = min(mean, 1.0 - mean, math.sqrt(kept) * noise)
    return np.clip(mean + kept * away, least, 1.0 - least)


def _kept(parts, counts):
    """Return factors that shrink the differences of every part, and the temperature.

    Parts share the energy of all of them, which chance makes larger than it is in the largest.
    """
    if not any(part.noises.any() for part in parts):
        return [np.ones_like(part.apart) for part in parts], 1.0
    energies, noises = np.array([part.energy(counts) for part in parts]).T
    noise = math.sqrt(float(np.sum(noises**2)))
    most = max(float(energies.sum()) - _DEVIATIONS * noise, min(noise, _USUAL_ENERGY))
    widths = np.array([part.apart.shape[1] for part in parts])
    energies = np.maximum(energies, np.minimum(noises, _USUAL_ENERGY * widths / widths.sum()))
    energies *= min(1.0, most / max(float(energies.sum()), _TINY))
    expected = [part.expected(energy, counts)
                for part, energy in zip(parts, energies, strict=True)]
    kept = [each / (each + part.noises) for each, part in zip(expected, parts, strict=True)]
    left = sum(np.sum(each * part.noises / np.maximum(part.sizes, _TINY), 1) / counts
               for each, part in zip(kept, parts, strict=True))
    return kept, float(temperature_of(math.sqrt(float(np.mean(left)))))


def temperature_of(noise: FloatArray | float) -> FloatArray:
    """Return what log likelihoods of classes are divided by for noise of a standard deviation.

    The mean of expit(z), z normal with variance v, is near expit(z / sqrt(1 + pi v / 8)); v is
    twice the variance of a class.
    """
    return np.hypot(1.0, 0.5 * math.sqrt(math.pi) * noise)
