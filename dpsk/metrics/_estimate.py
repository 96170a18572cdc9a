"""A number with its standard error from privacy noise."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy.special import ndtri

from dpsk._parameters import check_real
from dpsk._privacy.certificate import Certificate
from dpsk.metrics._html import table_of_estimates

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["REACH", "Estimate", "between", "check_level", "enclosing"]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(NDArrayOperatorsMixin, numbers.Real):
    """A metric, or an array of them, with its standard error; unpacks into the two.

    It is a number: scikit-learn accepts it as a score, and comparisons, formatting and arithmetic
    use its value. A multiple of an estimate, and a sum or difference of estimates and plain
    numbers, are estimates again; other results are plain numbers. Value and error are
    post-processing of a private release, without further privacy cost.

    Attributes
    ----------
    value : float or ndarray
        The metric, computed from the noisy release; NaN where noise hides it.
    standard_error : float or ndarray
        Error from noise and binning, the larger one of both sides. It includes the sampling error
        of the evaluation rows only after `for_population`.
    bounds : (float, float)
        Range of the metric.
    privacy_ : Certificate or None
        The certificate, if the metric is all that was released.
    errors : (float, float) or None
        Standard errors below and above the value, if they differ.
    note : str or None
        Why the value is NaN or rough, with a remedy; None if it is neither.

    See Also
    --------
    BinaryEvaluation : Metrics of two classes.
    RegressionEvaluation : Metrics of numbers.

    Notes
    -----
    If two estimates have separate certificates, their noise is independent, and the squared errors
    of a sum or difference add up. Two metrics of one evaluation share their noise: their errors
    add up, which is an upper bound.

    Examples
    --------
    >>> from dpsk.metrics import Estimate
    >>> accuracy = Estimate(0.9, 0.1, (0.0, 1.0))
    >>> value, standard_error = accuracy
    >>> low, high = accuracy.interval(0.95)
    >>> round(low, 3), high
    (0.704, 1.0)
    >>> f"{accuracy:.2f}", accuracy > 0.8, 1 - accuracy < 0.2
    ('0.90', True, True)
    >>> (accuracy - 0.5) / 2
    Estimate(value=0.2, standard_error=0.05, bounds=(-0.25, 0.25))
    """

    value: float
    standard_error: float
    bounds: tuple = (-np.inf, np.inf)
    privacy_: Certificate | None = None
    errors: tuple | None = None
    note: str | None = None

    def __repr__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}"
                 for name in ("value", "standard_error", "bounds", "errors", "note")
                 if getattr(self, name) is not None]
        if self.privacy_ is not None:
            # A whole certificate would hide the number.
            shown.append(f"privacy_=<{self.privacy_.guarantee}>")
        return f"Estimate({', '.join(shown)})"

    def __iter__(self) -> Any:
        return iter((self.value, self.standard_error))

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __hash__(self) -> int:  # type: ignore[override]  # numbers leave it to their kinds
        return hash(self.value)

    def __eq__(self, other: object) -> Any:
        return self.value == _plain(other)

    def __ne__(self, other: object) -> Any:
        return self.value != _plain(other)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(float(self), ndigits)

    def __trunc__(self) -> int:
        return math.trunc(float(self))

    __int__ = __trunc__

    def __floor__(self) -> int:
        return math.floor(float(self))

    def __ceil__(self) -> int:
        return math.ceil(float(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(each, Estimate) for each in kwargs.get("out", ())):
            # Numbers are immutable: `+=` binds the name to a new number.
            del kwargs["out"]
        if (method, kwargs) == ("__call__", {}):
            found = self._linear(ufunc, inputs)
            if found is not None:
                return found
        found = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        # Scalars are returned as Python numbers, as for a float.
        return found.item() if isinstance(found, np.generic) else found

    def _linear(self, ufunc, inputs):
        """Return the Estimate if the ufunc is linear in its estimates, otherwise None."""
        if not all(isinstance(each, numbers.Real) for each in inputs):
            return None
        if ufunc in _SIGNS:
            one, other = (*inputs, 0.0)[:2]
            return _sum(one, other, ufunc(*map(_plain, inputs)), _SIGNS[ufunc])
        factors = [each for each in inputs if not isinstance(each, Estimate)]
        if len(factors) != 1 or not (ufunc is np.multiply
                                     or (ufunc is np.true_divide and inputs[0] is self)):
            return None
        factor = float(factors[0])
        if ufunc is np.true_divide:
            if not factor:
                return None
            factor = 1.0 / factor
        value = ufunc(*map(_plain, inputs))
        errors = self.errors and tuple(_number(abs(factor) * each) for each in
                                       self.errors[::1 if factor > 0.0 else -1])
        return replace(self, value=_number(value), bounds=_scaled(self.bounds, factor),
                       errors=errors, standard_error=_number(abs(factor) * self.standard_error))

    def _repr_html_(self) -> str:
        return table_of_estimates("Estimate", [("value", self)])

    def item(self) -> float:
        """Return the value as a float, as scikit-learn unwraps scores.

        Returns
        -------
        value : float
            The value without its error.

        Raises
        ------
        ValueError
            If there are several values.
        """
        if np.size(self.value) != 1:
            raise ValueError(f"value: has shape {np.shape(self.value)}, and one number is asked "
                             "for; take one of its entries.")
        return float(np.asarray(self.value).item())

    def interval(self, level: float = 0.95) -> tuple[FloatArray | float, FloatArray | float]:
        """Return the ends of an interval around the exact metric.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Coverage, for normal errors.

        Returns
        -------
        low, high : float or ndarray
            Ends clipped to `bounds`; equal to `bounds` where the value is NaN.

        Raises
        ------
        ValueError
            If `level` is not in (0, 1).
        """
        level = check_level(level)
        # Levels close to 0 or 1 must have finite ends.
        reach = np.clip(ndtri(0.5 + level / 2.0), 1e-300, 1e300)
        low, high = (np.where(np.isnan(self.value), end, np.clip(
            _decimal(self.value, side * reach * error), *self.bounds))
            for side, end, error in zip((-1.0, 1.0), self.bounds, _sides(self), strict=True))
        return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)


#: Half width of a 95 % interval, in standard errors.
REACH = float(ndtri(0.975))
#: Linear ufuncs, and the signs of their two inputs.
_SIGNS = {np.add: (1, 1), np.subtract: (1, -1), np.positive: (1, 1), np.negative: (-1, 1)}


def between(value, low, high, bounds, note=None):
    """Return the Estimate whose 95 % interval has these ends, clipped to bounds.

    Where the value is NaN, its errors are infinite.
    """
    low, high = (np.clip(end, *bounds) for end in (low, high))
    value = np.clip(value, low, high)
    below, above = (_number(np.where(np.isnan(value), np.inf, side / REACH))
                    for side in (value - low, high - value))
    return Estimate(_number(value), _number(np.maximum(below, above)),
                    tuple(map(_number, bounds)), errors=(below, above), note=note)


def enclosing(found, *others, level=0.95):
    """Return `found` with an interval that contains the intervals of others.

    Its 95 % interval contains those of others at `level`. It extends to a bound if the 95 %
    interval of another estimate does.
    """
    low, high = zip(found.interval(), *(_ends(each, level) for each in others), strict=True)
    return between(found.value, np.min(low, axis=0), np.max(high, axis=0), found.bounds,
                   found.note)


def _ends(estimate, level):
    """Return the ends of the interval at `level`.

    They are the bounds where the 95 % interval reaches them.
    """
    return tuple(np.where(np.equal(wide, bound), wide, end) for wide, end, bound in zip(
        estimate.interval(), estimate.interval(level), estimate.bounds, strict=True))


def _decimal(value, off):
    """Return a sum rounded to 14 digits of the larger term, to remove rounding errors."""
    with np.errstate(all="ignore"):
        total = np.add(value, off)
        unit = 10.0 ** (14.0 - np.ceil(np.log10(np.maximum(np.abs(value), np.abs(off)))))
        near = np.rint(total * unit) / unit
    return np.where(np.isfinite(near), near, total)


def check_level(level):
    """Return the level of an interval as a float, or raise a ValueError."""
    return check_real("level", level, low=0, high=1, open_low=True, open_high=True,
                      remedy="a number in (0, 1)")


def _sides(estimate, sign=1):
    """Return the errors below and above an estimate, swapped for sign -1."""
    errors = estimate.errors or (estimate.standard_error,) * 2
    return errors[::sign]


def _plain(value):
    """Return the value of an estimate, and anything else unchanged."""
    return value.value if isinstance(value, Estimate) else value


def _number(value):
    """Return a NumPy scalar as a float, and an array unchanged."""
    return float(value) if np.ndim(value) == 0 else value


def _scaled(ends, factor):
    """Return the ends of a range times a number, the lower end first, without -0."""
    if not factor:
        return 0.0, 0.0
    low, high = (_number(factor * np.asarray(end) + 0.0) for end in ends)
    return (low, high) if factor > 0.0 else (high, low)


def _sum(one, other, value, signs):
    """Return the Estimate of a signed sum of two numbers or Estimates."""
    known = [each for each in (one, other) if isinstance(each, Estimate)]
    sided = [_sides(each, sign) for each, sign in zip((one, other), signs, strict=True)
             if isinstance(each, Estimate)]
    certificates = [each.privacy_ for each in known]
    apart = len(known) == 2 and None not in certificates and certificates[0] is not (
        certificates[1])
    errors = tuple(_number(np.hypot(*each) if apart else sum(each))
                   for each in zip(*sided, strict=True))
    bounds = [each.bounds if isinstance(each, Estimate) else 2 * (float(each),)
              for each in (one, other)]
    ends = [_scaled(both, sign) for both, sign in zip(bounds, signs, strict=True)]
    return Estimate(_number(value), _number(np.maximum(*errors)),
                    tuple(map(sum, zip(*ends, strict=True))),
                    certificates[0] if certificates[0] is certificates[-1] else None,
                    errors if any(each.errors for each in known) else None,
                    next((each.note for each in known if each.note), None))
