"""Noiseless gradient descent, released once with noise."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpsk._oracle import OneRelease, OutputOracle
from dpsk._privacy import gdp
from dpsk._solvers.base import Result, Solver, full_clip_norm

__all__ = ["OutputPerturbation"]


@dataclass(frozen=True)
class OutputPerturbation(Solver):
    r"""Proximal gradient descent without noise inside an oracle; the last iterate is noised.

    One step is nonexpansive, and a contraction by ``c = 1 - step alpha`` for
    ``step <= 2 / (smoothness + 2 alpha)``, so replacing one row moves the last iterate by at
    most ``(2 C step / n)(1 - c^T) / (1 - c)``, which is ``2 C T step / n`` for alpha = 0.

    Privacy: one release. ``delta > 0``: ``Gaussian(mu)``, noise ``N(0, (Delta / mu)^2 I)``.
    ``delta = 0``: ``Pure(epsilon)``, density proportional to ``exp(-epsilon ||z|| / Delta)``.
    The penalty includes the intercept: with a free one alpha is 0.

    Parameters
    ----------
    max_iter : int or None
        T. None: with alpha > 0 until the distance to the optimum is a thousandth of
        ``C / alpha``, at most 5000; else the T that balances bias against noise, in [5, 2000].
    learning_rate : float or None
        None: ``1 / smoothness``, or ``2 / (smoothness + 2 alpha)`` with alpha > 0.
    clip_norm : float or None
        C. None: the bound that loss and row norms imply.

    References
    ----------
    Zhang, Zheng, Mou, Wang (2017), Algorithm 1 and Theorems 1 to 4, with tight sensitivities
    and the exact Gaussian calibration in place of the printed ones.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None

    requires: ClassVar[tuple] = ("loss.lipschitz", "loss.smoothness")
    penalizes_intercept: ClassVar[bool] = True
    working_dtype: ClassVar[str | None] = "float64"
    ignores: ClassVar[tuple] = ("batch_size",)

    def configured(self, problem):
        full = full_clip_norm(problem)
        clip_norm = full if self.clip_norm is None else min(self.clip_norm, full)
        alpha, smoothness = problem.penalty.strong_convexity, problem.smoothness
        step = self.learning_rate
        if step is None:
            step = 2.0 / (smoothness + 2.0 * alpha) if alpha else 1.0 / smoothness
        elif alpha == 0 and step > 2.0 / smoothness:
            raise ValueError(f"learning_rate={step!r}: must be at most {2.0 / smoothness:.6g}, "
                             "twice the inverse smoothness, or the sensitivity is unbounded; "
                             "leave learning_rate=None, or use solver='gd'.")
        max_iter = self.max_iter
        if max_iter is None and alpha:
            max_iter = int(np.clip(np.ceil(np.log(1e3) / (step * alpha)), 1, 5000))
        elif max_iter is None:
            max_iter = _balanced_steps(problem, clip_norm)
        return replace(self, clip_norm=clip_norm, learning_rate=step, max_iter=max_iter)

    def plan(self, problem):
        return OneRelease(pure=problem.delta == 0)

    def oracle(self, problem, sums, noise_multiplier, stream, ledger):
        return OutputOracle(sums, self.plan(problem), noise_multiplier, stream, ledger)

    def minimize(self, oracle, penalty, theta):
        theta = oracle.descend(theta, penalty, self.learning_rate, self.max_iter)
        return Result(theta, self.max_iter)


def _balanced_steps(problem, clip_norm):
    """Return the T at which ``beta B^2 / (2 T)`` balances the noise, which grows as T^2.

    The norm B of the optimum is taken to be 5 over the radius of the rows.
    """
    radius, dimension = problem.model.radius, problem.model.dimension
    if problem.delta > 0:
        spread = np.sqrt(dimension) / gdp.mu(problem.epsilon, problem.delta)
    else:
        spread = dimension / problem.epsilon
    scale = problem.smoothness * problem.n_samples * (5.0 / radius) / (2.8 * clip_norm * spread)
    return int(np.clip(round(scale ** (2.0 / 3.0)), 5, 2000))
