"""Clip, step and number of steps of descent on rows that enter linearly.

Measured on docs/results/defaults.md; see docs/theory/defaults.md for what each number is.
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
#: The signals up to which all steps that are enough are made, as narrow clips flatten losses, and
#: from which on more are made than are enough below, as what they leave of the way is to vanish.
_FLAT_SIGNAL, _STEPS_SIGNAL = 150.0, 800.0
#: The least share of steps in between, and by how much steps are longer at most where fewer are
#: made than wanted, with all of them and with that share.
_LEAST_SHARE, _MOST_STRETCH = 0.6, (1.5, 1.875)
#: How much longer steps are from the odds of a rare class, which have no momentum.
_RARE_STEP = 1.5
#: Random batches: one of so many parts of the rows, and no smaller; passes over all rows by the
#: root of the signal, and the least and the most; and so of steps.
_BATCH_PARTS, _SMALLEST_BATCH = 5, 256
_PASSES, _LEAST_PASSES, _MOST_PASSES = 0.4, 3.0, 10.0
_FEWEST_BATCHES, _MOST_BATCHES = 15, 5000


def default_clip_norm(problem, clip_norm):
    """Return the clip norm: a share of the loss's own bound, or that bound where inf was given.

    It is the bound itself where a clip would turn the loss into another, as of quantiles.

    Unbounded weights and losses count with a bound of 1, and so do losses of residuals. A network
    has no bound: 1 times that on weights clips nearly every row of an untrained one, and leaves
    rows alone that are well fitted.
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
        # Where the loss turns linear says nothing of how long residuals are.
        slope = problem.usual_weight if measured.of_residuals else (
            problem.loss.usual_share * slope_bound(problem))
    return min(share * _clip_growth(problem) * slope * usual / HEADROOM, full)


def default_step(problem, clip_norm):
    """Return the step: the inverse smoothness, and more where gradients are clipped.

    Clipping flattens the loss of every row that is far from fitted, so the curvature that is
    met is well below its supremum, as it is where a loss is straight but for a corner. That of
    whitened rows is also spread over their directions. Where noise allows fewer steps than the
    fewest that are made, the step shrinks with their square, as an accelerated method covers
    ``step T^2``.
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
            # Without a clip the largest curvature must be met as it is.
            smoothness *= 2.0 * problem.geometry.unevenness
    elif clipped or not problem.loss.clippable:
        gain = max(1.0, measured.plain_gain / _clip_growth(problem))
        smoothness /= gain * _shrinkage(problem)
    if problem.log_odds:
        smoothness /= _RARE_STEP
    return 1.0 / (smoothness + problem.penalty.smoothness)


def default_steps(problem, clip_norm=0.0):
    """Return the number of full-batch steps, from the noise that they will have."""
    whitened = problem.geometry is not None
    most = loss_defaults(problem.loss).most_steps if whitened else _MOST_PLAIN_STEPS
    made = min(_wanted_steps(problem), _enough_steps(problem, clip_norm))
    return int(np.clip(round(made), _FEWEST_STEPS, most))


def default_batch_size(n_samples, batch_size):
    """Return the expected size of random batches.

    Noise grows with the number of steps, whatever their batches; large ones let few see all rows.
    """
    return min(n_samples, batch_size or max(_SMALLEST_BATCH, n_samples // _BATCH_PARTS))


def default_batches(problem, batch_size):
    """Return the number of steps on random batches: few passes, and more as noise allows."""
    passes = np.clip(_PASSES * np.sqrt(problem.signal_to_noise), _LEAST_PASSES, _MOST_PASSES)
    steps = round(passes * problem.n_samples / batch_size)
    return int(np.clip(steps, _FEWEST_BATCHES, _MOST_BATCHES))


def stretch(problem, clip_norm):
    """Return how much longer steps are where the default number of them is less than wanted."""
    missed = _wanted_steps(problem) / _enough_steps(problem, clip_norm)
    usual, most = _MOST_STRETCH
    left = (1.0 - _share_of_steps(problem)) / (1.0 - _LEAST_SHARE)
    return float(np.clip(missed, 1.0, usual + left * (most - usual)))


def accelerates(problem):
    """Return whether full-batch steps have momentum: where a clip leaves curvatures unlike.

    Not from released odds of a rare class: its loss hardly curves, so nothing forgets the noise
    that momentum adds up, and what is left of the way is short.
    """
    if problem.geometry is None:
        return True
    return loss_defaults(problem.loss).accelerates and not problem.log_odds


def _enough_steps(problem, clip_norm):
    """Return the number of clipped steps beyond which more do not pay; infinite if none is known.
    """
    enough = loss_defaults(problem.loss).enough_steps
    if enough is None or problem.geometry is None or clip_norm >= full_clip_norm(problem):
        return np.inf
    growth = np.sqrt(max(1.0, problem.signal_to_noise / _STEPS_SIGNAL))
    return enough * _share_of_steps(problem) * growth


def _share_of_steps(problem):
    """Return the share of steps that do where the signal lets clips be wider."""
    return float(np.clip(_FLAT_SIGNAL / problem.signal_to_noise, _LEAST_SHARE, 1.0))


def _shrinkage(problem):
    return min(1.0, _wanted_steps(problem) / _FEWEST_STEPS) ** 2


def _clip_growth(problem):
    """Return by how much clips widen, as what they leave out is to vanish beside the noise.

    Where they leave out nothing they stay, and so do the steps that follow from them.
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
    """Return the bound on a weighted loss's slope, with 1 for what is unbounded."""
    slope = problem.loss.lipschitz * problem.usual_weight
    return slope if np.isfinite(slope) else 1.0
