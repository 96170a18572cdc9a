"""Clip norm, step and number of steps of gradient descent on linear models.

They were measured in docs/results/defaults.md; docs/theory/defaults.md explains each number.
"""

import numpy as np

from dpsk._defaults.budgets import AMPLE_SIGNAL
from dpsk._defaults.losses import loss_defaults
from dpsk._models.clipping import HEADROOM
from dpsk._problem import full_clip_norm

__all__ = ["accelerates", "default_batch_size", "default_batches", "default_clip_norm",
           "default_step", "default_steps", "slope_bound", "stretch"]

_FEWEST_STEPS, _MOST_PLAIN_STEPS = 8, 400
_PLAIN_CLIP = 0.3
#: Up to the first signal, all `enough_steps` are made, as narrow clips flatten losses. From the
#: second on, more are made, so that the optimization error vanishes.
_FLAT_SIGNAL, _STEPS_SIGNAL = 150.0, 800.0
#: The least share of `enough_steps` in between. Where fewer steps are made than wanted, steps are
#: longer by at most the first factor with all of them, and the second with that share.
_LEAST_SHARE, _MOST_STRETCH = 0.6, (1.5, 1.875)
#: Factor of steps that start from the odds of a rare class and have no momentum.
_RARE_STEP = 1.5
#: Random batches: rows over the batch size, and the least batch size; passes over the square root
#: of the signal, the fewest and the most passes; and the fewest and the most steps.
_BATCH_PARTS, _SMALLEST_BATCH = 5, 256
_PASSES, _LEAST_PASSES, _MOST_PASSES = 0.4, 3.0, 10.0
_FEWEST_BATCHES, _MOST_BATCHES = 15, 5000


def default_clip_norm(problem, clip_norm):
    """Return the clip norm: a share of the loss's bound, or that bound if inf was given.

    Losses that clipping would change into another loss, such as quantile losses, use the bound
    itself. Unbounded weights, unbounded losses and losses of residuals count with a bound of 1. A
    network has no bound: it uses 1 times the bound on weights. That clips nearly every row of an
    untrained network, and no row that is fitted well.
    """
    if not problem.model.is_linear:
        return problem.usual_weight if clip_norm is None else clip_norm
    full = full_clip_norm(problem)
    if clip_norm is not None:
        return min(clip_norm, full)
    if not problem.loss.clippable:
        return min(slope_bound(problem) * problem.model.radius / HEADROOM, full)
    measured = loss_defaults(problem.loss)
    if problem.geometry is None:
        share, slope, usual = _PLAIN_CLIP, slope_bound(problem), problem.model.radius
    else:
        share, usual = measured.clip_share, problem.geometry.usual_norm
        # The point where the loss becomes linear does not give the size of residuals.
        slope = problem.usual_weight if measured.of_residuals else (
            problem.loss.usual_share * slope_bound(problem))
    return min(share * _clip_growth(problem) * slope * usual / HEADROOM, full)


def default_step(problem, clip_norm):
    """Return the step: the inverse smoothness, and more where gradients are clipped.

    Clipping flattens the loss of every badly fitted row, so the actual curvature is well below
    its supremum; the same holds for a loss that is linear except at a corner. On whitened rows,
    curvature is also spread over all directions. Where noise allows fewer steps than the least
    number made, the step shrinks with their square, as an accelerated method covers ``step T^2``.
    """
    smoothness = problem.loss.smoothness * problem.usual_weight * problem.model.radius**2
    clipped = clip_norm < full_clip_norm(problem)
    measured = loss_defaults(problem.loss)
    if problem.geometry is not None:
        smoothness /= problem.geometry.effective_rank
        if clipped or problem.loss.minimax or not measured.accelerates:
            gain = max(measured.least_gain, measured.gain / _clip_growth(problem))
            smoothness /= gain * _shrinkage(problem)
        else:
            # Without clipping, the step must suit the largest curvature.
            smoothness *= 2.0 * problem.geometry.unevenness
    elif clipped or not problem.loss.clippable:
        gain = max(1.0, measured.plain_gain / _clip_growth(problem))
        smoothness /= gain * _shrinkage(problem)
    if problem.log_odds:
        smoothness /= _RARE_STEP
    return 1.0 / (smoothness + problem.penalty.smoothness)


def default_steps(problem, clip_norm=0.0):
    """Return the number of full-batch steps, from the noise of the budget."""
    whitened = problem.geometry is not None
    most = loss_defaults(problem.loss).most_steps if whitened else _MOST_PLAIN_STEPS
    made = min(_wanted_steps(problem), _enough_steps(problem, clip_norm))
    return int(np.clip(round(made), _FEWEST_STEPS, most))


def default_batch_size(n_samples, batch_size):
    """Return the expected size of random batches.

    Noise grows with the number of steps, whatever the batch size; with large batches, few steps
    see all rows.
    """
    return min(n_samples, batch_size or max(_SMALLEST_BATCH, n_samples // _BATCH_PARTS))


def default_batches(problem, batch_size):
    """Return the number of steps on random batches: few passes, and more where noise is small."""
    passes = np.clip(_PASSES * np.sqrt(problem.signal_to_noise), _LEAST_PASSES, _MOST_PASSES)
    steps = round(passes * problem.n_samples / batch_size)
    return int(np.clip(steps, _FEWEST_BATCHES, _MOST_BATCHES))


def stretch(problem, clip_norm):
    """Return the factor that lengthens steps where fewer than wanted are made."""
    missed = _wanted_steps(problem) / _enough_steps(problem, clip_norm)
    usual, most = _MOST_STRETCH
    left = (1.0 - _share_of_steps(problem)) / (1.0 - _LEAST_SHARE)
    return float(np.clip(missed, 1.0, usual + left * (most - usual)))


def accelerates(problem):
    """Return whether full-batch steps have momentum, by the loss.

    Steps that start from the released odds of a rare class have none. Their loss has little
    curvature, which would not reduce the noise that momentum adds up, and the start is close to
    the optimum.
    """
    if problem.geometry is None:
        return True
    return loss_defaults(problem.loss).accelerates and not problem.log_odds


def _enough_steps(problem, clip_norm):
    """Return the number of clipped steps beyond which more do not help, inf if unknown."""
    enough = loss_defaults(problem.loss).enough_steps
    if enough is None or problem.geometry is None or clip_norm >= full_clip_norm(problem):
        return np.inf
    growth = np.sqrt(max(1.0, problem.signal_to_noise / _STEPS_SIGNAL))
    return enough * _share_of_steps(problem) * growth


def _share_of_steps(problem):
    """Return the share of `enough_steps` that suffices where the signal allows wider clips."""
    return float(np.clip(_FLAT_SIGNAL / problem.signal_to_noise, _LEAST_SHARE, 1.0))


def _shrinkage(problem):
    return min(1.0, _wanted_steps(problem) / _FEWEST_STEPS) ** 2


def _clip_growth(problem):
    """Return the factor that widens clip norms, so that clipping bias vanishes with the noise.

    Losses that are not clipped have no such bias: the factor is 1.
    """
    if not problem.loss.clippable:
        return 1.0
    whitened = problem.geometry is not None
    start = loss_defaults(problem.loss).clip_signal if whitened else AMPLE_SIGNAL
    return max(1.0, np.sqrt(problem.signal_to_noise / start))


def _wanted_steps(problem):
    """Return the T at which bias, ``1 / T^2``, and noise, ``T^2 rho^2``, balance."""
    if problem.delta == 0:
        return float(_FEWEST_STEPS)
    if problem.geometry is not None:
        return loss_defaults(problem.loss).steps * np.sqrt(problem.signal_to_noise)
    return 3.0 * np.sqrt(problem.n_samples * problem.mu / np.sqrt(problem.model.dimension))


def slope_bound(problem):
    """Return the bound on the slope of the weighted loss; 1 if it is unbounded."""
    slope = problem.loss.lipschitz * problem.usual_weight
    return slope if np.isfinite(slope) else 1.0
