"""Value functions of bounded states, linear or by one hidden layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpsk._data.norms import row_norms
from dpsk._models.clipping import HEADROOM, clip_factors

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray

__all__ = ["LinearValues", "NetworkValues", "StateMap", "ValuePass"]

#: Factor of states in the unit ball before they enter a network.
_STRETCH = 3.0
#: The constant that is appended to features; their norm with it is at most 1.
_CONSTANT = 0.35


class ValuePass(NamedTuple):
    """Values of some states, their gradients and curvature.

    `values` has shape (n,), `gradients` has shape (n, dimension). `turned` maps a vector w to
    every state's Hessian times w, (n, dimension); it is None where values are linear.
    """

    values: np.ndarray
    gradients: np.ndarray
    turned: object


@dataclass(frozen=True, eq=False)
class StateMap:
    """Map states one by one into the unit ball, by public numbers.

    With bounds of the columns, a state is clipped to them, mapped to ``[-1, 1]``, and divided by
    the root of the number of columns. Without bounds, it is divided by ``unit data_norm``, and
    scaled down to norm 1 if it is longer. States whose norm is not finite become zero.

    Parameters
    ----------
    n_features : int
        Columns of a state.
    bounds : ndarray of shape (n_features, 2) or None
    data_norm : float
    unit : float
    """

    n_features: int
    bounds: np.ndarray | None = None
    data_norm: float = 1.0
    unit: float = 1.0

    #: Only clipping bounds a row's gradient.
    radius = math.inf
    n_outputs = None
    homogeneous = False

    def scaled(self, states: AnyArray) -> FloatArray:
        """Return states in the unit ball, float64, in a new array."""
        states = np.array(states, dtype=np.float64)
        if self.bounds is None:
            reach = self.unit * self.data_norm
            # Clip before dividing by `reach`, which may be small, so that nothing overflows.
            states *= clip_factors(row_norms(states), reach * HEADROOM)[:, None]
            states /= reach
            return states
        low, high = self.bounds.T
        np.clip(states, low, high, out=states)
        states -= 0.5 * (low + high)
        states /= 0.5 * (high - low) * math.sqrt(self.n_features)
        # Where bounds nearly coincide, rounding of their middle may move states out of the ball.
        states *= clip_factors(row_norms(states), 1.0)[:, None]
        return states

    def rounding_terms(self, n_rows: float) -> float:
        """Return how many terms to count in the rounding bound of a sum over `n_rows`."""
        return n_rows


@dataclass(frozen=True, eq=False)
class LinearValues(StateMap):
    r"""Values linear in fixed features of norm at most 1, the last one constant.

    Features are the bounded state s or, with `frequencies` w, random Fourier features:
    ``cos(w' s), sin(w' s)`` over the root of the number of frequencies, whose norm is 1 for every
    state (Rahimi and Recht, 2007).

    Parameters
    ----------
    frequencies : ndarray of shape (n_features, count) or None
        Public.
    """

    frequencies: np.ndarray | None = None

    is_linear = True
    constant = _CONSTANT

    @property
    def shape(self) -> tuple[int]:
        """tuple of int : shape of `theta`."""
        width = self.n_features if self.frequencies is None else 2 * self.frequencies.shape[1]
        return (width + 1,)

    @property
    def dimension(self) -> int:
        """int : number of coordinates of `theta`."""
        return self.shape[0]

    def initial(self, normals: Callable[..., FloatArray]) -> FloatArray:
        """Return the public start, zero."""
        return np.zeros(self.shape)

    def features(self, states: AnyArray) -> FloatArray:
        """Return the features of states, float64, shape (n, dimension), of norm at most 1."""
        states, weight = self.scaled(states), HEADROOM * math.sqrt(1.0 - self.constant**2)
        found = np.empty((len(states), self.dimension))
        if self.frequencies is None:
            found[:, :-1] = states
        else:
            angles, count = states @ self.frequencies, self.frequencies.shape[1]
            np.cos(angles, out=found[:, :count])
            np.sin(angles, out=found[:, count:-1])
            weight /= math.sqrt(count)
        found[:, :-1] *= weight
        found[:, -1] = self.constant
        return found

    def values(self, theta: FloatArray, states: AnyArray) -> FloatArray:
        """Return the values of states, shape (n,)."""
        return self.features(states) @ theta

    def passed(self, theta: FloatArray, states: AnyArray) -> ValuePass:
        """Return values, gradients and curvature at `theta`, a `ValuePass`."""
        features = self.features(states)
        return ValuePass(features @ theta, features, None)


@dataclass(frozen=True, eq=False)
class NetworkValues(StateMap):
    """Values ``tanh(s W + b) v + c`` by a hidden layer of `width` units, in float64.

    `theta` holds W in row order, then b, v times the root of the width, and c. The norm of a
    state's gradient is then about the same for every width. s is the stretched bounded state.
    """

    width: int = 50

    is_linear = False

    @property
    def dimension(self) -> int:
        """int : number of coordinates of `theta`."""
        return (self.n_features + 2) * self.width + 1

    @property
    def shape(self) -> tuple[int]:
        """tuple of int : shape of `theta`."""
        return (self.dimension,)

    def initial(self, normals: Callable[..., FloatArray]) -> FloatArray:
        """Return public starting weights, such that every value is 0."""
        theta = np.zeros(self.shape)
        # Unit variance suits any number of columns, because states are in the unit ball.
        inner = (self.n_features + 1) * self.width
        theta[:inner] = normals((inner,))
        return theta

    def parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return W, b, v times the root of the width, and c; all but c are views."""
        inner = self.n_features * self.width
        weights = theta[:inner].reshape(self.n_features, self.width)
        return weights, theta[inner:-self.width - 1], theta[-self.width - 1:-1], theta[-1]

    def values(self, theta: FloatArray, states: AnyArray) -> FloatArray:
        """Return the values of states, shape (n,)."""
        weights, biases, outer, constant = self.parts(theta)
        return np.tanh(self._inputs(states) @ weights + biases) @ (outer * self._share) + constant

    def passed(self, theta: FloatArray, states: AnyArray) -> ValuePass:
        """Return values, gradients and curvature at `theta`, a `ValuePass`."""
        weights, biases, outer, constant = self.parts(theta)
        inputs, outer = self._inputs(states), outer * self._share
        hidden = np.tanh(inputs @ weights + biases)
        slopes = 1.0 - np.square(hidden)
        ones = np.ones((len(inputs), 1))

        def turned(w: FloatArray) -> FloatArray:
            d_weights, d_biases, d_outer, _ = self.parts(w)
            moved = slopes * (inputs @ d_weights + d_biases)
            errors = slopes * (d_outer * self._share) - 2.0 * outer * hidden * moved
            return self._stacked(inputs, errors, moved * self._share, np.zeros_like(ones))

        return ValuePass(hidden @ outer + constant,
                         self._stacked(inputs, slopes * outer, hidden * self._share, ones),
                         turned)

    def weighted_gradient(self, theta: FloatArray, states: AnyArray,
                          weigh: Callable[..., Any]) -> tuple[FloatArray, FloatArray]:
        """Return values of states, and the sum of their gradients times `weigh(values)`."""
        weights, biases, outer, constant = self.parts(theta)
        inputs, outer = self._inputs(states), outer * self._share
        hidden = np.tanh(inputs @ weights + biases)
        values = hidden @ outer + constant
        errors = weigh(values)
        inner = (1.0 - np.square(hidden)) * (errors[:, None] * outer)
        return values, np.concatenate([(inputs.T @ inner).ravel(), inner.sum(axis=0),
                                       self._share * (errors @ hidden), [errors.sum()]])

    @property
    def _share(self) -> float:
        return self.width**-0.5

    def _inputs(self, states: AnyArray) -> FloatArray:
        return _STRETCH * self.scaled(states)

    def _stacked(self, inputs: FloatArray, errors: FloatArray, hidden: FloatArray,
                 constant: FloatArray) -> FloatArray:
        """Return rows like `theta` from hidden errors, hidden units and a constant."""
        weights = (inputs[:, :, None] * errors[:, None, :]).reshape(len(inputs), -1)
        return np.hstack([weights, errors, hidden, constant])
