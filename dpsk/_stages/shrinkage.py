"""Coefficients drawn to a constant prediction, as far as the noise of their fit explains them."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import erf

from dpsk._defaults.budgets import CURVATURE_SHARE, NOISE_DEVIATIONS, USUAL_RESIDUAL
from dpsk._defaults.losses import loss_defaults
from dpsk._objective.losses import Logistic, Multinomial
from dpsk._privacy.events import Composed
from dpsk._stages.base import Stage
from dpsk._stages.few_columns import FEWEST_BLOCKS, shares_of_few

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._stages.temperature_scaling import TemperatureScaling
    from dpsk._stages.whitening import Whitening
    from dpsk._typing import FloatArray

__all__ = ["Shrinkage", "energy", "without_mean"]

#: Of a mean over normal scores, of sizes within these.
_NODES, _SIZES = 60, (1e-3, 1e3)
#: How much what is left out of columns may move predictions, over what it does by each of them.
_MOST_SHARED = 2.0


class Shrinkage(Stage):
    r"""Multiply what moves predictions by ``1 - N / E``, or by 0: James-Stein, positive part.

    E is the mean square of predictions about their mean, by the released moment, and N what the
    noise of the fit alone would have at most: a standard deviation above its mean. Of known
    size, it is forgotten as fast as curvatures of that moment say. What a temperature that was
    released before has multiplied by is not multiplied again but for the rest. Where few of many
    columns stand out of that noise, each is multiplied by a number of its own instead
    (`shares_of_few`). Nothing is released.

    Multiplied is what is orthogonal to the mean row, which keeps the mean prediction. That row is
    noisy itself, so that coefficients are drawn in less far where it would move the mean more
    than they vary.

    Parameters
    ----------
    whitening : Whitening
        Before the solver.
    temperature : TemperatureScaling or None
        The stage before, if there is one.

    References
    ----------
    James, Stein (1961), "Estimation with quadratic loss"; Bock (1975), for unequal variances.
    """

    comes_last: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def __init__(self, whitening: Whitening,
                 temperature: TemperatureScaling | None = None) -> None:
        self._whitening, self._temperature = whitening, temperature

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        self._given = given
        # Clips of several scores together have no such law, and dual steps none that is linear.
        return (not (problem.loss.minimax or isinstance(problem.loss, Multinomial))
                and solver.noise_gain(np.empty(0)) is not None)

    def event(self, problem: Problem) -> Event:
        return Composed(())

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta` with less of what moves predictions."""
        spectrum, factor = self._whitening.spectrum, self._factor()
        theta = theta / factor
        size = math.sqrt(energy(spectrum, theta))
        variances = self._variances(problem, oracle, size)
        if (few := _of_few_columns(spectrum, variances, theta)) is not None:
            return factor * few
        varied = without_mean(spectrum, theta)
        found = energy(spectrum, varied)
        noises, outputs = spectrum.moments * variances, _n_outputs(theta)
        noise = outputs * float(noises.sum()) + NOISE_DEVIATIONS * math.sqrt(
            2.0 * outputs * _square_sum(noises))
        # Steps may have led beyond all bounds.
        if not 0.0 < found < math.inf:
            return factor * theta
        left_out = min(1.0, noise / found)
        if spectrum.mean is not None:
            shift = _square_sum((spectrum.matrix.T @ varied).T * spectrum.mean_noise)
            left_out /= 1.0 + shift / found
        return factor * theta + (min(factor, 1.0 - left_out) - factor) * varied

    def _factor(self):
        """Return what all parameters were multiplied with after the fit."""
        released = None if self._temperature is None else self._temperature.value
        return 1.0 if released is None else 1.0 / released

    def _variances(self, problem, oracle, size):
        """Return the variances that noise gives to coefficients along the directions.

        `size` is the root mean square of predictions.
        """
        spectrum = self._whitening.spectrum
        solver = self._given.configured(problem)
        share, clip = CURVATURE_SHARE, solver.clip_norm / problem.geometry.usual_norm
        if isinstance(problem.loss, Logistic):
            share = _clipped_share(problem.loss, clip, size)
        elif loss_defaults(problem.loss).of_residuals:
            # Of normal residuals as long as usual ones, those that the clip leaves alone.
            share = min(share, float(erf(clip / (math.sqrt(2.0) * USUAL_RESIDUAL))))
        curvatures = share * problem.loss.smoothness * spectrum.moments
        curvatures += np.sum(spectrum.directions * problem.penalty.slope(spectrum.directions), 0)
        gain = solver.noise_gain(np.clip(curvatures, 0.0, 1.0 / solver.learning_rate))
        return (gain * oracle.noise_std) ** 2


def _clipped_share(loss, clip, size):
    """Return the curvature of slopes that are clipped, over the smoothness of their loss.

    On average over normal scores of that size and labels that have nothing to do with them: with
    scores near 0 all slopes are clipped, and nothing is forgotten of noise.
    """
    points, weights = _normal_points()
    scores = np.clip(size, *_SIZES) * points
    slopes = [np.clip(loss.gradient(np.full(_NODES, label), scores.copy()), -clip, clip)
              for label in (0.0, 1.0)]
    mean = weights @ (scores * np.mean(slopes, axis=0))
    return float(mean / (weights @ scores**2 * loss.smoothness))


@cache
def _normal_points():
    """Return points and weights of means over a standard normal law, up to one factor."""
    return np.polynomial.hermite_e.hermegauss(_NODES)


def _of_few_columns(spectrum, variances, theta):
    """Return parameters without those coefficients that noise explains; None where all may matter.

    Columns whose covariances stand out of noise are of one block.
    """
    covariance, features = spectrum.covariance, len(spectrum.covariance)
    if features < FEWEST_BLOCKS:
        return None
    linked = np.count_nonzero(covariance, axis=1) > (np.diag(covariance) != 0.0)
    n_blocks, blocks = _blocks(covariance, linked)
    if n_blocks < FEWEST_BLOCKS:
        return None
    of_rows = spectrum.matrix @ theta
    coef = of_rows[:features].reshape(features, -1)
    roots = spectrum.directions[:features] * spectrum.sizes

    def summed(values):
        return np.bincount(blocks, values, n_blocks)

    energies = summed((coef * (covariance @ coef)).sum(axis=1))
    moved = np.diag(covariance)[:, None] * roots
    for column in np.flatnonzero(linked):
        kept = covariance[column] != 0.0
        moved[column] = covariance[column, kept] @ roots[kept]
    moved *= roots
    noises = summed(moved @ variances)
    if not (np.isfinite(energies).all() and (noises > 0.0).all()):
        return None
    shares = shares_of_few(energies, noises * coef.shape[1], summed(None) * coef.shape[1])
    if shares is None:
        return None
    left_out = 1.0 - shares
    if spectrum.mean is not None:
        noise = spectrum.mean_noise[:features, None]
        left_out /= 1.0 + summed(np.square(coef * noise).sum(axis=1)) / np.maximum(
            energies, np.finfo(float).tiny)
    removed = (left_out[blocks] * coef.T).T
    change = spectrum.moved(-removed.reshape(of_rows[:features].shape))
    # What many columns share, and no pair of them shows, is in none of these energies.
    alone = float((removed * (covariance @ removed)).sum())
    return theta + change if energy(spectrum, change) <= _MOST_SHARED * alone else None


def _blocks(covariance, linked):
    """Return how many blocks columns are of, and which; only some are `linked` to others."""
    n_blocks, blocks = np.count_nonzero(~linked), np.cumsum(~linked) - 1
    if linked.any():
        n_more, more = connected_components(covariance[np.ix_(linked, linked)], directed=False)
        blocks[linked] = n_blocks + more
        n_blocks += n_more
    return n_blocks, blocks


def without_mean(spectrum, theta):
    """Return parameters without what moves predictions of all rows alike, where that is known."""
    if spectrum.mean is None:
        return theta
    return theta - _along(theta, spectrum.matrix @ spectrum.mean)


def _along(theta, direction):
    """Return the part of parameters along a direction, 0 along none."""
    square = float(direction @ direction)
    if not square > 0.0:
        return np.zeros_like(theta)
    return np.multiply.outer(direction, (direction @ theta) / square)


def energy(spectrum, theta):
    """Return the mean square of predictions, by the released moment."""
    return _square_sum(np.sqrt(spectrum.moments) * (theta.T @ spectrum.directions))


def _square_sum(values):
    return float(np.square(values).sum())


def _n_outputs(theta):
    return math.prod(theta.shape[1:])
