"""From what is released to (epsilon, delta): the only place that multiplies by counts.

Gaussian releases are merged first and have a closed form; equal bounded releases have the
optimal composition theorem; everything else goes through the privacy-loss distribution.
Every answer is an upper bound.
"""

import math
from dataclasses import dataclass

from dpsk._privacy import dominated, gdp, pure
from dpsk._privacy.bracket import smallest_passing
from dpsk._privacy.events import Dominated, Gaussian, Pure, SampledGaussian, tally
from dpsk._privacy.pld.composition import loss_bound

__all__ = ["Account", "Releases", "account", "delta", "epsilon", "merge"]

_CLOSED_FORM_ROUNDING = 1 + 1e-11
# (tail mass of one evaluation, smallest delta it serves); tried in turn
_TAILS = ((1e-15, 1e-13), (1e-40, 1e-38), (1e-120, 1e-118), (1e-290, 0.0))


@dataclass(frozen=True)
class Account:
    """What a release costs at one epsilon.

    Attributes
    ----------
    epsilon, delta : float
        The release is (epsilon, delta)-differentially private under replace-one.
    method : {"closed form", "optimal composition", "loss distribution"}
        How `delta` was bounded.
    fft_share : float
        Part of `delta` that only covers rounding in the Fourier transform.
    grid_step : float
        Step of the loss grid; 0 where there is none.
    """

    epsilon: float
    delta: float
    method: str
    fft_share: float = 0.0
    grid_step: float = 0.0


@dataclass(frozen=True)
class Releases:
    """An event in normal form.

    Attributes
    ----------
    mu : float
        All Gaussian releases together are mu-GDP.
    sampled : tuple of (SampledGaussian, int)
        Sampling rates strictly between 0 and 1.
    bounded : tuple of (Pure, int)
        Losses strictly above 0.
    dominated : tuple of (Dominated, int)
        Slopes strictly above 0.
    """

    mu: float
    sampled: tuple
    bounded: tuple
    dominated: tuple = ()

    @property
    def pure_epsilon(self):
        """Loss that is never exceeded; infinite with Gaussian noise."""
        endless = self.mu > 0 or self.sampled or self.dominated
        return math.inf if endless else pure.basic_epsilon(self.bounded)

    @property
    def is_gaussian(self):
        """Whether nothing but full-batch Gaussian noise is released."""
        return not (self.sampled or self.bounded or self.dominated)


def merge(event):
    """Put an event in normal form.

    Parameters
    ----------
    event : Event
        Any event.

    Returns
    -------
    Releases
        With one Gaussian for all full-batch releases.
    """
    parts = {Gaussian: [], SampledGaussian: [], Pure: [], Dominated: []}
    for part, count in tally(event).items():
        simple = _SIMPLEST[type(part)](part)
        if simple is not None:
            parts[type(simple)].append((simple, count))
    mu = math.hypot(*(part.mu * math.sqrt(count) for part, count in parts[Gaussian]))
    return Releases(mu, *(tuple(parts[kind]) for kind in (SampledGaussian, Pure, Dominated)))


def _simplest_sampled(event):
    if event.sampling_rate == 1:
        return Gaussian(2 / event.noise_multiplier)
    return event if event.sampling_rate > 0 else None


def _simplest_bounded(event):
    return event if event.epsilon > 0 else None


_SIMPLEST = {
    Gaussian: lambda event: event,
    SampledGaussian: _simplest_sampled,
    Pure: _simplest_bounded,
    Dominated: lambda event: event if event.slope > 0 else _simplest_bounded(
        Pure(event.offset)),
}


def account(event, epsilon):
    """Bound delta and say how.

    Parameters
    ----------
    event : Event
        What is released.
    epsilon : float
        Privacy loss, finite and >= 0.

    Returns
    -------
    Account

    Raises
    ------
    ValueError
        If `epsilon` is negative or not finite.
    """
    return account_merged(merge(event), epsilon)


def account_merged(releases, epsilon, coarsen=1.0):
    """`account` for releases in normal form, on a grid coarser by a factor."""
    epsilon = float(epsilon)
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon={epsilon!r}: must be a finite number >= 0.")
    if releases.is_gaussian:
        bound = min(1.0, gdp.delta(releases.mu, epsilon) * _CLOSED_FORM_ROUNDING)
        return Account(epsilon, bound, "closed form")
    if _counts(releases) == releases.dominated and sum(n for _, n in releases.dominated) == 1:
        (event, _), = releases.dominated
        bound = dominated.delta(event.offset, event.slope, epsilon)
        return Account(epsilon, bound, "closed form")
    if _counts(releases) == releases.bounded and len(releases.bounded) == 1:
        (event, count), = releases.bounded
        bound = pure.optimal_delta(event.epsilon, count, epsilon)
        return Account(epsilon, bound, "optimal composition")
    if releases.pure_epsilon <= epsilon:
        return Account(epsilon, 0.0, "optimal composition")
    return _account_loss(releases, epsilon, coarsen)


def _account_loss(releases, epsilon, coarsen):
    for tail, smallest in _TAILS:
        bound = loss_bound(_counts(releases), epsilon, tail=tail, coarsen=coarsen)
        if bound.delta >= smallest:
            break
    share = bound.fft / bound.delta if bound.delta > 0 else 0.0
    return Account(epsilon, bound.delta, "loss distribution", share, bound.step)


def _counts(releases):
    gaussian = ((Gaussian(releases.mu), 1),) if releases.mu > 0 else ()
    return (*gaussian, *releases.sampled, *releases.bounded, *releases.dominated)


def delta(event, epsilon):
    """Upper bound on the delta of a release.

    Parameters
    ----------
    event : Event
        What is released.
    epsilon : float
        Privacy loss, finite and >= 0.

    Returns
    -------
    float
        In [0, 1]; 0 if nothing is released.

    Raises
    ------
    ValueError
        If `epsilon` is negative or not finite.

    Examples
    --------
    >>> from dpsk._privacy.events import Gaussian
    >>> round(delta(Gaussian(1.0), 1.0), 6)
    0.126937
    """
    return account(event, epsilon).delta


def epsilon(event, delta):
    """Upper bound on the epsilon of a release.

    Parameters
    ----------
    event : Event
        What is released.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        A point where the delta of `account` is at most `delta`, above the smallest such
        point by at most 1e-6 of it (or of 1e-9, if that is more). Infinite for ``delta = 0``
        unless every release is `Pure`.

    Raises
    ------
    ValueError
        If `delta` is outside [0, 1].

    Examples
    --------
    >>> from dpsk._privacy.events import Pure, Repeated
    >>> epsilon(Repeated(Pure(0.5), 4), 0.0)
    2.0
    """
    delta = float(delta)
    if not 0 <= delta <= 1:
        raise ValueError(f"delta={delta!r}: must be in [0, 1].")
    releases = merge(event)
    if delta == 0:
        return releases.pure_epsilon
    if delta == 1:
        return 0.0
    if releases.is_gaussian:
        # twice the margin, so that evaluating delta there stays below despite rounding
        return gdp.epsilon(releases.mu, delta / _CLOSED_FORM_ROUNDING**2)
    return _solve_epsilon(releases, delta)


def _solve_epsilon(releases, delta):
    def excess(epsilon, coarsen=1.0):
        return log_ratio(account_merged(releases, epsilon, coarsen).delta, delta)

    if excess(0.0) <= 0:
        return 0.0
    most = releases.pure_epsilon
    guess, slope = min(most, 1.0), -5.0
    if len(_counts(releases)) > 1 or releases.sampled:
        guess, slope = smallest_passing(lambda e: excess(e, 8.0), guess, slope=slope,
                                        rtol=1e-3, low=1e-9, high=1e9)
    result, _ = smallest_passing(excess, guess, slope=slope, rtol=1e-6, low=1e-9, high=1e9)
    return min(result, most)


def log_ratio(value, target):
    """``log(value / target)``, minus infinity at ``value = 0``."""
    return math.log(value) - math.log(target) if value > 0 else -math.inf
