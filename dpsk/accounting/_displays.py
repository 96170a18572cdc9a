"""Plots of a guarantee: its (epsilon, delta) curve and its trade-off function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from dpsk._docs import documented
from dpsk._drawing import LineDisplay
from dpsk.accounting._curves import delta, type_two_error

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dpsk._privacy.certificate import Certificate
    from dpsk._privacy.elementary import Event
    from dpsk._typing import FloatArray

__all__ = ["PrivacyCurveDisplay", "TradeOffCurveDisplay"]

_POINTS = 60
#: Delta below which the curve is not drawn.
_SMALLEST_DELTA = 1e-12


@documented
class PrivacyCurveDisplay(LineDisplay):
    """Plot of the delta of a guarantee at every epsilon.

    Make one by `from_events`.

    Parameters
    ----------
    epsilon, delta : ndarray of shape (n_points,)
        Points of the curve.
    name : str or None, default=None
        Label of the line in the legend.

    Attributes
    ----------
    %(display)s

    See Also
    --------
    TradeOffCurveDisplay : The same guarantee as error rates of a test.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, PrivacyCurveDisplay
    >>> display = PrivacyCurveDisplay.from_events(Gaussian(mu=0.5))  # doctest: +SKIP
    """

    def __init__(self, *, epsilon: FloatArray, delta: FloatArray | float,
                 name: str | None = None) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.name = name

    def plot(self, ax: Any = None, *, name: str | None = None,
             **kwargs: Any) -> PrivacyCurveDisplay:
        """Draw the curve, delta on a logarithmic axis.

        Parameters
        ----------
        %(ax)s %(name)s
        **kwargs : dict
            Properties of the line, for `Line2D.set`.

        Returns
        -------
        display : PrivacyCurveDisplay
            With the axes, the figure and the line.
        """
        self._drawn(ax, self.name if name is None else name, "semilogy", self.epsilon,
                    self.delta, kwargs, xlabel="epsilon", ylabel="delta")
        return self

    @classmethod
    def from_events(cls, events: Event | Certificate | Iterable[Event | Certificate], *,
                    epsilon: Any = None, ax: Any = None, name: str | None = None,
                    **kwargs: Any) -> PrivacyCurveDisplay:
        """Compute and draw the curve.

        Parameters
        ----------
        events : Event, Certificate, or iterable of these
            Mechanisms run on the same rows.
        epsilon : array-like of shape (n_points,) or None, default=None
            Epsilons of the points. None: from 0 to where delta is below 1e-12, at most to 20.
        %(ax)s %(name)s
        **kwargs : dict
            Properties of the line, for `Line2D.set`.

        Returns
        -------
        display : PrivacyCurveDisplay
            With the axes, the figure and the line.
        """
        check_matplotlib_support(f"{cls.__name__}.from_events")
        if epsilon is None:
            epsilon = np.linspace(0.0, _reach(events), _POINTS)
        epsilon = np.asarray(epsilon, dtype=np.float64)
        return cls(epsilon=epsilon, delta=delta(events, epsilon), name=name).plot(ax, **kwargs)


@documented
class TradeOffCurveDisplay(LineDisplay):
    """Plot of the trade-off function: the least type II error at every type I error.

    Make one by `from_events`. The straight line from (0, 1) to (1, 0) is random guessing.

    Parameters
    ----------
    type_one_error, type_two_error : ndarray of shape (n_points,)
        Points of the curve, in [0, 1].
    name : str or None, default=None
        Label of the line in the legend.

    Attributes
    ----------
    %(display)s

    See Also
    --------
    PrivacyCurveDisplay : The same guarantee as pairs of epsilon and delta.

    References
    ----------
    Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, TradeOffCurveDisplay
    >>> display = TradeOffCurveDisplay.from_events(Gaussian(mu=0.5))  # doctest: +SKIP
    """

    def __init__(self, *, type_one_error: FloatArray, type_two_error: FloatArray | float,
                 name: str | None = None) -> None:
        self.type_one_error = type_one_error
        self.type_two_error = type_two_error
        self.name = name

    def plot(self, ax: Any = None, *, name: str | None = None,
             **kwargs: Any) -> TradeOffCurveDisplay:
        """Draw the curve, and the line of random guessing.

        Parameters
        ----------
        %(ax)s %(name)s
        **kwargs : dict
            Properties of the line, for `Line2D.set`.

        Returns
        -------
        display : TradeOffCurveDisplay
            With the axes, the figure and the line.
        """
        self._drawn(ax, self.name if name is None else name, "plot", self.type_one_error,
                    self.type_two_error, kwargs, xlabel="type I error",
                    ylabel="type II error")
        self.ax_.plot([0, 1], [1, 0], color="gray", linestyle=":", zorder=0)
        return self

    @classmethod
    def from_events(cls, events: Event | Certificate | Iterable[Event | Certificate], *,
                    ax: Any = None, name: str | None = None,
                    **kwargs: Any) -> TradeOffCurveDisplay:
        """Compute and draw the curve.

        Parameters
        ----------
        events : Event, Certificate, or iterable of these
            Mechanisms run on the same rows.
        %(ax)s %(name)s
        **kwargs : dict
            Properties of the line, for `Line2D.set`.

        Returns
        -------
        display : TradeOffCurveDisplay
            With the axes, the figure and the line.
        """
        check_matplotlib_support(f"{cls.__name__}.from_events")
        alpha = np.linspace(0.0, 1.0, 201)
        return cls(type_one_error=alpha, type_two_error=type_two_error(events, alpha),
                   name=name).plot(ax, **kwargs)


def _reach(events):
    """Return the epsilon up to which a curve is drawn."""
    reach = 0.25
    while reach < 20.0 and delta(events, reach) > _SMALLEST_DELTA:
        reach *= 2.0
    return min(reach, 20.0)
