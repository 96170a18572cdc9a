r"""The noise scale, derived from a privacy cost and a sensitivity.

A mechanism states its sensitivity: how far replacing one unit, a row or a group of rows, moves
each array of an answer. The privacy cost of the answer is an event. The scale of the noise is
derived from these two here and nowhere else, so the two cannot disagree:

=====================  ============================  ================================
event                  law                           scale
=====================  ============================  ================================
``Gaussian(mu)``       normal                        ``moved / mu``
``SampledGaussian``    normal                        ``moved z / 2``
``Pure(e)``            Laplace (l1), gamma norm      ``moved / e``
``Pure(e)``            Gumbel, one index released    ``moved / e``
``Gaussian(mu)``       Gumbel, one index released    ``moved / w``, ``h(w) = mu``
=====================  ============================  ================================

Here z is the noise multiplier of clipped sums, which move by twice the clip norm, and h is the
`bounded_range_mu` of a choice whose privacy loss lies in an interval of length w. Arrays that are
released together share one event: each has its part of the sensitivity, in units of its noise.

Exact sums lie on a grid with a public spacing, and so does their noise: rounding the noise rounds
the noisy sum. Other sums carry floating-point errors. They are rounded to a spacing of 2^-30 of
the noise before it is added, and the sensitivity grows by both errors. So no finer bits remain
that the noise would not hide.
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

#: Noise distributions by the kind of event that they are for.
_NORMAL, _EXPONENTIAL, _CHOICE = "normal", "exponential", "choice"
_KINDS = {"standard_normal": _NORMAL, "symmetric_normal": _NORMAL, "laplace": _EXPONENTIAL,
          "gamma_norm": _EXPONENTIAL, "gumbel": _CHOICE}


def derived_scale(event: Elementary, moved: float, law: Any = "standard_normal") -> float:
    """Return the noise scale at which an array of sensitivity `moved` costs an event.

    It is 0 for an event that protects nothing. An event of another noise law is a RuntimeError.
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
    """Return by how much rounding increases the sensitivity of a sum of `n_rows` terms.

    For any order of summation, each of two neighboring sums has an error of at most
    ``n u / (1 - n u)`` times the sum of the terms' norms (Higham 2002, Theorem 3.1, including the
    product by a term's factor).
    """
    rounding = n_rows * 2.0**-53
    if not rounding < 0.5:
        raise ValueError(f"n_rows={n_rows:.6g}: must be below 2**52, as sums of so many terms may "
                         "be rounded to anything.")
    return 1.0 + n_rows**2 * 2.0**-53 / (1.0 - rounding)


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of one array of an answer to replacing one unit, and facts about the array.

    Parameters
    ----------
    moved : float
        Upper bound on the distance between the arrays of two neighboring tables: in the l1 norm
        for "laplace", in the l2 norm for other laws. For "gumbel" it bounds how much more one
        score can increase than another one: twice the sensitivity of a single score.
    law : str or callable, (stream, shape) -> ndarray of float64
        Draws noise of scale 1: the name of a sampler, or a callable that draws standard normals.
    unit : float or None
        Power of two of which the array is an exact multiple; None if it is not exact.
    terms : int
        Number of rows in a sum that is not exact; 0 if `moved` includes rounding.
    size : int
        Number of coordinates of the array; needed if it is not exact.
    rounded : bool
        False if only a choice is released, which reveals no low-order bits and needs continuous
        noise.
    """

    moved: float
    law: str | Callable[[Stream, Any], FloatArray] = "standard_normal"
    unit: float | None = None
    terms: float = 0
    size: int = 0
    rounded: bool = True

    def noise(self, event: Elementary) -> Noise:
        """Return the noise at which the array costs an event."""
        if not derived_scale(event, self.moved, self.law) > 0:
            raise RuntimeError("An answer that is priced has noise; none is for NotPrivate.")
        unit, moved = self.unit, self.moved
        if unit is None:
            moved = self.moved * rounding_margin(self.terms)
            unit = float_unit(derived_scale(event, moved, self.law))
            if self.rounded:
                # Rounding moves each of two neighboring arrays by up to half a unit a coordinate.
                moved += unit * (self.size if self.law == "laplace" else math.sqrt(self.size))
        return Noise(derived_scale(event, moved, self.law), unit, self)


@dataclass(frozen=True)
class Noise:
    """The noise of one array of an answer; made by `Sensitivity.noise`.

    Parameters
    ----------
    scale : float
        Scale of the noise in units of the array; for normal noise, its standard deviation.
    unit : float
        Grid spacing of the answer, a power of two.
    sensitivity : Sensitivity
        Sensitivity that the noise is for.
    """

    scale: float
    unit: float
    sensitivity: Sensitivity

    def draw(self, stream: Stream, shape: Any) -> FloatArray:
        """Return fresh noise in multiples of the unit, rounded if the whole answer is released."""
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
            In multiples of the unit.
        divisor : float
        """
        known = self.sensitivity
        if known.unit is None and total.size != known.size:
            raise ValueError("size: the array is declared to have another number of coordinates.")
        total *= 1.0 / self.unit
        if known.rounded:
            np.rint(total, out=total)
        total += noise
        # The unit is a power of two, so this rounds only once.
        total /= divisor / self.unit
        return total
