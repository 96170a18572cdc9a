"""Streams of random bits, and random indices drawn from them.

A stream is opened inside one fit and dropped at its end. No random state is ever kept on an
estimator, so clones, pickles, forks and workers cannot replay each other's noise.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpsk._privacy.noise.seeds import NOT_PRIVATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpsk._privacy.noise.seeds import NoiseSeed
    from dpsk._typing import FloatArray, IntArray, WordArray

try:
    import ssl
except ImportError:
    ssl = None  # type: ignore[assignment]  # the module is missing there

__all__ = ["EntropyStream", "KeyedStream", "Stream", "exponentials", "geometric", "open_stream",
           "poisson_batches", "random_index", "random_permutation", "signed_uniforms"]

_BLOCK = 1 << 16
_KEY_BYTES = 48
#: Largest number of words per call, as OpenSSL counts bytes in 31 bits.
_MOST_WORDS = 1 << 24
_HIGHEST = np.uint64(1 << 63)


class Stream(Protocol):
    """Source of independent uniform words, each of which is used once."""

    @property
    def reproducible(self) -> bool:
        """Whether somebody who knows the seed can repeat the words."""

    @property
    def description(self) -> str:
        """Source of the words, for certificates."""

    def words(self, count: int) -> WordArray:
        """Return `count` independent uniform 64-bit words."""


class EntropyStream:
    """Words from OpenSSL's generator, reseeded by the OS, or from the OS directly."""

    reproducible = False
    description = ("operating-system entropy, drawn inside the fit" if ssl is None else
                   "operating-system entropy through OpenSSL's generator, keyed anew in the fit")

    def __init__(self) -> None:
        if ssl is not None:
            # OpenSSL detects a fork by process id only, which containers and time repeat.
            ssl.RAND_add(os.urandom(_KEY_BYTES), float(_KEY_BYTES))

    def words(self, count: int) -> WordArray:
        """Return `count` independent uniform 64-bit words."""
        draw = os.urandom if ssl is None else ssl.RAND_bytes
        parts = [draw(8 * min(_MOST_WORDS, count - start))
                 for start in range(0, count, _MOST_WORDS)]
        return np.frombuffer(b"".join(parts), dtype=np.uint64)


class KeyedStream:
    """Counter-based stream (Philox) under a secret key, the first 16 bytes of `key`."""

    reproducible = True
    description = ("NoiseSeed: Philox stream keyed by HMAC-SHA256 of the seed over method, "
                   f"hyper-parameters and data; {NOT_PRIVATE}")

    def __init__(self, key: bytes) -> None:
        self._bits = np.random.Philox(key=int.from_bytes(key[:16], "little"))

    def words(self, count: int) -> WordArray:
        """Return the next `count` 64-bit words of the stream."""
        return self._bits.random_raw(count)


def open_stream(seed: NoiseSeed | None, context: Callable[[], Iterable[bytes]]) -> Stream:
    """Open the stream of one fit: fresh entropy without a `seed`, else a keyed stream.

    `context` returns the inputs of the fit as an iterable of bytes (method, hyperparameters,
    content of the rows). They are hashed into the key, so that one seed gives unrelated streams in
    two folds or two candidates. `context` is called only if there is a seed.
    """
    if seed is None:
        return EntropyStream()
    digest = hmac.new(str(seed.seed).encode(), digestmod=hashlib.sha256)
    for part in context():
        # Each part is hashed after its length, so that different contexts cannot look the same.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return KeyedStream(digest.digest())


def signed_uniforms(stream: Stream, count: int) -> tuple[WordArray, FloatArray]:
    """Draw a fair sign and a uniform on (0, 1/2], to 53 significant bits.

    Returns
    -------
    signs : ndarray of uint64, shape (count,)
        The sign in the highest bit, the sign bit of doubles; all other bits are zero.
    halves : ndarray of float64, shape (count,)
    """
    words = stream.words(count)
    signs = words & _HIGHEST
    high = (words ^ signs).view(np.int64)
    halves = high * 2.0**-64
    if halves.size and halves.min() < 2.0**-11:
        # Fewer than 53 significant bits are left: append another word below them.
        short = np.flatnonzero(high < (1 << 53))
        low = stream.words(short.size) + 0.5
        halves[short] += low * 2.0**-128
    return signs, halves


def exponentials(stream: Stream, count: int) -> FloatArray:
    """Draw standard exponentials with both tails resolved, shape (count,)."""
    signs, halves = signed_uniforms(stream, count)
    return np.where(signs, -np.log1p(-halves), -np.log(halves))


def random_index(stream: Stream, stop: int) -> int:
    """Draw one integer uniformly from ``0 .. stop - 1``."""
    limit = (1 << 64) // stop * stop
    while True:
        word = int(stream.words(1)[0])
        if word < limit:
            return word % stop


def geometric(stream: Stream, probability: float) -> int:
    """Draw the number of trials up to the first success; `probability` in (0, 1]."""
    if probability == 1:
        return 1
    # The integer part of an exponential, whose tail has 53 significant bits.
    return 1 + int(exponentials(stream, 1)[0] / -np.log1p(-probability))


def random_permutation(stream: Stream, count: int) -> IntArray:
    """Draw a uniform permutation of ``0 .. count - 1``: the order of independent words."""
    while True:
        words = stream.words(count)
        order = np.argsort(words)
        words = words[order]
        # Equal words have no order of their own, so draw all again.
        if not (words[1:] == words[:-1]).any():
            return order


def poisson_batches(stream: Stream, n_samples: int, sampling_rate: float,
                    count: int) -> Iterator[IntArray]:
    """Draw `count` Poisson samples of rows.

    Every row enters every batch independently with probability `sampling_rate` in (0, 1). The gaps
    between chosen rows are geometric, so the time of a batch grows with its own size, not with
    `n_samples`.

    Yields
    ------
    indices : ndarray of int64, shape (size of the batch,)
        Increasing. The size of a batch is secret, like its content.
    """
    per_block = int(max(1, min(count, _BLOCK // max(1.0, sampling_rate * n_samples))))
    for start in range(0, count, per_block):
        batches = min(per_block, count - start)
        chosen = _chosen_trials(stream, n_samples * batches, sampling_rate)
        edges = np.searchsorted(chosen, np.arange(batches + 1, dtype=np.int64) * n_samples)
        rows = chosen % n_samples
        for low, high in pairwise(edges):
            yield rows[low:high]


def _chosen_trials(stream: Stream, trials: int, probability: float) -> IntArray:
    """Return the positions of the successes in a row of independent trials."""
    mean = trials * probability
    rate = -np.log1p(-probability)
    pieces: list[IntArray] = []
    last = -1
    while last < trials - 1:
        size = int((mean if not pieces else 0) + 6 * np.sqrt(mean) + 16)
        # Gaps past the end are cut to `trials`, which keeps the sum inside int64.
        gaps = np.minimum(exponentials(stream, size) / rate, float(trials)).astype(np.int64) + 1
        positions = last + np.cumsum(gaps)
        pieces.append(positions)
        last = int(positions[-1])
    chosen = np.concatenate(pieces)
    return chosen[:np.searchsorted(chosen, trials)]
