"""Defaults of the saddle solvers, as functions of public facts."""

import math
from dataclasses import replace

from dpsk._defaults.losses import saddle_defaults

__all__ = ["configured_differences", "configured_saddle"]

#: Below this ``n mu / sqrt(dimension)``, linear scores take shorter and fewer difference steps.
_QUIET = 80.0


def configured_saddle(solver, problem):
    """Return `solver` with every None filled.

    Networks use batches of 2048 rows. Let ``r = n mu / sqrt(parameters)`` at the budget's mu, and
    ``k = sqrt(r / 25)`` within [1/2, 3]. They take ``300 k`` steps, which start at the smaller of
    ``2 k`` and 2.5 over the mean weight of a row, divided by the clip norm. Noise then moves the
    parameters by about as much at every budget. Linear scores use full batches, with the number
    and the size of steps measured for the loss. Clip norms and dual steps are those of the loss.
    Steps are shorter where the penalty or the term of the dual set is so strong that longer ones
    would diverge.
    """
    linear = problem.model.is_linear
    own = saddle_defaults(problem.loss, True) if linear else _network_defaults(problem)
    n_samples = problem.n_samples
    clip_norm = solver.clip_norm or own.clip_norm
    return replace(
        solver, clip_norm=float(clip_norm),
        batch_size=min(n_samples, solver.batch_size or own.batch_size or (
            n_samples if linear else 2048)),
        dual_clip_norm=solver.dual_clip_norm or own.dual_clip_norm,
        learning_rate=solver.learning_rate or own.gain / (
            clip_norm + own.gain * problem.penalty.smoothness),
        dual_learning_rate=solver.dual_learning_rate or _dual_step(problem, own.dual_step),
        max_iter=solver.max_iter or own.max_iter)


def configured_differences(solver, problem, work):
    """Return `solver`, whose rounds take the work of `work` steps, with every None filled.

    The first step is a share, given by the loss, of that of `configured_saddle`. It is usually a
    quarter, because the noise of a base stays in all of its period. The number of rounds is that
    of steps over `work`. For linear scores, with ``k = min(1, n mu / (80 sqrt(parameters)))``, the
    step is multiplied by ``k**2`` and the rounds by ``k``, with at least 4 rounds. With few rows,
    steps would otherwise follow a direction of noise for long.
    """
    filled = configured_saddle(solver, problem)
    k = min(1.0, _signal(problem) / _QUIET) if problem.model.is_linear else 1.0
    share = saddle_defaults(problem.loss, problem.model.is_linear).difference_step
    return replace(
        filled, max_iter=solver.max_iter or max(4, int(k * (filled.max_iter // work))),
        learning_rate=solver.learning_rate or k**2 * filled.learning_rate * share)


def _signal(problem):
    """Return n mu over the square root of the number of parameters."""
    return problem.n_samples * problem.mu / math.sqrt(problem.model.dimension)


def _network_defaults(problem):
    """Return the loss's defaults for networks, with gain and max_iter from public numbers."""
    k = min(3.0, max(0.5, math.sqrt(_signal(problem) / 25.0)))
    # Longer steps would overshoot, whatever the noise.
    gain = min(2.0 * k, 2.5 / problem.loss.mean_weight)
    return replace(saddle_defaults(problem.loss, False), gain=gain, max_iter=round(300 * k))


def _dual_step(problem, step):
    """Return the dual step, at most the inverse curvature of the term of the dual set."""
    curvature = problem.loss.dual_set.curvature
    return min(step, 1.0 / curvature) if curvature else step
