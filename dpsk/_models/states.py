"""Bounded states and their features: the only code that knows how a value enters linearly."""

import math
from dataclasses import dataclass

import numpy as np

from dpsk._models.clipping import HEADROOM, clip_factors
from dpsk._models.linear import row_norms

__all__ = ["LinearValues", "StateMap"]

#: The constant that is appended to features, whose norm with it is at most 1.
_CONSTANT = 0.35


@dataclass(frozen=True, eq=False)
class StateMap:
    """States mapped one by one into the unit ball, by public numbers.

    With bounds of the columns a state is clipped to them and mapped to ``[-1, 1]``, over the root
    of the number of columns. Without, it enters over `unit` and `data_norm`, longer ones scaled
    down.

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

    #: A row's gradient has no bound but the clip's.
    radius = math.inf
    n_outputs = None
    homogeneous = False

    def scaled(self, states):
        """Return states in the unit ball, float64, an array of its own."""
        states = np.array(states, dtype=np.float64)
        if self.bounds is None:
            states /= self.unit * self.data_norm
            states *= clip_factors(row_norms(states), HEADROOM)[:, None]
            return states
        low, high = self.bounds.T
        np.clip(states, low, high, out=states)
        states -= 0.5 * (low + high)
        states /= 0.5 * (high - low) * math.sqrt(self.n_features)
        return states

    def rounding_terms(self, n_rows):
        """Return how many terms round as much as sums over `n_rows` do, each beside its bound."""
        return n_rows


@dataclass(frozen=True, eq=False)
class LinearValues(StateMap):
    r"""Values that are linear in fixed features of norm at most 1, the last of them constant.

    Features are the bounded state, or with `frequencies` cosines and sines of its products with
    them: ``cos(w' s), sin(w' s)`` over the root of their number (Rahimi and Recht, 2007), whose
    norm is 1 whatever the state.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features, count) or None
        Public.
    """

    frequencies: np.ndarray | None = None

    is_linear = True
    constant = _CONSTANT

    @property
    def shape(self):
        """tuple of int : shape of `theta`."""
        width = self.n_features if self.frequencies is None else 2 * self.frequencies.shape[1]
        return (width + 1,)

    @property
    def dimension(self):
        """int : number of coordinates of `theta`."""
        return self.shape[0]

    def initial(self, normals):
        """Return the public start, zero."""
        return np.zeros(self.shape)

    def features(self, states):
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

    def values(self, theta, states):
        """Return the values of states, shape (n,)."""
        return self.features(states) @ theta
