"""A multilayer perceptron: the only code that knows its layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import clip_factors
from dpsk._models.products import product_by_row

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import AnyArray, BoolArray, Features, FloatArray

__all__ = ["ACTIVATIONS", "MLP"]

#: Rows up to this length are summed in single precision: 2^12 roundings of 2^-24.
_LONGEST_SINGLE = 1 << 12
#: Rounding slack for scaled rows.
_ROUNDED_DOWN = 1.0 - 2.0**-20
#: Smaller scales lose bits in single precision, and larger squares overflow in it.
_LEAST_SCALE, _MOST_SQUARE = (float(end) for end in
                              (np.finfo(np.float32).tiny, np.finfo(np.float32).max))
#: The most that so many squares lose by underflow, even if flushed to zero.
_UNDERFLOW = _LONGEST_SINGLE * _LEAST_SCALE


def _relu(a: FloatArray) -> FloatArray:
    return np.maximum(a, 0, out=a)


def _relu_slope(h: FloatArray) -> BoolArray:
    return h > 0


def _tanh(a: FloatArray) -> FloatArray:
    return np.tanh(a, out=a)


def _tanh_slope(h: FloatArray) -> FloatArray:
    return 1.0 - np.square(h)


@dataclass(frozen=True)
class Activation:
    """Activation between two layers, in place, and its slope given its value.

    `gain` is the factor of the initial weights that keeps the size of rows from layer to layer.
    If `centered`, the mean over the units of a wide enough layer is subtracted, row by row.
    """

    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], AnyArray]
    gain: float
    centered: bool


ACTIVATIONS = {"relu": Activation(_relu, _relu_slope, math.sqrt(2.0), True),
               "tanh": Activation(_tanh, _tanh_slope, 1.0, False)}
#: In narrower layers the mean over units carries too much information to be subtracted.
_NARROW = 16


@dataclass(frozen=True)
class MLP:
    """Fully connected layers between rows and raw predictions.

    `theta` is one vector: the weights of every layer, of shape (inputs, outputs) in row order,
    the weights of the linear path if there is one, then the biases of every layer. Everything is
    computed in single precision.

    Where the activation is one-sided, the mean over a hidden layer's units is subtracted before
    the next layer. This is the same network as one whose next weights have columns of mean zero.
    Centering removes from a row's gradient the direction that all rows share, which would waste
    the clipping norm and the noise.

    Parameters
    ----------
    n_features : int
    hidden_layer_sizes : tuple of int
    n_outputs : int or None
        None for a scalar raw prediction.
    activation : one of ACTIVATIONS
    data_norm : float or None
        Longer rows are scaled down to it, and rows beyond 2^126 times it to zero; None leaves
        rows as they are.
    hidden_scale : float or None
        If given, rows also enter the raw prediction by a linear path, and the last hidden layer
        (there must be one) is multiplied by this number: the smaller, the closer to a linear
        model. Sums of gradients support it, differences of gradients do not.
    """

    n_features: int
    hidden_layer_sizes: tuple
    n_outputs: int | None
    activation: str = "relu"
    data_norm: float | None = None
    hidden_scale: float | None = None

    #: Only clipping bounds a row's gradient, and nothing bounds its curvature.
    radius = math.inf
    is_linear = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """tuple of int : widths from the rows to the raw prediction."""
        return (self.n_features, *self.hidden_layer_sizes, self.n_outputs or 1)

    @property
    def dimension(self) -> int:
        """int : number of coordinates of `theta`."""
        layers = sum((inputs + 1) * outputs for inputs, outputs in pairwise(self.sizes))
        return layers if self.hidden_scale is None else layers + self.sizes[0] * self.sizes[-1]

    @property
    def n_biases(self) -> int:
        """int : number of coordinates at the end of `theta` that are biases."""
        return sum(self.sizes[1:])

    @property
    def shape(self) -> tuple[int]:
        """tuple of int : shape of `theta`."""
        return (self.dimension,)

    def rounding_terms(self, n_rows: float) -> float:
        """Return how many terms to count in the rounding bound of a sum over `n_rows`."""
        return n_rows

    def initial(self, normals: Callable[..., FloatArray]) -> FloatArray:
        """Return public starting weights, the last layer zero (He et al., 2015, eq. 10).

        `normals` gives independent standard normals of a shape, independent of the data.
        """
        theta = np.zeros(self.shape)
        gain = ACTIVATIONS[self.activation].gain
        # A zero last layer starts every prediction at 0, whatever the scale of the rows.
        for weights, _ in self.layers(theta)[:-1]:
            # With a linear path, these weights keep the norm of rows, whatever the widths.
            size = weights.shape[0 if self.hidden_scale is None else 1]
            weights[:] = normals(weights.shape) * (gain / math.sqrt(size))
        return theta

    def layers(self, theta: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return views (weights, biases) of every layer."""
        views, start, bias = [], 0, len(theta) - self.n_biases
        for inputs, outputs in pairwise(self.sizes):
            end = start + inputs * outputs
            views.append((theta[start:end].reshape(inputs, outputs),
                          theta[bias:bias + outputs]))
            start, bias = end, bias + outputs
        return views

    def linear(self, theta: FloatArray) -> Any:
        """Return a view of the weights of the linear path, (n_features, outputs), or None."""
        if self.hidden_scale is None:
            return None
        shape = self.sizes[0], self.sizes[-1]
        end = self.dimension - self.n_biases
        return theta[end - math.prod(shape):end].reshape(shape)

    def rescaled(self, theta: FloatArray, factor: float) -> FloatArray:
        """Return parameters that predict `factor` times what `theta` predicts."""
        theta = theta.copy()
        linear = self.linear(theta)
        for part in (*self.layers(theta)[-1], *([] if linear is None else [linear])):
            part *= factor
        return theta

    def unpacked(self, theta: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the weights and the biases of every layer, as released: float32 copies.

        They give the same predictions with or without the mean of units subtracted, and with a
        `hidden_scale` of 1. Entries of `theta` after the network's `dimension` coordinates are
        left out.
        """
        layers = self.layers(theta[:self.dimension])
        weights = [layers[0][0], *(
            weights - weights.mean(axis=0) if self.centers(len(weights)) else weights
            for weights, _ in layers[1:])]
        if self.hidden_scale is not None:
            weights[-1] = weights[-1] * self.hidden_scale
        return ([part.astype(np.float32) for part in weights],
                [biases.astype(np.float32) for _, biases in layers])

    def before_map(self, theta: FloatArray, center: FloatArray, matrix: Any = None) -> FloatArray:
        """Return parameters as `LinearModel.before_map` does."""
        theta = theta.copy()
        layers = self.layers(theta[:self.dimension])
        entering = [layers[0]]
        if self.hidden_scale is not None:
            entering.append((self.linear(theta), layers[-1][1]))
        for weights, biases in entering:
            if matrix is not None:
                weights[:] = matrix @ weights if matrix.ndim == 2 else (matrix * weights.T).T
            biases -= center @ weights
        return theta

    def centers(self, width: int) -> bool:
        """Return whether a hidden layer of this width has its mean subtracted."""
        return ACTIVATIONS[self.activation].centered and width >= _NARROW

    @staticmethod
    def packed(weights: list[FloatArray], biases: list[FloatArray],
               linear: FloatArray | None = None) -> FloatArray:
        """Return the `theta` made of the results of `unpacked` and `linear`."""
        paths = weights if linear is None else [*weights, linear]
        return np.concatenate([*map(np.ravel, paths), *biases])

    def forward(self, theta: FloatArray, X: Features, dtype: Any = np.float32,
                alike: bool = False) -> Pass:
        """Return a `Pass` over rows, (n, n_features), at `theta`, in precision `dtype`.

        With `alike`, the rounding of a row does not depend on its position among the rows, whose
        number must be a multiple of 8.
        """
        activate = ACTIVATIONS[self.activation].value
        layers = self.layers(theta.astype(dtype, copy=False))
        inputs, units = [self.bounded(X.astype(dtype, copy=False))], []
        for weights, biases in layers[:-1]:
            hidden = _product(inputs[-1], weights, alike)
            hidden += biases
            units.append(activate(hidden))
            centers = self.centers(hidden.shape[1])
            inputs.append(_less_mean(hidden) if centers else hidden)
        weights, biases = layers[-1]
        if self.hidden_scale is None:
            raw = _product(inputs[-1], weights, alike) + biases
        else:
            inputs[-1] = inputs[-1] * dtype(self.hidden_scale)
            raw = _product(inputs[-1], weights, alike) + biases
            raw += _product(inputs[0], self.linear(theta).astype(dtype, copy=False), alike)
        return Pass(self, layers, inputs, units, raw[:, 0] if self.n_outputs is None else raw,
                    alike)

    def bounded(self, X: Features) -> FloatArray:
        """Return rows scaled down to `data_norm`."""
        if self.data_norm is None:
            return X
        norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
        scales = clip_factors(norms, self.data_norm * _ROUNDED_DOWN, _LEAST_SCALE)
        return X * scales[:, None].astype(X.dtype)


class Pass:
    """One evaluation of a network on some rows, with its predictions `raw`."""

    def __init__(self, model: MLP, layers: list[tuple[FloatArray, FloatArray]],
                 inputs: list[FloatArray], units: list[Any], raw: FloatArray,
                 alike: bool = False) -> None:
        self._model, self._layers, self.inputs, self.raw = model, layers, inputs, raw
        self._units, self._alike = units, alike
        self.errors: Any = None

    def backward(self, dz: FloatArray) -> None:
        """Propagate derivatives `dz` in the raw predictions back to every layer's output."""
        slope = ACTIVATIONS[self._model.activation].slope
        errors = [dz.reshape(len(dz), -1).astype(np.float32, copy=False)]
        for units, (weights, _) in zip(self._units[::-1], self._layers[:0:-1], strict=True):
            error = _product(errors[-1], weights.T, self._alike)
            if len(errors) == 1 and self._model.hidden_scale is not None:
                error *= np.float32(self._model.hidden_scale)
            if self._model.centers(units.shape[1]):
                error = _less_mean(error)
            error *= slope(units)
            errors.append(error)
        self.errors = errors[::-1]

    def square_norms(self) -> FloatArray:
        """Return the squared norm of every row's gradient, float64, shape (n,).

        It is infinite where a layer's input or error is too long for single precision.

        A layer's gradient is the outer product of its input, with a 1 for the biases, and the
        error at its output. Its norm is the product of these two norms (Goodfellow, 2015).
        """
        total = np.zeros(len(self.raw))
        for inputs, errors in zip(self.inputs, self.errors, strict=True):
            total += (row_squares(inputs) + 1.0) * row_squares(errors)
        if self._model.hidden_scale is not None:
            total += row_squares(self.inputs[0]) * row_squares(self.errors[-1])
        return total

    def add_gradient(self, factors: FloatArray, out: FloatArray) -> None:
        """Add the sum over rows of `factors` times their gradients to `out`, float64.

        Rows of factor 0 add nothing, even where their gradients are not finite.
        """
        for inputs, errors, (weights, biases) in zip(self.inputs, self.errors,
                                                     self._model.layers(out), strict=True):
            weighted = errors * factors[:, None].astype(np.float32)
            weights += inputs.T @ weighted
            biases += weighted.sum(axis=0, dtype=np.float64)
        if self._model.hidden_scale is not None:
            # `weighted` still holds the weighted errors of the last layer.
            linear = self._model.linear(out)
            linear += self.inputs[0].T @ weighted

    def input_gradient(self) -> FloatArray:
        """Return the gradient of every row's output in the row itself, float32."""
        weights, _ = self._layers[0]
        return self.errors[0] @ weights.T

    def less(self, other: Pass, own_factors: FloatArray, other_factors: FloatArray) -> Change:
        """Return the `Change` of ``factor gradient`` from `other` to self, for every row."""
        own, others = (f[:, None].astype(np.float32) for f in (own_factors, other_factors))
        return Change(self._model, [
            (h - h2, own * e, h2, own * e - others * e2) for h, e, h2, e2 in
            zip(self.inputs, self.errors, other.inputs, other.errors, strict=True)])

    def drop(self, rows: BoolArray) -> None:
        """Set units and errors of some rows to zero, so that no 0 multiplies an infinity."""
        for array in (*self.inputs[1:], *self.errors):
            array[rows] = 0.0


class Change:
    """Differences of weighted gradients between two passes, without cancellation.

    With ``h, e`` a layer's input and weighted error, ``h e' - h2 e2'`` is
    ``(h - h2) e' + h2 (e - e2)'``. Norms and sums are both computed from these two parts, so
    the rounding of a sum is relative to the differences, not to the gradients. `layers` holds
    ``(h - h2, e, h2, e - e2)`` of every layer.
    """

    def __init__(self, model: MLP,
                 layers: list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]) -> None:
        self._model, self._layers = model, layers

    def square_norms(self) -> FloatArray:
        """Return upper bounds on the squared norms of the rows, float64, shape (n,)."""
        total: Any = 0.0
        for moved, e, h2, turned in self._layers:
            norm = (np.sqrt(row_squares(moved) * row_squares(e))
                    + np.sqrt((row_squares(h2) + 1.0) * row_squares(turned)))
            total = total + np.square(norm)
        return total

    def add_gradient(self, factors: FloatArray, out: FloatArray) -> None:
        """Add the sum over rows of `factors` times their differences to `out`."""
        factors = factors[:, None].astype(np.float32)
        for (moved, e, h2, turned), (weights, biases) in zip(
                self._layers, self._model.layers(out), strict=True):
            turned = turned * factors
            weights += moved.T @ (e * factors)
            weights += h2.T @ turned
            biases += turned.sum(axis=0, dtype=np.float64)

    def drop(self, rows: BoolArray) -> None:
        """Set all arrays to zero for some rows, except the input rows themselves."""
        for place, (moved, e, h2, turned) in enumerate(self._layers):
            for part in (moved, e, turned, *([h2] if place else [])):
                part[rows] = 0.0


def _product(rows: FloatArray, weights: FloatArray, alike: bool) -> FloatArray:
    """Return ``rows @ weights``; with `alike`, rounding does not depend on position."""
    return product_by_row(rows, weights) if alike else rows @ weights


def _less_mean(rows: FloatArray) -> FloatArray:
    return rows - rows.mean(axis=1, keepdims=True)


def row_squares(a: FloatArray) -> FloatArray:
    """Return the squared norms of the rows of a float32 array, shape (n,), float64.

    Their relative error is at most 2^-12, which the rounding slack of clipping covers: long rows
    are summed in double precision. A constant makes up for underflow, so that no norm is too
    small. Squares that overflow single precision are infinite, whatever the precision of the sum.
    """
    dtype = np.float64 if a.shape[1] > _LONGEST_SINGLE else None
    squares = np.einsum("ij,ij->i", a, a, dtype=dtype).astype(np.float64, copy=False)
    squares[squares > _MOST_SQUARE] = np.inf
    squares += _UNDERFLOW
    return squares
