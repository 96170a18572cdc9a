"""Samplers of the noise that is added to query results.

Each function draws float64 noise of a `shape` from an EntropyStream or a KeyedStream, and stores
nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpsk._privacy.noise.streams import exponentials, signed_uniforms

if TYPE_CHECKING:
    from dpsk._privacy.noise.streams import Stream
    from dpsk._typing import FloatArray, Shape, WordArray

__all__ = ["gamma_norm", "gumbel", "laplace", "standard_normal", "symmetric_normal"]

_PART = 1 << 14


def standard_normal(stream: Stream, shape: Shape) -> FloatArray:
    """Draw independent standard normals.

    A sign and a lower-half uniform with 53 significant bits go through the inverse
    normal distribution function, so the tails are as finely resolved as the center.
    """
    noise = np.empty(int(np.prod(shape)))
    # Work in parts that stay in the cache.
    for start in range(0, len(noise), _PART):
        part = noise[start:start + _PART]
        signs, halves = signed_uniforms(stream, len(part))
        _turn(ndtri(halves, out=part), signs)
    return noise.reshape(shape)


def laplace(stream: Stream, shape: Shape) -> FloatArray:
    """Draw independent Laplace variables of scale 1, density ``exp(-|z|) / 2``.

    They are a fair sign times an exponential, with both tails resolved to 53 significant bits.
    """
    count = int(np.prod(shape))
    signs, _ = signed_uniforms(stream, count)
    noise = exponentials(stream, count)
    _turn(noise, signs)
    return noise.reshape(shape)


def gamma_norm(stream: Stream, shape: Shape) -> FloatArray:
    r"""Draw one vector, with a density proportional to :math:`\exp(-\|z\|_2)`.

    It is a uniform direction times a Gamma(d) length, ``d = prod(shape)``. Multiplied by `scale`
    and added to a vector of l2 sensitivity `Delta`, it is ``Pure(Delta / scale)``, by the triangle
    inequality.
    """
    direction = standard_normal(stream, shape)
    length = np.linalg.norm(direction)
    radius = exponentials(stream, direction.size).sum()
    # A zero direction has probability zero; the zero vector is then as good as any.
    return direction * (radius / length) if length else direction


def gumbel(stream: Stream, shape: Shape) -> FloatArray:
    """Draw independent Gumbel variables of scale 1, ``-log(-log u)`` with u uniform.

    ``-log u`` is a standard exponential whose two tails are resolved alike, so u has 53
    significant bits near 0 and near 1.
    """
    noise = exponentials(stream, int(np.prod(shape)))
    np.log(noise, out=noise)
    np.negative(noise, out=noise)
    return noise.reshape(shape)


def symmetric_normal(stream: Stream, shape: Shape) -> FloatArray:
    """Draw symmetric matrices of normals, with one draw for each pair of entries.

    Standard deviations are 1 on the diagonal and ``sqrt(1/2)`` off it. In an orthonormal basis of
    the symmetric matrices these are independent standard normals.
    """
    noise = standard_normal(stream, shape)
    upper = np.triu(noise, 1)
    upper *= math.sqrt(0.5)
    both = upper + np.swapaxes(upper, -1, -2)
    np.einsum("...ii->...i", both)[...] = np.einsum("...ii->...i", noise)
    return both


def _turn(noise: FloatArray, signs: WordArray) -> None:
    """Flip the sign of doubles in place where the highest bit of `signs` is set."""
    bits = noise.view(np.uint64)
    np.bitwise_xor(bits, signs, out=bits)
