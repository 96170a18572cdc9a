"""Elementary events: one release of one kind each, as frozen dataclasses.

The class of an event defines its simplification, its loss distribution and its closed forms.
`Elementary` is the interface that the accountant uses.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeAlias

from dpsk._privacy.closed_forms import ROUNDING, dominated_delta, gaussian_delta, pure_delta
from dpsk._privacy.pld.distributions import NormalMixture, RayleighBound, TwoPoint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dpsk._privacy.pld.distributions import LossLaw

__all__ = ["Counts", "Dominated", "Elementary", "Event", "Gaussian", "Parts", "Pure",
           "SampledGaussian", "finite", "require"]

#: Largest noise multiplier in a loss distribution; a larger one is reduced to it.
_MOST_NOISE = 1e100

#: Smallest slope in a loss distribution; a smaller one is raised to it.
_LEAST_SLOPE = 1e-12


class Event:
    """A release, or several; subclasses are frozen dataclasses of public numbers."""

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary of plain JSON types, which `event_from_dict` reads.

        Returns
        -------
        data : dict
            The kind and every field.
        """
        names = fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        values = {f.name: _plain(getattr(self, f.name)) for f in names}
        return {"kind": type(self).__name__, **values}


class Elementary(Event):
    """One release of one kind; every kind is one subclass.

    The defaults here are valid for any release with a privacy loss distribution.
    """

    if TYPE_CHECKING:
        # Subclasses define a constant or a property.
        @property
        def protects(self) -> bool: ...
        @property
        def pure_epsilon(self) -> float: ...
        @property
        def inclusion_probability(self) -> float: ...
    else:
        #: Whether the release has noise.
        protects = True
        #: Upper bound on the privacy loss.
        pure_epsilon = math.inf
        #: Probability that the release reads a given row.
        inclusion_probability = 1.0

    def simplified(self) -> Elementary | None:
        """Return the simplest event of the same loss; None if nothing is released.

        Returns
        -------
        event : Event or None
            An event with the same privacy cost.
        """
        return self

    @classmethod
    def merged(cls, counts: Counts) -> Parts:
        """Return simplified (event, count) pairs that replace `counts`.

        Parameters
        ----------
        counts : iterable of (Event, int)
            Simplified events of this kind, and how many there are of each.

        Returns
        -------
        pairs : tuple of (Event, int)
            Pairs with the same privacy cost, or a larger one.
        """
        return tuple(counts)

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        """Return an upper bound on the delta of `count` of these, and its name, or None.

        Parameters
        ----------
        count : int
            How many of these are released, >= 1.
        epsilon : float
            Finite and >= 0.

        Returns
        -------
        bound : (float, str) or None
            The bound on delta and the name of its method; None if there is no closed form.
        """
        return None

    def loss_law(self) -> LossLaw:
        """Return the privacy loss distribution of a simplified event.

        Returns
        -------
        law : object
            A `LossLaw`, which the accountant discretizes.
        """
        raise NotImplementedError(f"{type(self).__name__}.loss_law")

    @property
    def loss_variance(self) -> float:
        """float : approximate variance of the loss, only for the first guess of a search."""
        raise NotImplementedError(f"{type(self).__name__}.loss_variance")


#: Elementary events and the count of each.
Parts: TypeAlias = tuple[tuple[Elementary, int], ...]
#: Elementary events of one kind and the count of each, before they are merged.
Counts: TypeAlias = "Iterable[tuple[Any, int]]"


@dataclass(frozen=True)
class Gaussian(Elementary):
    """A mu-GDP release: no easier to distinguish than N(0, 1) from N(mu, 1).

    Let a replaced row move a sum by at most D in l2 norm. Gaussian noise of standard deviation s
    on the sum has mu = D / s, which is 2 C / s if rows are clipped to norm C.

    Parameters
    ----------
    mu : float
        >= 0; 0 if nothing is released.

    See Also
    --------
    SampledGaussian : Noise on the sum of a random sample of rows.
    Pure : A release with a bounded loss.

    References
    ----------
    Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, delta
    >>> round(delta(Gaussian(mu=1.0), 1.0), 4)
    0.1269
    """

    mu: float

    def __post_init__(self) -> None:
        require(finite(self.mu) and self.mu >= 0, "mu", self.mu, "a finite number >= 0")

    @property
    def pure_epsilon(self) -> float:
        """float : infinite, unless nothing is released."""
        return math.inf if self.mu > 0 else 0.0

    @classmethod
    def merged(cls, counts: Counts) -> Parts:
        # One event for all, as squares of mu add up.
        mu = math.hypot(*(event.mu * math.sqrt(count) for event, count in counts))
        return ((cls(min(mu, sys.float_info.max)), 1),) if mu > 0 else ()

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # The exact delta, rounded up.
        bound = gaussian_delta(self.mu * math.sqrt(count), epsilon) * ROUNDING
        return min(1.0, bound), "closed form"

    def loss_law(self) -> LossLaw:
        # N(0, 1) against N(mu, 1), in the units of `NormalMixture`. A tiny mu is raised, so that
        # squares do not overflow; that only raises the cost.
        return NormalMixture(1.0, 2 / max(self.mu, 2 / _MOST_NOISE))

    @property
    def loss_variance(self) -> float:
        """float : the variance of the loss."""
        return self.mu**2


@dataclass(frozen=True)
class SampledGaussian(Elementary):
    """The noisy sum of a Poisson sample.

    Every row enters independently with probability `sampling_rate`; the clipped sum
    gets noise of standard deviation `noise_multiplier` times the clip norm.
    The dominating pair is ``(1-q) N(0, z^2) + q N(1, z^2)`` and its mirror image.

    Parameters
    ----------
    sampling_rate : float in [0, 1]
        Probability that a row is in the sample.
    noise_multiplier : float
        > 0; standard deviation of the noise over the clip norm.

    See Also
    --------
    Gaussian : Noise on the sum of all rows.
    Repeated : Several releases of one kind.

    Examples
    --------
    >>> from dpsk.accounting import Repeated, SampledGaussian, epsilon
    >>> epsilon(Repeated(SampledGaussian(0.01, 1.0), 100), 1e-5) < 3.0
    True
    """

    sampling_rate: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        require(finite(self.sampling_rate) and 0 <= self.sampling_rate <= 1,
                 "sampling_rate", self.sampling_rate, "a number in [0, 1]")
        require(finite(self.noise_multiplier) and self.noise_multiplier > 0,
                 "noise_multiplier", self.noise_multiplier, "a finite number > 0")

    @property
    def inclusion_probability(self) -> float:
        """float : the sampling rate."""
        return self.sampling_rate

    @property
    def pure_epsilon(self) -> float:
        """float : infinite, unless nothing is ever sampled."""
        return math.inf if self.sampling_rate > 0 else 0.0

    def simplified(self) -> Elementary | None:
        if self.sampling_rate == 1:
            return Gaussian(2 / self.noise_multiplier)
        return self if self.sampling_rate > 0 else None

    def loss_law(self) -> LossLaw:
        # The dominating pair of the class docstring.
        return NormalMixture(self.sampling_rate, min(self.noise_multiplier, _MOST_NOISE))

    @property
    def loss_variance(self) -> float:
        """float : the variance of the likelihood ratio."""
        return ((2 * self.sampling_rate) ** 2
                * math.sinh(min(600.0, self.noise_multiplier**-2)))


@dataclass(frozen=True)
class Pure(Elementary):
    """A release whose privacy loss never exceeds `epsilon`.

    Covers a Laplace vector (l1 sensitivity over scale) and the density
    proportional to ``exp(-epsilon ||z|| / sensitivity)``.

    Parameters
    ----------
    epsilon : float
        >= 0; the largest privacy loss.

    See Also
    --------
    Dominated : A release whose loss has a random bound.
    BestOf : The best of a random number of runs.

    Examples
    --------
    >>> from dpsk.accounting import Pure, Repeated, epsilon
    >>> epsilon(Repeated(Pure(0.5), 4), 0.0)
    2.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        require(finite(self.epsilon) and self.epsilon >= 0,
                 "epsilon", self.epsilon, "a finite number >= 0")

    @property
    def pure_epsilon(self) -> float:
        """float : epsilon."""
        return self.epsilon

    def simplified(self) -> Elementary | None:
        return self if self.epsilon > 0 else None

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        return pure_delta(self.epsilon, count, epsilon), "optimal composition"

    def loss_law(self) -> LossLaw:
        # Randomized response is the worst case of a bounded loss.
        return TwoPoint(self.epsilon)

    @property
    def loss_variance(self) -> float:
        """float : the mean square of the loss."""
        return self.epsilon**2


@dataclass(frozen=True)
class Dominated(Elementary):
    """A release of privacy loss at most ``offset + slope Rho``, in both directions.

    `Rho` is a Rayleigh variable, the length of a standard normal vector in a plane, under the data
    set from which the output is drawn. The event bounds objective perturbation: the minimizer of
    an objective with a random linear term, which is not a Gaussian mechanism.

    Parameters
    ----------
    offset : float
        >= 0; loss without the random part.
    slope : float
        >= 0; factor of the random part.

    See Also
    --------
    Pure : The case of slope 0.

    Examples
    --------
    >>> from dpsk.accounting import Dominated, delta
    >>> 0 < delta(Dominated(0.1, 0.2), 1.0) < 1e-4
    True
    """

    offset: float
    slope: float

    def __post_init__(self) -> None:
        for name in ("offset", "slope"):
            value = getattr(self, name)
            require(finite(value) and value >= 0, name, value, "a finite number >= 0")

    @property
    def pure_epsilon(self) -> float:
        """float : the offset if the slope is 0, else infinite."""
        return math.inf if self.slope > 0 else self.offset

    def simplified(self) -> Elementary | None:
        return self if self.slope > 0 else Pure(self.offset).simplified()

    def closed_form(self, count: int, epsilon: float) -> tuple[float, str] | None:
        # The exact expectation for one release; none for several.
        if count > 1:
            return None
        return dominated_delta(self.offset, self.slope, epsilon), "closed form"

    def loss_law(self) -> LossLaw:
        # The bound is taken as the loss. A tiny slope is raised, which only raises the cost.
        return RayleighBound(self.offset, max(self.slope, _LEAST_SLOPE))

    @property
    def loss_variance(self) -> float:
        """float : at least twice the variance of the bound."""
        return self.slope**2


def _plain(value: object) -> object:
    if isinstance(value, Event):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def finite(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)


def require(ok: bool, name: str, value: object, rule: str) -> None:
    if not ok:
        raise ValueError(f"{name}={value!r}: must be {rule}.")
