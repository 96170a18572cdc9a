"""Defaults of the saddle solvers, as functions of public facts."""

import math
from dataclasses import replace

from dpsk._defaults.losses import saddle_defaults
from dpsk._models.clipping import HEADROOM
from dpsk._problem import full_clip_norm

__all__ = ["configured_differences", "configured_saddle", "group_bounds"]

#: Below this ``n mu / sqrt(dimension)``, linear scores take shorter and fewer difference steps.
_QUIET = 80.0
#: Signal from which clip norms and weights of group DRO grow, and that of the least step.
_WIDE_SIGNAL, _STEP_SIGNAL = 200.0, 50.0
#: Largest weight of a row at a low signal, and ``n mu`` of a group that may have it.
_HEAVIEST, _MEASURED = 4.0, 300.0
#: Steps without noise, in which nothing is clipped and rows are not whitened.
_NOISELESS_STEPS = 1000
#: The largest dual clip norm.
_WIDEST = 1e10


def configured_saddle(solver, problem):
    """Return `solver` with every None filled.

    Networks use batches of 2048 rows. Let ``r = n mu / sqrt(parameters)`` at the budget's mu, and
    ``k = sqrt(r / 25)`` within [1/2, 3]. They take ``300 k`` steps, which start at the smaller of
    ``2 k`` and 2.5 over the mean weight of a row, divided by the clip norm. Noise then moves the
    parameters by about as much at every budget. Linear scores use full batches, with the number
    and the size of steps measured for the loss. Clip norms and dual steps are those of the loss,
    of group DRO by `_bounded_settings`. Without noise, linear scores take 1000 steps, and nothing
    is clipped.
    Steps are shorter where the penalty or the term of the dual set is so strong that longer ones
    would diverge.
    """
    linear = problem.model.is_linear
    own = saddle_defaults(problem.loss, True) if linear else _network_defaults(problem)
    n_samples = problem.n_samples
    bounded = math.isfinite(problem.loss.smoothness)
    if linear and bounded:
        own = _bounded_settings(problem, own)
    step = own.gain / (solver.clip_norm or own.clip_norm)
    if linear and not problem.is_private:
        if not bounded and solver.clip_norm is None:
            # The inverse curvature of squares of scores minus a free number.
            step = 0.5 / (problem.usual_weight * problem.loss.mean_weight
                          * (1.0 + problem.model.radius**2))
        own = replace(own, clip_norm=math.inf, dual_clip_norm=_WIDEST,
                      max_iter=_NOISELESS_STEPS)
    clip_norm = solver.clip_norm or own.clip_norm
    if linear:
        clip_norm = min(clip_norm, full_clip_norm(problem))
    return replace(
        solver, clip_norm=float(clip_norm),
        batch_size=min(n_samples, solver.batch_size or own.batch_size or (
            n_samples if linear else 2048)),
        dual_clip_norm=solver.dual_clip_norm or own.dual_clip_norm,
        learning_rate=solver.learning_rate or step / (1.0 + step * problem.penalty.smoothness),
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


def group_bounds(budget):
    """Return the bounds `heaviest` and `measured` of group DRO.

    Noise is proportional to the largest weight of a row, which grows with the square root of the
    signal. Noise hides the risk of a group of fewer than ``300 / mu`` rows.
    """
    # Solvers refuse delta=0 later, by name.
    signal = budget.signal_to_noise if budget.delta > 0 else 0.0
    return (_HEAVIEST * math.sqrt(max(1.0, signal / _WIDE_SIGNAL)),
            signal * budget.n_columns / _MEASURED)


def _bounded_settings(problem, own):
    """Return the defaults of a loss whose slope and curvature are bounded.

    Clip norms are in the unit of a usual row's largest gradient, and steps in that of the inverse
    curvature of whitened rows. Both grow with the square root of the signal, until nothing is
    clipped and the step is the inverse curvature.
    """
    loss, weight, geometry = problem.loss, problem.usual_weight, problem.geometry
    usual, rank = (problem.model.radius, 1.0) if geometry is None else (
        geometry.usual_norm, geometry.effective_rank)
    signal = problem.signal_to_noise
    wide = max(1.0, signal / _WIDE_SIGNAL)
    clip_norm = min(own.clip_norm * math.sqrt(wide) * loss.lipschitz * weight * usual,
                    loss.lipschitz * weight * problem.model.radius / HEADROOM)
    curvature = loss.smoothness * weight * problem.model.radius**2 / rank
    step = min(1.0, own.gain * math.sqrt(signal / _STEP_SIGNAL)) / curvature
    dual_clip = min(_WIDEST, own.dual_clip_norm * math.sqrt(wide) * weight)
    return replace(own, clip_norm=clip_norm, gain=step * clip_norm, dual_clip_norm=dual_clip)


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
