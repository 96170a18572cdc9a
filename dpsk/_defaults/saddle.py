"""Defaults of the saddle solvers: functions of public facts."""

import math
from dataclasses import replace

from dpsk._defaults.losses import saddle_defaults

__all__ = ["configured_differences", "configured_saddle"]

#: Of n mu / sqrt(dimension): below it linear scores take shorter and fewer steps by differences.
_QUIET = 80.0


def configured_saddle(solver, problem):
    """Return `solver` with every None filled.

    Networks: batches of 2048 rows; with ``r = n mu / sqrt(parameters)`` at the budget's mu and
    ``k = sqrt(r / 25)`` within [1/2, 3], ``300 k`` steps that start at ``2 k`` over the clip
    norm, or at 2.5 over it and over the mean weight of a row where that is less. Noise then
    moves the parameters by about as much at every budget. Linear scores: full batches, as many
    steps and steps as large as was measured of the loss. Clips and dual steps are
    the loss's. Steps are shorter where a penalty or the dual set's own term is so strong that
    longer ones would diverge.
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

    The loss's share of the first step of `configured_saddle`, usually a quarter because the noise
    of a base stays in all of its period, and its steps over `work` as rounds. For linear scores,
    with ``k = min(1, n mu / (80 sqrt(parameters)))``, ``k**2`` times that step and ``k`` times
    those rounds, at least 4: where rows are few, a direction of noise would be followed for long.
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
    """Return the loss's defaults for networks, with gain and max_iter of public numbers."""
    k = min(3.0, max(0.5, math.sqrt(_signal(problem) / 25.0)))
    # Longer steps would overshoot, whatever the noise.
    gain = min(2.0 * k, 2.5 / problem.loss.mean_weight)
    return replace(saddle_defaults(problem.loss, False), gain=gain, max_iter=round(300 * k))


def _dual_step(problem, step):
    """Return the dual step, no longer than the public term of the dual variable bears."""
    curvature = problem.loss.dual_set.curvature
    return min(step, 1.0 / curvature) if curvature else step
