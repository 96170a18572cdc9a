"""One rule for training networks: clip, batch, steps and their length, from public numbers.

See docs/theory/networks.md for what each number was found on.
"""

import numpy as np

from dpsk._defaults.losses import loss_defaults

__all__ = ["ADAPTIVE_STEP", "MOMENTUM", "network_batch_size", "network_clip_norm",
           "network_step", "network_steps"]

MOMENTUM = 0.7
#: The step of adaptive directions, whose coordinates are about 1.
ADAPTIVE_STEP = 5e-3
#: The steps that a unit of signal pays for.
_STEPS = 6.0
_FEWEST, _MOST = 30, 2000
_BATCH_SHARE, _SMALLEST_BATCH, _LARGEST_BATCH = 15, 256, 8192


def network_clip_norm(problem, clip_norm):
    """Return the clip norm: 1 times the bound on weights, where there is one.

    At that length nearly every row of an untrained network is clipped, and rows that are well
    fitted are not.
    """
    if clip_norm is not None:
        return clip_norm
    return problem.usual_weight


def network_batch_size(problem, batch_size):
    """Return the expected batch size: a 15th of the rows, within [256, 8192]."""
    default = np.clip(problem.n_samples // _BATCH_SHARE, _SMALLEST_BATCH, _LARGEST_BATCH)
    return min(problem.n_samples, batch_size or int(default))


def network_steps(problem):
    """Return the number of steps: ``6 n mu / sqrt(d)`` within [30, 2000]."""
    return int(np.clip(np.round(_wanted_steps(problem)), _FEWEST, _MOST))


def network_step(problem, clip_norm, n_steps):
    """Return the step: the loss's over the clip norm, less where noise allows fewer steps.

    The noise that T steps of length s leave in theta has norm of about
    ``2 s C T sqrt(d) / (n mu)``, whatever the batch. Beside a strong penalty steps are shorter,
    as longer ones would diverge.
    """
    share = min(1.0, _wanted_steps(problem) / n_steps)
    step = loss_defaults(problem.loss).network_step / clip_norm * share
    return step / (1.0 + step * problem.penalty.smoothness)


def _wanted_steps(problem):
    signal = problem.n_samples * problem.mu
    return _STEPS * signal / np.sqrt(problem.model.dimension)
