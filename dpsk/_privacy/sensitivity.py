r"""Sensitivity of noiseless computations to one row.

A full-batch gradient step on a mean loss whose per-sample gradients have norm at most
:math:`L` moves by at most :math:`2 \eta L / n` when one row is replaced. If each step is
also :math:`c`-Lipschitz in its starting point, :math:`T` steps move by at most
:math:`(2 \eta L / n) \sum_{k<T} c^k`. All results hold in exact arithmetic.

L is `lipschitz`, the norm bound on one row's gradient of the *data term*, and :math:`\beta`
(`smoothness`) the largest curvature of that convex term; :math:`\alpha` (`strong_convexity`)
that of the explicit quadratic penalty, over every coordinate that moves; :math:`\eta` (`step`)
the constant step size; :math:`n` the public number of rows. A ValueError names an argument
that is out of range.

References
----------
Zhang, Zheng, Mou and Wang, "Efficient private ERM for smooth objectives", IJCAI 2017
(Algorithm 1; constants sharpened here). Bok, Su and Altschuler, "Shifted interpolation for
differential privacy", ICML 2024 (the last iterate of a contraction).
"""

from __future__ import annotations

import math

__all__ = ["REPLACE_ONE", "contraction", "effective_steps", "gradient_descent_sensitivity",
           "minimizer_sensitivity"]

#: Largest move of a term of a sum when one row is replaced, over the bound on its norm.
REPLACE_ONE = 2.0


def contraction(step: float, strong_convexity: float, smoothness: float) -> float:
    r"""Lipschitz constant, :math:`\max(|1 - \eta\alpha|, |1 - \eta(\alpha + \beta)|)`."""
    _require_positive(step=step)
    _require_nonnegative(strong_convexity=strong_convexity, smoothness=smoothness)
    return max(abs(1 - step * strong_convexity),
               abs(1 - step * (strong_convexity + smoothness)))


def gradient_descent_sensitivity(*, lipschitz: float, n_samples: int, step: float, n_steps: int,
                                 smoothness: float, strong_convexity: float) -> float:
    r"""Largest distance between gradient descent runs on neighboring data.

    Each run makes :math:`T` (`n_steps`) steps. The objective is a mean of `n_samples` convex
    losses plus :math:`(\alpha/2) \|\theta\|^2`; projections and proximal steps of convex
    functions are allowed, since they are nonexpansive.

    Returns
    -------
    float
        :math:`2 L T \eta / n` for :math:`\alpha = 0`;
        :math:`(2L/(n\alpha)) (1 - (1 - \eta\alpha)^T)` for
        :math:`\eta \le 2/(\beta + 2\alpha)`; for larger steps the series with the
        constant of `contraction`.

    Raises
    ------
    ValueError
        If an argument is out of range, if ``strong_convexity = 0`` and
        ``step > 2 / smoothness`` (steps are then not nonexpansive), or if the bound is
        not finite.

    Examples
    --------
    >>> gradient_descent_sensitivity(lipschitz=1.0, n_samples=500, step=1.0, n_steps=10,
    ...                              smoothness=1.0, strong_convexity=0.0)
    0.04
    """
    _require_positive(lipschitz=lipschitz, n_samples=n_samples, step=step)
    _require_nonnegative(n_steps=n_steps, smoothness=smoothness,
                         strong_convexity=strong_convexity)
    if strong_convexity == 0 and step * smoothness > 2:
        raise ValueError(
            f"step={step!r}: without strong convexity the sensitivity is bounded only for "
            f"steps up to 2 / smoothness = {2 / smoothness!r}; lower the step, or add a "
            f"quadratic penalty.")
    if step * (smoothness + 2 * strong_convexity) <= 2:
        gap = step * strong_convexity
    else:
        gap = 1 - contraction(step, strong_convexity, smoothness)
    return REPLACE_ONE * step * lipschitz / n_samples * _series(gap, n_steps)


def minimizer_sensitivity(*, lipschitz: float, n_samples: int, strong_convexity: float,
                          tolerance: float = 0.0) -> float:
    r"""Distance between approximate minimizers, :math:`2L/(n\alpha) + 2\tau/\alpha`.

    On every data set, the gradient of the objective at the returned point must have norm at most
    `tolerance` (:math:`\tau`).
    """
    _require_positive(lipschitz=lipschitz, n_samples=n_samples,
                      strong_convexity=strong_convexity)
    _require_nonnegative(tolerance=tolerance)
    return REPLACE_ONE * (lipschitz / n_samples + tolerance) / strong_convexity


def effective_steps(contraction: float, steps: int) -> float:
    r"""Number of noisy steps that cost as much as releasing only the last iterate.

    Every noiseless step has the Lipschitz constant :math:`c` (`contraction`) in [0, 1].

    Returns
    -------
    float
        :math:`(1 - c^T)(1 + c) / ((1 + c^T)(1 - c))`, which tends to :math:`T` as
        :math:`c \to 1`. With a shift :math:`s` and noise :math:`\tau` per step, the last
        iterate is :math:`\mu`-GDP with :math:`\mu = (s/\tau)` times the square root of this.

    Examples
    --------
    >>> round(effective_steps(0.99, 1000), 3)
    198.983
    """
    _require_positive(steps=steps)
    if not 0 <= contraction <= 1:
        raise ValueError(f"contraction={contraction!r}: must be in [0, 1]; the last iterate "
                         f"has no discount when a step can expand, so count every step.")
    if contraction == 0:
        return 1.0
    if contraction == 1:
        return float(steps)
    # (1 - c^T) / (1 + c^T) without cancellation
    return (math.tanh(-steps * math.log(contraction) / 2)
            * (1 + contraction) / (1 - contraction))


def _series(gap: float, steps: int) -> float:
    # sum of (1 - gap)^k over k < steps; gap < 0 is an expansion
    if steps == 0:
        return 0.0
    if gap == 0:
        return float(steps)
    if gap == 1:
        return 1.0
    try:
        total = -math.expm1(steps * math.log1p(-gap)) / gap
    except OverflowError:
        total = math.inf
    if math.isinf(total):
        raise ValueError(f"steps={steps!r}: the sensitivity overflows, as one step can expand "
                         f"distances by {1 - gap!r}; lower the step size.")
    return total


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name}={value!r}: must be a finite number > 0.")


def _require_nonnegative(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name}={value!r}: must be a finite number >= 0.")
