"""A number with the error that its noise leaves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpsk._parameters import check_real
from dpsk._privacy.certificate import Certificate

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["Estimate"]


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """A metric, or an array of them, with its standard error; unpacks into the two.

    ``float`` of it is the value; both are computed from what was released, and cost nothing.

    Attributes
    ----------
    value : float or ndarray
        The metric, as the noisy release has it.
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

    def interval(self, level: float = 0.95) -> tuple[FloatArray | float, FloatArray | float]:
        """Return the ends of an interval around the exact metric.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            How often it covers the metric, by a normal law.

        Returns
        -------
        low, high : float or ndarray
            Within `bounds`.

        Raises
        ------
        ValueError
            If `level` is not in (0, 1).
        """
        level = check_real("level", level, low=0, high=1, open_low=True, open_high=True,
                           remedy="a number in (0, 1)")
        reach = ndtri(0.5 + level / 2.0) * self.standard_error
        low, high = (np.clip(self.value + side * reach, *self.bounds) for side in (-1.0, 1.0))
        return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)
