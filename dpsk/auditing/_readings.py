"""Readings of text, bytes and digits that separate exact values from noisy ones."""

import re
import zlib
from functools import lru_cache

import numpy as np

__all__ = ["bytes_read", "digits", "hashed", "is_cut", "text_read"]

#: Maximum number of bytes read from the start and the end, of pieces of a text, and of entries
#: whose digits are read.
_HEAD, _TAIL, _PIECES, _ENTRIES = 2048, 512, 200, 256
#: First bytes of data compressed by gzip, zlib, bz2, lzma and zip.
_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"BZh",
               b"\xfd7zXZ", b"PK")
#: Maximum number of characters in which pieces are looked for.
_TEXT = 20_000
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"\w+")
#: Grid points per unit of the grids beyond which digits are read, and the number of entries.
_GRIDS, _GRIDDED = 2.0 ** np.array([[0], [20], [30]]), 16


def is_cut(value):
    """Return whether readings omit part of a string or bytes, or cannot decode them."""
    return len(value) > _HEAD + _TAIL or (
        not isinstance(value, str) and bytes(value).startswith(_COMPRESSED))


@lru_cache(maxsize=1024)
def bytes_read(value, as_numbers=True):
    """Return readings of bytes by kind.

    Parameters
    ----------
    value : bytes
    as_numbers : bool, default=True
        Whether to read the bytes also as consecutive numbers of 8 and of 4 bytes.

    Returns
    -------
    numbers, labels : dict of str to ndarray
        Chunks as numbers, and each byte by its position from the start and from the end.
    """
    labels = {"byte": np.frombuffer(value[:_HEAD], np.uint8),
              "byte from the end": np.frombuffer(value[-_TAIL:], np.uint8)[::-1]}
    numbers = {}
    for kind in ("<f8", "<i8", "<f4", "<i4") if as_numbers else ():
        size = np.dtype(kind).itemsize
        whole = value[:min(len(value), _HEAD) // size * size]
        with np.errstate(all="ignore"):
            numbers[f"{kind[1:]} in bytes"] = np.frombuffer(whole, kind).astype(np.float64)
    return numbers, labels


@lru_cache(maxsize=1024)
def text_read(text):
    """Return readings of a text by kind.

    Parameters
    ----------
    text : str

    Returns
    -------
    numbers, labels : dict of str to ndarray
        Numbers in the text, in order; words, lines and bytes by their positions.
    """
    labels = bytes_read(text.encode("utf-8", "surrogatepass"), False)[1]
    text = text[:_TEXT]
    found = [float(each.group()) for each, _ in zip(_NUMBER.finditer(text), range(_PIECES),
                                                    strict=False)]
    pieces = {"word": [each.group() for each, _ in zip(_WORD.finditer(text), range(_PIECES),
                                                       strict=False)],
              "line": text.splitlines()[:_PIECES]}
    return {"number": np.array(found)}, {**labels, **{
        kind: np.array([hashed(each) for each in some]) for kind, some in pieces.items()}}


def digits(entries):
    """Return low digits of numbers by kind, to be treated as labels.

    Parameters
    ----------
    entries : ndarray of int or float of shape (n,)

    Returns
    -------
    labels : dict of str to ndarray
        Remainders of integers; the lowest byte and the sign of floats, and the next three bits
        after the last one that a coarse grid would leave.
    """
    entries = entries[:_ENTRIES]
    if entries.dtype.kind in "iu":
        entries = entries.astype(np.uint64 if entries.dtype.kind == "u" else np.int64)
        return {f"remainder by {by}": (entries % by).astype(np.uint8) for by in (2, 10, 256)}
    values = entries.astype(np.float64)
    bits = values.view(np.uint64)
    lowest = (bits & np.uint64(0xFF)) + ((bits >> np.uint64(63)) << np.uint64(8))
    with np.errstate(all="ignore"):
        eighths = np.floor(np.mod(values[:_GRIDDED] * _GRIDS, 1.0) * 8.0)
    return {"low digits": np.concatenate([lowest.astype(np.float64), eighths.ravel()])}


def hashed(value):
    """Return a hash of bytes, or of the repr of another value, as a float."""
    return float(zlib.crc32(value if isinstance(value, bytes) else repr(value).encode()))
