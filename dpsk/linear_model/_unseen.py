"""Shrinkage of the effects of categories that may have no rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk.linear_model._synthetic import feature_moment, units_of

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["seen_levels", "without_unseen"]

#: Most named levels of a column for which their sum tells whether other levels have rows: its
#: noise grows with their number. Chosen on bank and adult, tried on credit.
_FEW_NAMED = 4


def seen_levels(model: Any, code: Any) -> list[tuple[FloatArray, FloatArray]]:
    """Return for each column the shares of rows at its levels, and the part of each that is noise.

    A hash bucket, or a missing or other value, may have no rows. If its noisy share is x
    deviations, ``min(1, 1 / x**2)`` is noise (Stein's positive part), or that of the sum of these
    levels if it is more. In means, noise of all k such levels of the table would add up, so shares
    lose ``1 + 2 log k`` times that, for the largest of k noises. They sum to 1, and are equal
    where none is known.

    References
    ----------
    Donoho, Johnstone (1994), "Ideal spatial adaptation by wavelet shrinkage".
    """
    means, noise = np.zeros(code.width + 1), np.zeros(code.width)
    if model.preconditioner_scales_ is not None:
        means, noise = feature_moment(model)[-1], model._noise_facts.mean_std * units_of(model)
    largest = 1.0 + 2.0 * math.log(max(1, sum(part.width - part.n_named for part in code.parts)))
    found = []
    for part, where in zip(code.parts, code.slices, strict=False):
        own, lost, named = means[where], np.zeros(part.width), part.n_named
        lost[named:] = _noise_of(own[named:], noise[where][named:])
        # All levels without a name, and the buckets alone.
        for rest in (slice(named, None), slice(named, -1)) if 0 < named <= _FEW_NAMED else ():
            # Levels sum to the constant: two estimates of the sum of these, by their precision.
            weight, total = 1.0 - own[rest].size / part.width, own[rest].sum()
            total += (1.0 - weight) * (means[-1] - own.sum())
            deviation = math.sqrt(weight) * float(np.linalg.norm(noise[where][rest]))
            lost[rest] = np.maximum(lost[rest], _noise_of(total, deviation))
        shares = np.maximum(own, 0.0) * np.maximum(0.0, 1.0 - largest * lost)
        total = shares.sum()
        found.append((shares / total if total > 0.0 else np.full(part.width, 1.0 / part.width),
                      lost))
    return found


def _noise_of(shares, deviations):
    """Return the part of noisy shares that is noise, by Stein's positive part."""
    return np.minimum(1.0, deviations / np.maximum(shares, np.finfo(float).tiny))**2


def without_unseen(model: Any, code: Any) -> tuple[FloatArray, list[FloatArray]]:
    """Return coefficients, where missing and other values shrink to the column's mean.

    Without rows a coefficient is noise. It moves as far as its share of rows is noise. Hash
    buckets stay: on bank at epsilon .5, shrinking them costs .004 of AUC, as rare words share
    them. Return also the shares of `seen_levels`.
    """
    coef, found = np.array(model.coef_), seen_levels(model, code)
    columns = coef.reshape(-1, code.width)
    for (shares, lost), where in zip(found, code.slices, strict=False):
        own = columns[:, where]
        own[:, -1] += lost[-1] * (own @ shares - own[:, -1])
    return coef, [shares for shares, _ in found]
