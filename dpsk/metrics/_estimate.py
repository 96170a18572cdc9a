"""A number with the error that its noise leaves."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy.special import ndtri

from dpsk._parameters import check_real
from dpsk._privacy.certificate import Certificate

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["Estimate", "check_level"]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(NDArrayOperatorsMixin, numbers.Real):
    """A metric, or an array of them, with its standard error; unpacks into the two.

    It is a number: scikit-learn takes it as a score, and it is compared, formatted and computed
    with as its value. Only a multiple by a plain number is an `Estimate` again. Value and error
    are computed from what was released, and cost nothing.

    Attributes
    ----------
    value : float or ndarray
        The metric, as the noisy release has it; NaN where noise hides it.
    standard_error : float or ndarray
        What noise and bins leave open. The rows that evaluate are themselves a sample, whose error
        is in it only after `for_population`.
    bounds : (float, float)
        What the metric can be.
    privacy_ : Certificate or None
        Where the metric is all that was released.

    See Also
    --------
    BinaryEvaluation : Metrics of two classes.
    RegressionEvaluation : Metrics of numbers.

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
    >>> -accuracy
    Estimate(value=-0.9, standard_error=0.1, bounds=(-1.0, 0.0))
    """

    value: float
    standard_error: float
    bounds: tuple = (-np.inf, np.inf)
    privacy_: Certificate | None = None

    def __repr__(self) -> str:
        shown = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.privacy_ is None:
            del shown["privacy_"]
        return f"Estimate({', '.join(f'{name}={one!r}' for name, one in shown.items())})"

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
            # Numbers do not change: `+=` gives the name to another one.
            del kwargs["out"]
        if ufunc is np.negative:
            ufunc, inputs = np.multiply, (-1.0, self)
        factors = [each for each in inputs if each is not self]
        if (ufunc, method, kwargs) == (np.multiply, "__call__", {}) and len(factors) == 1 and (
                isinstance(factors[0], numbers.Real) and not isinstance(factors[0], Estimate)):
            return self._times(float(factors[0]))
        found = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        # As a float has it, where nothing is an array.
        return found.item() if isinstance(found, np.generic) else found

    def _times(self, factor):
        """Return this metric times a number, as a score is made of a loss."""
        ends = sorted(factor * end + 0.0 if factor else 0.0 for end in self.bounds)
        return replace(self, value=factor * self.value, bounds=tuple(ends),
                       standard_error=abs(factor) * self.standard_error)

    def item(self) -> float:
        """Return the value as a float, as scikit-learn unwraps scores.

        Returns
        -------
        value : float
            Without its error.

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
            How often it covers the metric, by a normal law.

        Returns
        -------
        low, high : float or ndarray
            Within `bounds`; all of them where the value is NaN.

        Raises
        ------
        ValueError
            If `level` is not in (0, 1).
        """
        level = check_level(level)
        reach = ndtri(0.5 + level / 2.0) * self.standard_error
        low, high = (np.where(np.isnan(self.value), end, np.clip(
            self.value + side * reach, *self.bounds))
            for side, end in zip((-1.0, 1.0), self.bounds, strict=True))
        return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)


def check_level(level):
    """Return how often an interval or a band covers, as a float; a ValueError unless in (0, 1)."""
    return check_real("level", level, low=0, high=1, open_low=True, open_high=True,
                      remedy="a number in (0, 1)")


def _plain(value):
    """Return the value of an estimate, or anything else as it is."""
    return value.value if isinstance(value, Estimate) else value
