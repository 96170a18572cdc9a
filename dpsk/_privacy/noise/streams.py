"""Streams of random bits, and the draws of indices made from them.

A stream is opened inside one fit and dropped with it: nothing random is ever kept on
an estimator, so clones, pickles, forks and workers cannot replay each other's noise.
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
#: Words of one call: OpenSSL counts bytes in 31 bits.
_MOST_WORDS = 1 << 24
_HIGHEST = np.uint64(1 << 63)


class Stream(Protocol):
    """Independent uniform words, which never come twice."""

    @property
    def reproducible(self) -> bool:
        """Whether somebody who knows the seed has the same words."""

    @property
    def description(self) -> str:
        """Where the words are from."""

    def words(self, count: int) -> WordArray:
        """Return `count` independent uniform 64-bit words."""


class EntropyStream:
    """Words from OpenSSL's generator, keyed anew by the operating system, or straight from it."""

    reproducible = False
    description = ("operating-system entropy, drawn inside the fit" if ssl is None else
                   "operating-system entropy through OpenSSL's generator, keyed anew in the fit")

    def __init__(self) -> None:
        if ssl is not None:
            # It knows a forked process by its number only, which containers and time repeat.
            ssl.RAND_add(os.urandom(_KEY_BYTES), float(_KEY_BYTES))

    def words(self, count: int) -> WordArray:
        """Return `count` independent uniform 64-bit words."""
        draw = os.urandom if ssl is None else ssl.RAND_bytes
        parts = [draw(8 * min(_MOST_WORDS, count - start))
                 for start in range(0, count, _MOST_WORDS)]
        return np.frombuffer(b"".join(parts), dtype=np.uint64)


class KeyedStream:
    """A counter-based stream (Philox) under a secret 128-bit key, the first 16 bytes of `key`."""

    reproducible = True
    description = ("NoiseSeed: Philox stream keyed by HMAC-SHA256 of the seed over method, "
                   f"hyper-parameters and data; {NOT_PRIVATE}")

    def __init__(self, key: bytes) -> None:
        self._bits = np.random.Philox(key=int.from_bytes(key[:16], "little"))

    def words(self, count: int) -> WordArray:
        """Return the next `count` 64-bit words of the stream."""
        return self._bits.random_raw(count)


def open_stream(seed: NoiseSeed | None, context: Callable[[], Iterable[bytes]]) -> Stream:
    """Open the stream of one fit: operating-system entropy without a `seed`, else a keyed one.

    `context` returns what the fit is about as an iterable of bytes (method, hyper-parameters,
    content of the rows). It is hashed into the key, so that one seed in two folds or two
    candidates gives unrelated streams, and called only where there is a seed.
    """
    if seed is None:
        return EntropyStream()
    digest = hmac.new(str(seed.seed).encode(), digestmod=hashlib.sha256)
    for part in context():
        # Each part goes in under its length, so that no two contexts run together.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return KeyedStream(digest.digest())


def signed_uniforms(stream: Stream, count: int) -> tuple[WordArray, FloatArray]:
    """Draw a fair sign and a uniform on (0, 1/2], to 53 significant bits.

    Returns
    -------
    signs : ndarray of uint64, shape (count,)
        The sign in the highest bit, where doubles have theirs; all other bits are zero.
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
    """Draw how many independent trials it takes to succeed once; `probability` in (0, 1]."""
    if probability == 1:
        return 1
    # The whole part of an exponential; its tail has 53 significant bits.
    return 1 + int(exponentials(stream, 1)[0] / -np.log1p(-probability))


def random_permutation(stream: Stream, count: int) -> IntArray:
    """Draw a permutation of ``0 .. count - 1``: the order of independent words.

    Two equal words, of chance ``count^2 / 2^65``, keep their order. Nothing rests on the law:
    a split of rows needs only to be drawn apart from what the rows hold.
    """
    return np.argsort(stream.words(count), kind="stable")


def poisson_batches(stream: Stream, n_samples: int, sampling_rate: float,
                    count: int) -> Iterator[IntArray]:
    """Draw `count` Poisson samples of rows.

    Every row enters every batch independently with probability `sampling_rate` in (0, 1). The gaps
    between chosen rows are geometric, so a batch costs time in its own size, not in
    `n_samples`.

    Yields
    ------
    indices : ndarray of int64, shape (size of the batch,)
        Increasing. Its size is secret, like its content.
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
        # A gap past the end is as good as the end: keeps the sum inside int64.
        gaps = np.minimum(exponentials(stream, size) / rate, float(trials)).astype(np.int64) + 1
        positions = last + np.cumsum(gaps)
        pieces.append(positions)
        last = int(positions[-1])
    chosen = np.concatenate(pieces)
    return chosen[:np.searchsorted(chosen, trials)]
