r"""Noise that follows from a price: how far a unit moves an array, and the scale that hides it.

A mechanism says how far replacing one unit, a row or a group, moves each array of an answer, in
whole. What the answer costs is an event. The scale of the noise is derived from the two, here and
nowhere else, so that no factor can be right in one of them and wrong in the other:

=====================  ============================  ================================
event                  law                           scale
=====================  ============================  ================================
``Gaussian(mu)``       normal                        ``moved / mu``
``SampledGaussian``    normal                        ``moved z / 2``
``Pure(e)``            Laplace (l1), gamma norm      ``moved / e``
``Pure(e)``            Gumbel, of which one leaves   ``moved / e``
``Gaussian(mu)``       Gumbel, of which one leaves   ``moved / w``, ``h(w) = mu``
=====================  ============================  ================================

with z the noise multiplier of clipped sums, which move by twice the clip norm, and h the
`bounded_range_mu` of a choice whose loss lies in an interval of length w. Arrays that leave
together share one event: each is told its part of the move, in the unit of its own noise.

Sums that are exact lie on a grid of public unit and so does their noise: rounded noise is the
rounding of the noisy sum. Other sums are off by rounding themselves, and are brought to a unit
that is 2^-30 of the noise before it is added: the move grows by what both can add, and no finer
bits are left that the noise would not hide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy.closed_forms import bounded_range_width
from dpsk._privacy.events import Gaussian, Pure, SampledGaussian
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.grids import float_unit
from dpsk._privacy.sensitivity import REPLACE_ONE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._privacy.elementary import Elementary
    from dpsk._privacy.noise.streams import Stream
    from dpsk._typing import FloatArray

__all__ = ["Noise", "Sensitivity", "derived_scale", "rounding_margin"]

#: Laws of noise, by what a price has to be for them.
_NORMAL, _EXPONENTIAL, _CHOICE = "normal", "exponential", "choice"
_KINDS = {"standard_normal": _NORMAL, "symmetric_normal": _NORMAL, "laplace": _EXPONENTIAL,
          "gamma_norm": _EXPONENTIAL, "gumbel": _CHOICE}


def derived_scale(event: Elementary, moved: float, law: Any = "standard_normal") -> float:
    """Return the scale of noise of a law at which an array that moves so far costs an event.

    0 for an event that protects nothing. A RuntimeError where the price rests on another law.
    """
    if not event.protects:
        return 0.0
    kind = _NORMAL if callable(law) else _KINDS[law]
    if isinstance(event, Gaussian) and event.mu > 0:
        if kind == _NORMAL:
            return moved / event.mu
        if kind == _CHOICE:
            return moved / bounded_range_width(event.mu)
    elif isinstance(event, SampledGaussian) and kind == _NORMAL:
        return moved * event.noise_multiplier / REPLACE_ONE
    elif isinstance(event, Pure) and event.epsilon > 0 and kind != _NORMAL:
        return moved / event.epsilon
    raise RuntimeError(f"No noise of the law {law} makes an answer cost {event}.")


def rounding_margin(n_rows: float) -> float:
    """Return what the sensitivity of a sum of `n_rows` terms, added in any order, grows by.

    Each of two neighboring sums may be off by ``n u / (1 - n u)`` times the sum of the terms'
    norms (Higham 2002, Theorem 3.1 with the product by a term's factor), so to all orders.
    """
    rounding = n_rows * 2.0**-53
    if not rounding < 0.5:
        raise ValueError(f"n_rows={n_rows:.6g}: must be below 2**52, as sums of so many terms may "
                         "be rounded to anything.")
    return 1.0 + n_rows**2 * 2.0**-53 / (1.0 - rounding)


@dataclass(frozen=True)
class Sensitivity:
    """How far replacing one unit moves one array of an answer, and what is known of the array.

    Parameters
    ----------
    moved : float
        The distance between the arrays of two neighboring tables, at most: in the l1 norm for
        "laplace", in the l2 norm for all others but "gumbel". There it is how much more the score
        of one choice may rise than that of another, which is twice what all of them may move
        either way.
    law : str or callable, (stream, shape) -> ndarray of float64
        Draws noise of scale 1: a name of `samplers`; a callable draws standard normals.
    unit : float or None
        Power of two of which the array is an exact multiple; None where it is not exact.
    terms : int
        Number of rows in a sum that is not exact; 0 where rounding is in `moved`.
    size : int
        Number of coordinates of the array; asked for where it is not exact.
    rounded : bool
        False where only a choice leaves, which shows no low bits and whose law is that of
        continuous noise.
    """

    moved: float
    law: str | Callable[[Stream, Any], FloatArray] = "standard_normal"
    unit: float | None = None
    terms: float = 0
    size: int = 0
    rounded: bool = True

    def noise(self, event: Elementary) -> Noise:
        """Return the noise with which the array costs an event."""
        if not derived_scale(event, self.moved, self.law) > 0:
            raise RuntimeError("An answer that is priced has noise; none is for NotPrivate.")
        unit, moved = self.unit, self.moved
        if unit is None:
            moved = self.moved * rounding_margin(self.terms)
            unit = float_unit(derived_scale(event, moved, self.law))
            if self.rounded:
                # Rounding moves each of two neighboring arrays by half a unit a coordinate.
                moved += unit * (self.size if self.law == "laplace" else math.sqrt(self.size))
        return Noise(derived_scale(event, moved, self.law), unit, self)


@dataclass(frozen=True)
class Noise:
    """The noise of one array of an answer; made by `Sensitivity.noise`.

    Parameters
    ----------
    scale : float
        Of the noise, in the unit of the array: a standard deviation where it is normal.
    unit : float
        Power of two that the answer is a multiple of.
    sensitivity : Sensitivity
        What it hides.
    """

    scale: float
    unit: float
    sensitivity: Sensitivity

    def draw(self, stream: Stream, shape: Any) -> FloatArray:
        """Return fresh noise in units, in whole ones where all of the answer leaves."""
        law = self.sensitivity.law
        noise = (law if callable(law) else getattr(samplers, law))(stream, shape)
        noise *= self.scale / self.unit
        return np.rint(noise, out=noise) if self.sensitivity.rounded else noise

    def added(self, total: FloatArray, noise: FloatArray, divisor: float) -> FloatArray:
        """Return the noisy total over the divisor, in place of `total`.

        Parameters
        ----------
        total : ndarray of float64
        noise : ndarray of float64
            In units.
        divisor : float
        """
        known = self.sensitivity
        if known.unit is None and total.size != known.size:
            raise ValueError("size: the array is declared to have another number of coordinates.")
        total *= 1.0 / self.unit
        if known.rounded:
            np.rint(total, out=total)
        total += noise
        # The unit is a power of two: this rounds once.
        total /= divisor / self.unit
        return total
