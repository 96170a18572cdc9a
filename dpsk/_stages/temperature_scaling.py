"""Rescaling of scores after a fit, whose gradient clipping made them too large.

Clipping logistic gradients amounts to a loss that penalizes rows far on the wrong side less, so
the fitted coefficients are longer. One factor, found from noisy slopes along the ray through
them, undoes most of that and changes no decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.budgets import SLOPE_CLIP_SHARE, SLOPES_SHARE, mu_of_share
from dpsk._defaults.descent import slope_bound
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.plans import NoisySums
from dpsk._problem import full_clip_norm
from dpsk._stages.base import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._objective.penalties.base import Penalty
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = [
    "TemperatureScaling",
    "best_factor",
    "slope_clip",
    "slopes_multiplier",
    "slopes_plan",
    "takes_temperature",
    "temperature_pays",
]

#: Logarithms of the factors at which slopes are queried; at most 0, as clipping lengthens.
_LOGS = np.linspace(np.log(0.4), 0.0, 4)
#: The logarithm expected before the slopes are known, and its standard deviation.
_USUAL, _SPREAD = float(_LOGS.mean()), 0.3


class TemperatureScaling(Stage):
    """Release noisy slopes along the ray through the fitted parameters, and rescale them.

    With `wanted` None it applies to whitened rows, where the clip norm is left at its default and
    makes scores too large.
    """

    attribute = "temperature_"
    takes_groups = True
    comes_last = True

    def __init__(self, wanted):
        self._wanted = wanted

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        """Return whether scores are rescaled, from public facts.

        Raise a ValueError if that is wanted but not possible.
        """
        possible = takes_temperature(problem, solver)
        if self._wanted and not possible:
            raise ValueError(
                "temperature=True: scores are rescaled after solver='gd' or 'sgd' with a "
                "clip_norm below the loss's slope, an l2 penalty or none, and delta > 0; leave "
                "temperature='auto'.")
        by_default = given.clip_norm is None and temperature_pays(problem, solver)
        return possible and (by_default if self._wanted is None else self._wanted)

    def event(self, problem: Problem) -> Event:
        """Return the event of the release."""
        return slopes_plan()(slopes_multiplier(problem))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("slope_clip", slope_clip(problem), "default",
                         "largest effect of one row on the choice of the temperature: the slope "
                         "of its loss, divided by the largest possible score; larger slopes are "
                         "clipped")]

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta` times the factor that minimizes the objective."""
        length = float(np.linalg.norm(theta))
        factor = 1.0
        # Otherwise products of scores and factors could overflow or underflow.
        if 1e-50 < length * problem.model.radius < 1e50:
            ray = oracle.along(theta, slopes_plan(), slope_clip(problem),
                               slopes_multiplier(problem))
            factor = best_factor(ray, problem.penalty, theta)
        self.value = 1.0 / factor
        return factor * theta


def temperature_pays(problem: Problem, solver: Any) -> bool:
    """Return whether slopes are released by default, from public facts.

    Rows without whitening may be far shorter than their bound: few gradients are clipped, and
    noise hides the slopes. Scores of more classes than columns would outweigh the rows. A clip
    norm beyond the gradients of usual rows lengthens nothing.
    """
    if problem.geometry is None:
        return False
    columns, outputs = problem.model.n_features, problem.model.n_outputs or 1
    narrow = solver.clip_norm < slope_bound(problem) * problem.geometry.usual_norm
    return narrow and outputs <= columns


def takes_temperature(problem: Problem, solver: Any) -> bool:
    """Return whether scores can be rescaled, and clipping matters, from public facts."""
    return (solver.takes_temperature and problem.delta > 0 and problem.loss.is_likelihood
            and problem.penalty.is_smooth
            and solver.clip_norm < full_clip_norm(problem))


def slope_clip(problem: Problem) -> float:
    """Return the clip norm of a slope that is divided by the bound on scores."""
    return SLOPE_CLIP_SHARE * problem.usual_weight


def slopes_plan() -> NoisySums:
    """Return the plan of the queries for slopes."""
    return NoisySums(FullBatch(), len(_LOGS))


def slopes_multiplier(problem: Problem) -> float:
    """Return the noise multiplier at which all slopes together cost their budget share."""
    mu = mu_of_share(problem, SLOPES_SHARE)
    return float(2.0 * np.sqrt(len(_LOGS)) / mu)


def best_factor(oracle: Any, penalty: Penalty, theta: FloatArray) -> float:
    """Return the factor at which the objective along `theta` is least, from noisy slopes.

    It is the zero of a line fitted to the slopes over the logarithms of the factors. The zero is
    shrunk to the usual factor, more so the larger the noise is relative to the rise of the line.
    `oracle` is that of multiples of `theta`.
    """
    slopes = np.array([
        oracle.gradient(np.array([factor]))[0]
        + float(np.vdot(penalty.slope(factor * theta), theta)) for factor in np.exp(_LOGS)])
    error = oracle.noise_std / np.sqrt(len(_LOGS))
    # Squares of slopes of a huge penalty overflow: divide by a power of two, which is exact.
    size = 2.0 ** np.frexp(np.abs(slopes).max())[1]
    slopes, error = slopes / size, error / size
    offsets = _LOGS - _USUAL
    # Without noise the slopes grow with the factor.
    rise = max(0.0, float(offsets @ slopes) / float(offsets @ offsets))
    away = -float(slopes.mean()) * rise * _SPREAD**2 / ((rise * _SPREAD)**2 + error**2)
    return float(np.exp(np.clip(_USUAL + away, _LOGS[0], _LOGS[-1])))
