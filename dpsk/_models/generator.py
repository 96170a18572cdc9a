"""A network from noise to synthetic rows, one head per class; it never sees a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpsk._typing import AnyArray, BoolArray, FloatArray

__all__ = ["Generator"]

#: Added to the mean square of a row's units, by whose root they are divided.
_LEAST_SQUARE = 1e-6
#: Initial scale of the heads' weights, relative to the scale that keeps the size of rows.
_FIRST_SCALE = 0.5
#: Entries beyond would have large outputs, where slopes are below 1/25.
_OUTERMOST = 0.98


@dataclass(frozen=True)
class Generator:
    """Fully connected layers from standard normals to rows, with one head per class.

    Hidden units are rectified (ReLU), then each row's units are divided by their root mean
    square. `theta` is one vector: the weights of the layers, the weights of the heads, then the
    biases of the layers and of the heads.

    Parameters
    ----------
    n_noise : int
        Number of normals that each row is made from.
    hidden_layer_sizes : tuple of int
    n_features : int
    n_classes : int
    groups : tuple of (int, int)
        Where one-hot groups of columns start and stop. Their entries are ``2 s - 1``, for shares
        s that sum to 1. Other entries are in (-1, 1).
    """

    n_noise: int
    hidden_layer_sizes: tuple
    n_features: int
    n_classes: int = 1
    groups: tuple = ()

    @property
    def _shapes(self) -> list[tuple[int, ...]]:
        """list of tuple : shapes of the layers' and heads' weights, then of their biases."""
        layers = list(pairwise((self.n_noise, *self.hidden_layer_sizes)))
        width = (self.n_noise, *self.hidden_layer_sizes)[-1]
        return [*layers, (self.n_classes, width, self.n_features),
                *((outputs,) for _, outputs in layers), (self.n_classes, self.n_features)]

    @property
    def dimension(self) -> int:
        """int : number of coordinates of `theta`."""
        return sum(map(math.prod, self._shapes))

    def parts(
            self,
            theta: FloatArray
    ) -> tuple[list[FloatArray], FloatArray, list[FloatArray], FloatArray]:
        """Return views (weights, heads, biases, head biases), first and third as lists."""
        views, start = [], 0
        for shape in self._shapes:
            stop = start + math.prod(shape)
            views.append(theta[start:stop].reshape(shape))
            start = stop
        depth = len(self.hidden_layer_sizes)
        return views[:depth], views[depth], views[depth + 1:-1], views[-1]

    def initial(self, normals: Callable[..., FloatArray]) -> FloatArray:
        """Return public starting weights; `normals` gives standard normals of a shape."""
        theta = np.zeros(self.dimension, np.float32)
        layers, heads, _, _ = self.parts(theta)
        for weights in layers:
            weights[:] = normals(weights.shape) * math.sqrt(2.0 / len(weights))
        heads[:] = normals(heads.shape) * (_FIRST_SCALE / math.sqrt(heads.shape[1]))
        return theta

    def forward(self, theta: FloatArray, noise: FloatArray, classes: AnyArray) -> Generation:
        """Return a `Generation` of rows from noise, (n, n_noise), of the given classes."""
        units, masks, sizes = self.units(theta, noise)
        _, heads, _, head_biases = self.parts(theta)
        out = np.empty((len(noise), self.n_features), theta.dtype)
        for label in range(self.n_classes):
            own = classes == label
            out[own] = units[-1][own] @ heads[label] + head_biases[label]
        return Generation(self, theta, classes, units, masks, sizes, self._ranged(out))

    def units(self, theta: FloatArray,
              noise: FloatArray) -> tuple[list[FloatArray], list[BoolArray], list[FloatArray]]:
        """Return the inputs of layers and heads, and the masks and sizes for `gradient`."""
        layers, _, biases, _ = self.parts(theta)
        units, masks, sizes = [noise.astype(theta.dtype, copy=False)], [], []
        for weights, bias in zip(layers, biases, strict=True):
            hidden = units[-1] @ weights
            hidden += bias
            masks.append(hidden > 0)
            np.maximum(hidden, 0, out=hidden)
            size = np.sqrt(np.square(hidden).mean(axis=1, keepdims=True) + _LEAST_SQUARE)
            hidden /= size
            units.append(hidden)
            sizes.append(size)
        return units, masks, sizes

    def outputs(self, rows: FloatArray) -> FloatArray:
        """Return outputs that the output map turns into the given rows, or nearly so."""
        out = np.arctanh(np.clip(rows, -_OUTERMOST, _OUTERMOST))
        for start, stop in self.groups:
            out[:, start:stop] = np.log(np.clip(0.5 * (rows[:, start:stop] + 1.0),
                                                0.5 * (1.0 - _OUTERMOST), 1.0))
        return out

    def _ranged(self, out: FloatArray) -> FloatArray:
        """Return outputs mapped to entries of rows, in (-1, 1)."""
        rows = np.tanh(out)
        for start, stop in self.groups:
            logits = out[:, start:stop]
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            rows[:, start:stop] = 2.0 * shares / shares.sum(axis=1, keepdims=True) - 1.0
        return rows


class Generation:
    """Rows made by a generator, and their backward pass."""

    def __init__(self, model: Generator, theta: FloatArray, classes: AnyArray,
                 units: list[FloatArray], masks: list[BoolArray], sizes: Sequence[FloatArray],
                 rows: FloatArray) -> None:
        self._model, self._theta, self._classes, self.rows = model, theta, classes, rows
        self._units, self._masks, self._sizes = units, masks, sizes

    def gradient(self, d_rows: FloatArray) -> FloatArray:
        """Return the gradient in theta of a loss whose derivatives in rows are `d_rows`."""
        model, total = self._model, np.zeros_like(self._theta)
        layers, heads, _, _ = model.parts(self._theta)
        d_layers, d_heads, d_biases, d_head_biases = model.parts(total)
        d_out, last = self._unranged(d_rows), self._units[-1]
        error = np.empty_like(last)
        for label in range(model.n_classes):
            own = self._classes == label
            d_heads[label] = last[own].T @ d_out[own]
            d_head_biases[label] = d_out[own].sum(axis=0)
            error[own] = d_out[own] @ heads[label].T
        for place in reversed(range(len(layers))):
            units, below = self._units[place + 1], self._units[place]
            error -= units * (error * units).mean(axis=1, keepdims=True)
            error /= self._sizes[place]
            error *= self._masks[place]
            d_layers[place][:], d_biases[place][:] = below.T @ error, error.sum(axis=0)
            error = error @ layers[place].T
        return total

    def _unranged(self, d_rows: FloatArray) -> FloatArray:
        """Return the derivatives in the outputs, before their map to (-1, 1)."""
        d_out = d_rows * (1.0 - np.square(self.rows))
        for start, stop in self._model.groups:
            shares, d_shares = self.rows[:, start:stop] + 1.0, d_rows[:, start:stop]
            # `shares` holds twice the shares.
            centered = d_shares - 0.5 * (shares * d_shares).sum(axis=1, keepdims=True)
            d_out[:, start:stop] = shares * centered
        return d_out
