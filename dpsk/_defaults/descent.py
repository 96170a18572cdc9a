"""Clip, step and number of steps of descent on rows that enter linearly.

Measured on docs/results/defaults.md; see docs/theory/defaults.md for what each number is.
"""

import numpy as np

from dpsk._defaults.losses import loss_defaults
from dpsk._models.clipping import HEADROOM
from dpsk._problem import full_clip_norm

__all__ = ["default_clip_norm", "default_step", "default_steps", "slope_bound"]

_FEWEST_STEPS, _MOST_PLAIN_STEPS = 8, 400
_PLAIN_CLIP = 0.3


def default_clip_norm(problem, clip_norm):
    """Return the clip norm: a share of the loss's own bound, or that bound where inf was given.

    Unbounded weights and losses count with a bound of 1.
    """
    if clip_norm is not None:
        return min(clip_norm, full_clip_norm(problem))
    share = _PLAIN_CLIP if problem.geometry is None else loss_defaults(problem.loss).clip_share
    return share * slope_bound(problem) * problem.model.radius / HEADROOM


def default_step(problem, clip_norm):
    """Return the step: the inverse smoothness, and more where gradients are clipped.

    Clipping flattens the loss of every row that is far from fitted, so the curvature that is
    met is well below its supremum. That of whitened rows is also spread over their directions.
    Where noise allows fewer steps than the fewest that are made, the step shrinks with their
    square, as an accelerated method covers ``step T^2``.
    """
    smoothness = problem.loss.smoothness * problem.usual_weight * problem.model.radius**2
    clipped = clip_norm < full_clip_norm(problem)
    whitened, measured = problem.geometry is not None, loss_defaults(problem.loss)
    if whitened:
        smoothness /= problem.geometry.effective_rank
    if clipped or (whitened and measured.clip_share == 1.0):
        gain = measured.whitened_gain if whitened else measured.plain_gain
        smoothness /= gain * min(1.0, _wanted_steps(problem) / _FEWEST_STEPS) ** 2
    elif whitened:
        # Without a clip the largest curvature must be met as it is.
        smoothness *= 2.0 * problem.geometry.unevenness
    return 1.0 / (smoothness + problem.penalty.smoothness)


def default_steps(problem):
    """Return the number of full-batch steps, from the noise that they will have."""
    whitened = problem.geometry is not None
    most = loss_defaults(problem.loss).most_steps if whitened else _MOST_PLAIN_STEPS
    return int(np.clip(round(_wanted_steps(problem)), _FEWEST_STEPS, most))


def _wanted_steps(problem):
    """Return the T at which bias, ``1 / T^2``, and noise, ``T^2 rho^2``, balance."""
    if problem.delta == 0:
        return float(_FEWEST_STEPS)
    signal = problem.n_samples * problem.mu
    if problem.geometry is not None:
        return 4.25 * np.sqrt(signal / problem.model.shape[0])
    return 3.0 * np.sqrt(signal / np.sqrt(problem.model.dimension))


def slope_bound(problem):
    """Return the bound on a weighted loss's slope, with 1 for what is unbounded."""
    slope = problem.loss.lipschitz * problem.usual_weight
    return slope if np.isfinite(slope) else 1.0
