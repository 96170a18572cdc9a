"""Shrinkage of coefficients towards a constant prediction, by the noise of their fit."""

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
    from dpsk._stages.whitening import Whitening
    from dpsk._typing import FloatArray

__all__ = ["Shrinkage", "energy", "without_mean"]

#: Quadrature nodes of a mean over normal scores, and limits of the size of these scores.
_NODES, _SIZES = 60, (1e-3, 1e3)
#: Most that the removed coefficients may change predictions, over the sum of changes by blocks.
_MOST_SHARED = 2.0


class Shrinkage(Stage):
    r"""Multiply the varying part of predictions by ``max(0, 1 - N / E)`` (James-Stein).

    E is the mean square of predictions about their mean, by the released moment. N is the mean
    square that the noise of the fit alone would give: its expectation plus `NOISE_DEVIATIONS`
    standard deviations. The noise of a step has a known size, and later steps reduce it at a rate
    given by the curvatures along that moment. Where few of many columns stand out of the noise,
    each block of columns gets its own factor (`shares_of_few`). Nothing is released.

    With logistic losses, E would miss covariances that noise hides. There the factor is the zero
    of a line through two slopes of the loss along the coefficients: at factor 0 that of the first
    gradient, less its noise, and at factor 1 that which noise alone gives.

    The factor applies to the part of the coefficients orthogonal to the mean row, which keeps the
    mean prediction. That row is noisy itself, so coefficients are shrunk less where the noise
    would move the mean by more than predictions vary.

    Parameters
    ----------
    whitening : Whitening
        The stage that whitened the rows before the solver.

    References
    ----------
    James, Stein (1961), "Estimation with quadratic loss"; Bock (1975), for unequal variances.
    """

    comes_last: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True

    def __init__(self, whitening: Whitening) -> None:
        self._whitening = whitening

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        self._given = given
        # Noise is not known where several scores are clipped together, or steps are not linear.
        return (not (problem.loss.minimax or isinstance(problem.loss, Multinomial))
                and solver.noise_weights(np.empty(0)) is not None)

    def event(self, problem: Problem) -> Event:
        return Composed(())

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta` shrunk towards a constant prediction."""
        spectrum, outputs = self._whitening.spectrum, _n_outputs(theta)
        curvatures, weights = self._weights(problem, math.sqrt(energy(spectrum, theta)))
        noise_std = oracle.noise_std
        variances = (noise_std * np.linalg.norm(weights, axis=1)) ** 2
        if (few := _of_few_columns(spectrum, variances, theta)) is not None:
            return few
        varied = without_mean(spectrum, theta)
        found = energy(spectrum, varied)
        # Diverged steps leave infinite parameters.
        if not 0.0 < found < math.inf:
            return theta
        if isinstance(problem.loss, Logistic):
            rise = _most(curvatures * variances, outputs)
            # The coefficients contain the noise of the first gradient.
            slope = -float((oracle.answer * varied).sum()) - NOISE_DEVIATIONS * noise_std * (
                math.sqrt(_square_sum(varied))) - outputs * noise_std**2 * weights[:, 0].sum()
            left_out = rise / (max(slope, 0.0) + rise) if rise > 0.0 else 0.0
        else:
            left_out = min(1.0, _most(spectrum.moments * variances, outputs) / found)
        if spectrum.mean is not None:
            shift = _square_sum((spectrum.matrix.T @ varied).T * spectrum.mean_noise)
            left_out /= 1.0 + shift / found
        return theta - left_out * varied

    def _weights(self, problem, size):
        """Return the curvatures along the directions, and the weights of answers in coefficients.

        `size` is the root mean square of predictions.
        """
        spectrum = self._whitening.spectrum
        solver = self._given.configured(problem)
        share, clip = CURVATURE_SHARE, solver.clip_norm / problem.geometry.usual_norm
        if isinstance(problem.loss, Logistic):
            share = _clipped_share(problem.loss, clip, size)
        elif loss_defaults(problem.loss).of_residuals:
            # The share of normal residuals of the usual size that are not clipped.
            share = min(share, float(erf(clip / (math.sqrt(2.0) * USUAL_RESIDUAL))))
        curvatures = share * problem.loss.smoothness * spectrum.moments
        curvatures += np.sum(spectrum.directions * problem.penalty.slope(spectrum.directions), 0)
        curvatures = np.clip(curvatures, 0.0, 1.0 / solver.learning_rate)
        return curvatures, solver.noise_weights(curvatures)


def _most(noises, outputs):
    """Return the expected sum of squares of noise, and `NOISE_DEVIATIONS` deviations more."""
    return outputs * float(noises.sum()) + NOISE_DEVIATIONS * math.sqrt(
        2.0 * outputs * _square_sum(noises))


def _clipped_share(loss, clip, size):
    """Return the mean curvature of a loss with clipped slopes, over its smoothness.

    The mean is over normal scores of that size, with labels independent of them. With scores near
    0 all slopes are clipped, so later steps do not reduce the noise.
    """
    points, weights = _normal_points()
    scores = np.clip(size, *_SIZES) * points
    slopes = [np.clip(loss.gradient(np.full(_NODES, label), scores.copy()), -clip, clip)
              for label in (0.0, 1.0)]
    mean = weights @ (scores * np.mean(slopes, axis=0))
    return float(mean / (weights @ scores**2 * loss.smoothness))


@cache
def _normal_points():
    """Return points and weights of standard normal means, up to a common factor."""
    return np.polynomial.hermite_e.hermegauss(_NODES)


def _of_few_columns(spectrum, variances, theta):
    """Return parameters without coefficients that noise explains; None if all may matter.

    Columns with covariances that stand out of noise form one block.
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
    # These energies miss directions that many columns share and no pair of columns shows.
    alone = float((removed * (covariance @ removed)).sum())
    return theta + change if energy(spectrum, change) <= _MOST_SHARED * alone else None


def _blocks(covariance, linked):
    """Return the number of blocks of columns, and the block of each; `linked` ones have pairs."""
    n_blocks, blocks = np.count_nonzero(~linked), np.cumsum(~linked) - 1
    if linked.any():
        n_more, more = connected_components(covariance[np.ix_(linked, linked)], directed=False)
        blocks[linked] = n_blocks + more
        n_blocks += n_more
    return n_blocks, blocks


def without_mean(spectrum, theta):
    """Return parameters without the part along the mean row, where that row is known."""
    if spectrum.mean is None:
        return theta
    return theta - _along(theta, spectrum.matrix @ spectrum.mean)


def _along(theta, direction):
    """Return the part of parameters along a direction; 0 for a zero direction."""
    square = float(direction @ direction)
    if not square > 0.0:
        return np.zeros_like(theta)
    return np.multiply.outer(direction, (direction @ theta) / square)


def energy(spectrum, theta):
    """Return the mean square of predictions by the released moment."""
    return _square_sum(np.sqrt(spectrum.moments) * (theta.T @ spectrum.directions))


def _square_sum(values):
    return float(np.square(values).sum())


def _n_outputs(theta):
    return math.prod(theta.shape[1:])
