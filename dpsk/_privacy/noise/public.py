"""Public randomness, which protects no data, so a seed or a text may repeat it."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy.noise.samplers import standard_normal
from dpsk._privacy.noise.seeds import public_seed
from dpsk._privacy.noise.streams import KeyedStream, open_stream, random_permutation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._privacy.noise.streams import Stream
    from dpsk._typing import FloatArray, IntArray, Shape

__all__ = ["PublicDraws", "public_normals", "public_permutation", "public_uniforms"]


class PublicDraws:
    """Stream of public draws, keyed by an int or a NoiseSeed; fresh with None."""

    def __init__(self, random_state: RandomState, *context: object) -> None:
        self._stream = open_stream(public_seed(random_state), partial(_key, context))

    def normals(self, shape: Shape) -> FloatArray:
        """Return independent standard normals, float64."""
        return standard_normal(self._stream, shape)

    def uniforms(self, count: int) -> FloatArray:
        """Return `count` independent uniforms on [0, 1), float64."""
        return _uniforms(self._stream, count)

    def choices(self, weights: FloatArray, chosen: IntArray) -> IntArray:
        """Draw a column of `weights` for each chosen row, in proportion to its weights.

        Parameters
        ----------
        weights : ndarray of shape (m, k)
            Weights >= 0, with a positive sum in every row.
        chosen : ndarray of int, shape (n,)
            The row of each draw.

        Returns
        -------
        places : ndarray of int, shape (n,)
        """
        ends = np.cumsum(weights, axis=1)
        # One search serves all draws: row i has the interval [i, i + 1).
        ends /= ends[:, -1:]
        ends[:, -1] = 1.0
        rows, places = weights.shape
        found = np.searchsorted((ends + np.arange(rows)[:, None]).ravel(),
                                chosen + self.uniforms(len(chosen)), "right")
        return np.clip(found - chosen * places, 0, places - 1)


def public_permutation(random_state: RandomState, purpose: str, count: int) -> IntArray:
    """Return a permutation of ``0 .. count - 1``, keyed as `PublicDraws` are.

    It does not depend on the content of rows.
    """
    return random_permutation(_stream(random_state, purpose, count), count)


def public_uniforms(random_state: RandomState, purpose: str, count: int) -> FloatArray:
    """Return uniforms on [0, 1), keyed as `public_permutation` is."""
    return _uniforms(_stream(random_state, purpose, count), count)


def public_normals(purpose: str, seed: int, shape: Shape) -> FloatArray:
    """Return standard normals that depend on a text, an int and a shape only."""
    key = hashlib.sha256(f"public {purpose} {seed} {shape}".encode()).digest()
    return standard_normal(KeyedStream(key[:16]), shape)


def _stream(random_state: RandomState, purpose: str, count: int) -> Stream:
    return open_stream(public_seed(random_state), lambda: [f"{purpose} {count}".encode()])


def _uniforms(stream: Stream, count: int) -> FloatArray:
    return (stream.words(count) >> np.uint64(11)) * 2.0**-53


def _key(context: tuple[object, ...]) -> Iterator[bytes]:
    yield b"rows drawn after a fit"
    yield from (str(part).encode() for part in context)
