"""Conversion between events of this package and of Google's dp-accounting."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpsk._privacy.best_of import BestOf
from dpsk._privacy.events import Composed, Gaussian, NotPrivate, Pure, Repeated, SampledGaussian
from dpsk.accounting._curves import _event

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dpsk._privacy.certificate import Certificate
    from dpsk._privacy.elementary import Event

__all__ = ["from_dp_accounting", "to_dp_accounting"]

#: Replacing a row moves a sum by up to twice the bound on a term. dp-accounting accounts for this
#: factor in the neighboring relation, this package in the event.
_REPLACED = 2.0
#: Largest shape of the truncated negative binomial number of runs; beyond it the distribution is
#: nearly a truncated Poisson distribution.
_MOST_SHAPE = 100.0


def to_dp_accounting(events: Event | Certificate | Iterable[Event | Certificate]) -> Any:
    """Convert events to an event of dp-accounting, under ``REPLACE_ONE``.

    Use its ``PLDAccountant``. Its Renyi accountant treats a Gaussian event as if one row were
    added or removed, and so at half the mu.

    Parameters
    ----------
    events : Event, Certificate, or iterable of these
        Mechanisms run on the same rows.

    Returns
    -------
    event : dp_accounting.DpEvent
        Event with the same privacy cost, or a higher one.

    Raises
    ------
    ImportError
        If the package dp-accounting is not installed.
    ValueError
        If dp-accounting has no counterpart of an event: `Dominated`, `Disclosure`.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, Repeated, to_dp_accounting
    >>> to_dp_accounting(Repeated(Gaussian(mu=0.5), 10))  # doctest: +SKIP
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=4.0), count=10)
    """
    return _to(_event(events), _dp_event())


def from_dp_accounting(event: Any) -> Event:
    """Return the event of dpsk for one of dp-accounting, under ``REPLACE_ONE``.

    Parameters
    ----------
    event : dp_accounting.DpEvent
        Event of one mechanism or of a composition.

    Returns
    -------
    event : Event
        Event with the same privacy cost, or a higher one.

    Raises
    ------
    ImportError
        If the package dp-accounting is not installed.
    ValueError
        If the privacy cost of an event under that relation is not known here.
    """
    return _from(event, _dp_event())


def _dp_event():
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise ImportError("dp-accounting is not installed; install dpsk[accounting].") from None
    return dp_event


def _to(event, dp):
    if isinstance(event, Composed):
        return dp.ComposedDpEvent([_to(each, dp) for each in event.events])
    if isinstance(event, Repeated):
        return dp.SelfComposedDpEvent(_to(event.event, dp), event.count)
    if isinstance(event, BestOf):
        return dp.RepeatAndSelectDpEvent(_to(event.event, dp), event.mean_runs, event.shape)
    if isinstance(event, NotPrivate):
        return dp.NonPrivateDpEvent()
    if isinstance(event, Gaussian):
        return dp.GaussianDpEvent(_REPLACED / event.mu) if event.mu > 0 else dp.NoOpDpEvent()
    if isinstance(event, SampledGaussian):
        return dp.PoissonSampledDpEvent(event.sampling_rate,
                                        dp.GaussianDpEvent(event.noise_multiplier))
    if isinstance(event, Pure):
        # Randomized response with two buckets dominates every pure epsilon-DP mechanism.
        return dp.RandomizedResponseDpEvent(2.0 / (1.0 + math.exp(min(event.epsilon, 700.0))), 2)
    raise ValueError(f"{event!r}: dp-accounting has no such event; compare what is left "
                     "without it.")


def _from(event, dp):
    if isinstance(event, dp.ComposedDpEvent):
        return Composed(tuple(_from(each, dp) for each in event.events))
    if isinstance(event, dp.SelfComposedDpEvent):
        return Repeated(_from(event.event, dp), int(event.count))
    if isinstance(event, dp.RepeatAndSelectDpEvent) and 0 < event.shape <= _MOST_SHAPE:
        return BestOf(_from(event.event, dp), float(event.mean), float(event.shape))
    if isinstance(event, dp.NonPrivateDpEvent):
        return NotPrivate()
    if isinstance(event, dp.NoOpDpEvent):
        return Composed(())
    if isinstance(event, dp.GaussianDpEvent):
        return _noisy(event.noise_multiplier, lambda noise: Gaussian(_REPLACED / noise))
    if (isinstance(event, dp.PoissonSampledDpEvent)
            and isinstance(event.event, dp.GaussianDpEvent)):
        return _noisy(event.event.noise_multiplier, lambda noise: SampledGaussian(
            float(event.sampling_probability), noise))
    if isinstance(event, dp.RandomizedResponseDpEvent) and event.num_buckets >= 1:
        buckets = event.num_buckets
        return _noisy(event.noise_parameter, lambda chance: Pure(
            math.log1p((1.0 - chance) * buckets / chance)))
    raise ValueError(f"{type(event).__name__}: its price where one row is replaced is not known "
                     "here; give Gaussian, Poisson sampled Gaussian, randomized response, or "
                     "compositions of these.")


def _noisy(noise, make):
    """Return `make(noise)`, or `NotPrivate` if there is no noise."""
    return make(float(noise)) if noise > 0 else NotPrivate()
