"""Calibration: the smallest noise scale that satisfies (epsilon, delta)."""

from __future__ import annotations

import dataclasses
import math
import operator
from functools import lru_cache
from typing import TYPE_CHECKING

from dpsk._privacy import accountant
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.bracket import smallest_passing
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.plans import NoisySums

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._privacy.accountant import Releases
    from dpsk._privacy.elementary import Elementary
    from dpsk._privacy.plans import Declaration

__all__ = ["calibrate", "noise_scale"]

#: Largest epsilon; double precision cannot resolve the cost of larger ones.
MOST_EPSILON = 1e13
_LEAST_SCALE, _LARGEST_SCALE = 1e-12, 1e15
_COARSE = 10.0


def calibrate(make_event: Declaration, epsilon: float, delta: float) -> float:
    """Return the smallest noise scale that satisfies (`epsilon`, `delta`).

    Parameters
    ----------
    make_event : callable, float -> Event
        Returns the event for a noise scale; a larger scale means more noise. Results are cached
        for instances of frozen dataclasses.
    epsilon : float
        Privacy loss, finite and > 0.
    delta : float
        In [0, 1); 0 needs an event with a bounded privacy loss.

    Returns
    -------
    float
        The scale, which was evaluated and is private. It exceeds the smallest such scale by a
        fraction of at most 1e-6, or 1e-9 if only closed forms are involved.

    Raises
    ------
    ValueError
        If `epsilon` or `delta` is out of range, if ``delta = 0`` with Gaussian noise, if
        `delta` is satisfied without noise, or if no amount of noise is enough.

    Examples
    --------
    >>> from dpsk._privacy.events import Gaussian, Repeated
    >>> round(calibrate(lambda z: Repeated(Gaussian(2 / z), 100), 1.0, 1e-5), 4)
    74.6126
    """
    epsilon, delta = float(epsilon), float(delta)
    if not 0 < epsilon <= MOST_EPSILON:
        raise ValueError(f"epsilon={epsilon!r}: must be a number in (0, {MOST_EPSILON:g}]; beyond "
                         "it nothing is private.")
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r}: must be in [0, 1), far below 1/n for n rows; "
                         f"1/n**2 is a common choice.")
    params: Any = getattr(type(make_event), "__dataclass_params__", None)
    if dataclasses.is_dataclass(make_event) and params.frozen and params.eq:
        return _cached(make_event, epsilon, delta)
    return _calibrate(make_event, epsilon, delta)


def _calibrate(make_event: Declaration, epsilon: float, delta: float) -> float:
    releases = accountant.merge(make_event(1.0))
    _check_solvable(make_event, releases, delta)
    chance, releases = releases.chance, releases.rest
    left = accountant.left_beside(delta, chance) if chance else delta
    if chance and not (left > 0 and releases.parts):
        raise ValueError(f"delta={delta!r}: a row is told with probability {chance!r} whatever "
                         "the noise, which leaves nothing for it; raise delta.")
    if delta == 0:
        scale, spent = _solve(lambda r: r.pure_epsilon, epsilon, make_event), None
    elif releases.is_gaussian:
        scale, spent = _solve(lambda r: r.mu, gaussian_mu(epsilon, left), make_event), None
    else:
        scale, spent = _search(make_event, epsilon, delta)
    if not math.isfinite(scale):
        raise ValueError(
            f"epsilon={epsilon!r}, delta={delta!r}: no noise is enough, as the releases whose "
            f"noise does not depend on the scale exceed them; raise epsilon or delta, or make "
            f"those releases noisier.")
    return _verified(make_event, scale, epsilon, delta, spent)


_cached: Callable[[Any, float, float], float] = lru_cache(maxsize=256)(_calibrate)


def _check_solvable(make_event: Declaration, releases: Releases, delta: float) -> None:
    if not releases.parts:
        raise ValueError("make_event: the event releases nothing, so any scale is private; "
                         "release something or skip the calibration.")
    if not releases.is_private:
        raise ValueError("make_event: a release without noise is private at no scale; give every "
                         "release some.")
    if delta == 0 and math.isinf(releases.pure_epsilon):
        raise ValueError("delta=0.0: Gaussian noise needs delta > 0; use 1/n**2 for n rows, "
                         "or a mechanism with Laplace or gamma noise.")
    sampled = [(event, count) for event, count in releases.parts
               if event.inclusion_probability < 1]
    seen = -math.expm1(sum(count * math.log1p(-event.inclusion_probability)
                           for event, count in sampled))
    fixed = _always_read(accountant.merge(make_event(0.5))) == _always_read(releases)
    if sampled and delta >= seen and fixed:
        rate = max(event.inclusion_probability for event, _ in sampled)
        raise ValueError(
            f"delta={delta!r}: at least {seen!r}, the probability that a row is ever sampled, "
            f"so no noise at all would satisfy it; use a delta far below the sampling rate "
            f"{rate!r}, such as 1/n**2 for n rows.")


def _always_read(releases: Releases) -> list[tuple[Elementary, int]]:
    return [part for part in releases.parts if part[0].inclusion_probability == 1]


def _solve(cost: Callable[[Releases], float], target: float, make_event: Declaration) -> float:
    # Closed forms: compare the cost of the merged event with its largest private value.
    def excess(scale: float) -> float:
        return accountant.log_ratio(cost(accountant.merge(make_event(scale))), target)

    guess = math.exp(min(300.0, max(-25.0, excess(1.0))))
    scale, _ = smallest_passing(excess, guess, rtol=1e-11, low=_LEAST_SCALE,
                                high=_LARGEST_SCALE)
    return scale


def _search(make_event: Declaration, epsilon: float, delta: float) -> tuple[float, float | None]:
    spent = {}

    def excess(scale: float, coarsen: float = 1.0) -> float:
        releases = accountant.merge(make_event(scale))
        bound = accountant.account_merged(releases, epsilon, coarsen).delta
        if coarsen == 1:
            spent[scale] = bound
        return accountant.log_ratio(bound, delta)

    guess = _normal_guess(make_event, gaussian_mu(epsilon, delta))
    rough, slope = smallest_passing(lambda z: excess(z, _COARSE), guess, slope=-10.0,
                                    rtol=1e-3, low=_LEAST_SCALE, high=_LARGEST_SCALE)
    if not math.isfinite(rough):
        return rough, None
    scale, _ = smallest_passing(excess, rough, slope=slope, rtol=1e-6, low=_LEAST_SCALE,
                                high=_LARGEST_SCALE)
    return scale, spent.get(scale)


def _normal_guess(make_event: Declaration, mu: float) -> float:
    # Treat the total loss as normal, with the sum of the variances of its parts.
    low, high = math.log(1e-2), math.log(1e9)
    for _ in range(12):
        middle = (low + high) / 2
        parts = accountant.merge(make_event(math.exp(middle))).parts
        if sum(count * event.loss_variance for event, count in parts) > mu * mu:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _verified(make_event: Declaration, scale: float, epsilon: float, delta: float,
              spent: float | None) -> float:
    # spent: delta already evaluated at this scale, or None
    push = 1e-11
    for _ in range(20):
        if spent is None:
            spent = accountant.delta(make_event(scale), epsilon)
        if spent <= delta:
            return scale
        scale *= 1 + push
        push, spent = 2 * push, None
    raise ArithmeticError(f"epsilon={epsilon!r}, delta={delta!r}: no scale near {scale!r} is "
                          f"private; make_event must add noise as the scale grows.")


def noise_scale(epsilon: float, delta: float, *, steps: int, batch_size: float | None = None,
                n_samples: int, sensitivity: float) -> float:
    r"""Standard deviation of Gaussian noise for repeated releases of a sum.

    Every step releases a sum over rows, each row contributing a vector of norm at most
    `sensitivity`, plus :math:`N(0, \sigma^2 I)`. The value returned is the smallest
    :math:`\sigma` for which all steps together are :math:`(\varepsilon, \delta)`-private.

    Parameters
    ----------
    epsilon : float
        Privacy loss, finite and > 0.
    delta : float
        In (0, 1); below ``batch_size / n_samples`` with sampling. ``1 / n_samples**2`` is a
        common choice.
    steps : int
        Number of noisy sums, >= 1.
    batch_size : int or float, optional
        Expected size of a batch into which every row enters independently with probability
        ``batch_size / n_samples``. By default each sum is over all rows.
    n_samples : int
        Number of rows, public, >= 2.
    sensitivity : float
        Bound on the norm of *one row's contribution*, > 0. Replacing the row can move the
        sum by twice this; the factor is included.

    Returns
    -------
    float
        Standard deviation of the noise to add to each coordinate of the *sum*. For the
        noise on the mean divide by ``n_samples``, or by ``batch_size`` with sampling.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `delta` is so large that no noise is needed.

    Notes
    -----
    With all rows in every sum, :math:`\sigma = 2 C \sqrt{T} / \mu`, where :math:`\mu`
    solves :math:`\Phi(\mu/2 - \varepsilon/\mu) - e^{\varepsilon} \Phi(-\mu/2 -
    \varepsilon/\mu) = \delta`, C is `sensitivity` and T is `steps`. With sampling, the T-fold
    composition of the pair :math:`(1-q) N(0, z^2) + q N(\pm 1, z^2)` is evaluated
    numerically from above, and :math:`\sigma = z C`.

    **Privacy.** Neighbors differ in one row, replaced arbitrarily; the number of rows is
    public. All the noisy sums may be released, and each may depend on the earlier ones. With
    sampling the membership and the realized size of the batches stay secret: divide by the
    expected size, never by the realized one.

    References
    ----------
    Balle and Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018.
    Zhu, Dong and Wang, "Optimal accounting of differential privacy via characteristic
    function", AISTATS 2022.

    Examples
    --------
    >>> from dpsk import noise_scale
    >>> round(noise_scale(1.0, 1e-5, steps=100, n_samples=1000, sensitivity=1.0), 4)
    74.6126
    >>> scale = noise_scale(1.0, 1e-5, steps=1000, batch_size=10, n_samples=1000,
    ...                     sensitivity=1.0)
    >>> round(scale, 2)
    2.36
    """
    steps = _whole(steps, "steps", 1)
    n_samples = _whole(n_samples, "n_samples", 2)
    sensitivity = float(sensitivity)
    if not 0 < sensitivity < math.inf:
        raise ValueError(f"sensitivity={sensitivity!r}: must be a finite number > 0, the "
                         f"largest norm of one row's contribution.")
    if batch_size is not None:
        batch_size = float(batch_size)
        if not 1 <= batch_size <= n_samples:
            raise ValueError(f"batch_size={batch_size!r}: must be between 1 and "
                             f"n_samples={n_samples}, or None to use every row.")
    plan = NoisySums(batch_plan(n_samples, batch_size), steps)
    return calibrate(plan, epsilon, delta) * sensitivity


def _whole(value: Any, name: str, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise ValueError(f"{name}={value!r}: must be an integer >= {least}.")
    return number
