"""Base class of penalties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:

    from dpsk._typing import FloatArray


class Penalty(ABC):
    """A public function of the coefficients: a differentiable part and a simple rest.

    Attributes
    ----------
    strong_convexity : float
        Smallest curvature over **all** coordinates that a solver moves, intercept included:
        an unpenalized intercept makes it 0.
    smoothness : float
        Largest curvature of the differentiable part.
    is_smooth : bool
        Whether there is no rest: the proximal map is the identity.
    """

    if TYPE_CHECKING:
        # Fields, constants or properties.
        @property
        def strong_convexity(self) -> float: ...
        @property
        def smoothness(self) -> float: ...
        @property
        def is_smooth(self) -> bool: ...
    else:
        strong_convexity: float
        smoothness: float
        is_smooth: bool

    def slope(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of the whole penalty where it has one, like theta."""
        return self.gradient(theta)

    def mapped(self, matrix: FloatArray) -> Penalty:
        """Return the penalty of coefficients ``matrix @ theta`` if it is a square, else itself."""
        return self

    @abstractmethod
    def in_unit(self, unit: float) -> Penalty:
        """Return the same penalty on coefficients of rows over `unit`."""

    def for_targets(self, unit: float) -> Penalty:
        """Return the same penalty next to the squared loss of targets over `unit`."""
        return self

    @abstractmethod
    def value(self, theta: FloatArray) -> float:
        """Return the penalty as a float."""

    @abstractmethod
    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of the differentiable part, a new array like `theta`."""

    @abstractmethod
    def prox(self, theta: FloatArray, step: float) -> FloatArray:
        """Return the proximal map of `step` times the rest, a new array or `theta` itself."""
