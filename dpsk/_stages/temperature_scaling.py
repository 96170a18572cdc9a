"""When and how scores are rescaled after a fit whose clip made them too large.

The optimum of clipped logistic gradients is that of a loss which forgives rows far on the wrong
side, so its coefficients are longer. One factor, found from noisy slopes along the ray through
them, undoes most of that and leaves every decision as it was.
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

#: Logarithms of the factors at which slopes are asked for; what a clip does is to lengthen.
_LOGS = np.linspace(np.log(0.4), 0.0, 4)
#: The logarithm expected before the slopes are known, and its standard deviation.
_USUAL, _SPREAD = float(_LOGS.mean()), 0.3


class TemperatureScaling(Stage):
    """Release noisy slopes along the ray through what was fitted, and rescale it.

    Where `wanted` is None: on whitened rows, where the clip, left at its default, makes scores
    too large.
    """

    attribute = "temperature_"
    takes_groups = True
    comes_last = True

    def __init__(self, wanted):
        self._wanted = wanted

    def applies(self, problem: Problem, given: Any, solver: Any) -> bool:
        """Return whether scores are rescaled, from public facts.

        A ValueError if that is wanted where it cannot be had.
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
        """Return what the release costs."""
        return slopes_plan()(slopes_multiplier(problem))

    def enforced_bounds(self, problem: Problem) -> Sequence[Enforced]:
        return [Enforced("slope_clip", slope_clip(problem), "default",
                         "for the temperature: one row's pull on it (slope of its loss), divided "
                         "by the largest possible score; larger ones are clipped")]

    def release(self, problem: Problem, oracle: Any, theta: FloatArray) -> Any:
        """Return `theta` times the factor that suits it best."""
        length = float(np.linalg.norm(theta))
        factor = 1.0
        # Elsewhere the products of scores and factors could overflow or vanish.
        if 1e-50 < length * problem.model.radius < 1e50:
            ray = oracle.along(theta, slopes_plan(), slope_clip(problem),
                               slopes_multiplier(problem))
            factor = best_factor(ray, problem.penalty, theta)
        self.value = 1.0 / factor
        return factor * theta


def temperature_pays(problem: Problem, solver: Any) -> bool:
    """Return whether slopes are asked for by default, from public facts.

    Rows as they are may be far shorter than their bound, so that the clip cuts few gradients and
    noise hides the slopes. Scores of more classes than columns would outweigh the rows. A clip
    that leaves usual rows alone lengthens nothing.
    """
    if problem.geometry is None:
        return False
    columns, outputs = problem.model.n_features, problem.model.n_outputs or 1
    narrow = solver.clip_norm < slope_bound(problem) * problem.geometry.usual_norm
    return narrow and outputs <= columns


def takes_temperature(problem: Problem, solver: Any) -> bool:
    """Return whether there is something to undo, and a way to: from public facts."""
    return (solver.takes_temperature and problem.delta > 0 and problem.loss.is_likelihood
            and problem.penalty.is_smooth
            and solver.clip_norm < full_clip_norm(problem))


def slope_clip(problem: Problem) -> float:
    """Return the clip norm of a slope over the bound on scores."""
    return SLOPE_CLIP_SHARE * problem.usual_weight


def slopes_plan() -> NoisySums:
    """Return the declaration of the slopes."""
    return NoisySums(FullBatch(), len(_LOGS))


def slopes_multiplier(problem: Problem) -> float:
    """Return the noise multiplier with which all slopes cost their share of the budget."""
    mu = mu_of_share(problem, SLOPES_SHARE)
    return float(2.0 * np.sqrt(len(_LOGS)) / mu)


def best_factor(oracle: Any, penalty: Penalty, theta: FloatArray) -> float:
    """Return the factor at which the objective along `theta` is least, from noisy slopes.

    The zero of a line through the slopes over the factors' logarithms, drawn to the usual factor
    the more, the larger the noise is beside the line's rise. `oracle` is that of multiples of
    `theta`.
    """
    slopes = np.array([
        oracle.gradient(np.array([factor]))[0]
        + float(np.vdot(penalty.slope(factor * theta), theta)) for factor in np.exp(_LOGS)])
    error = oracle.noise_std / np.sqrt(len(_LOGS))
    # A power of two, which leaves all digits: squares of the slopes of a vast penalty overflow.
    size = 2.0 ** np.frexp(np.abs(slopes).max())[1]
    slopes, error = slopes / size, error / size
    offsets = _LOGS - _USUAL
    # Without noise the slopes grow with the factor.
    rise = max(0.0, float(offsets @ slopes) / float(offsets @ offsets))
    away = -float(slopes.mean()) * rise * _SPREAD**2 / ((rise * _SPREAD)**2 + error**2)
    return float(np.exp(np.clip(_USUAL + away, _LOGS[0], _LOGS[-1])))
