"""A file of records that only grows, which processes may share and a crash does not spoil.

Every record is a line: a checksum over the line before and this text, a space, the text. One lock
spans reading, deciding, appending and flushing to the disk. A line without an end was never
flushed: whoever wrote it has not gone on, so it is cut off. Any other line that is not as its
checksum says ends everything, as what has been spent is then unknown. So does a file without lines
that holds something else than the beginning of one: it is nobody's to overwrite.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:
    # Windows has locks of another name.
    fcntl = None  # type: ignore[assignment]  # the module is missing there
    import msvcrt

__all__ = ["Journal"]

_DIGITS = 32
#: What a crash may leave of a first line.
_TORN = re.compile(rb"[0-9a-f]{0,%d}|[0-9a-f]{%d} .*" % (_DIGITS, _DIGITS), re.DOTALL)


class Journal:
    """Records at a path.

    Parameters
    ----------
    path : str
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def create(self) -> None:
        """Make the file, if there is none, so that it outlasts a crash of the machine."""
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        if hasattr(os, "O_DIRECTORY"):
            folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @contextmanager
    def locked(self) -> Iterator[Pages]:
        """Hold the lock; gives the `Pages`, whose records are those of now.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If a record is not as it was written.
        """
        handle = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            _lock(handle)
            yield Pages(handle, self.path)
        finally:
            # The end of the process gives the lock back as well; closing alone does not, where a
            # child was forked meanwhile.
            _unlock(handle)
            os.close(handle)


class Pages:
    """The records of a file that is locked.

    Attributes
    ----------
    records : list of str
    """

    def __init__(self, handle: int, path: str) -> None:
        self._handle = handle
        text = _read(handle)
        whole = text.rfind(b"\n") + 1
        if not (whole or _TORN.fullmatch(text)):
            raise ValueError(f"path={path!r}: is a file of something else, which is left as it "
                             "is; give another path.")
        self._end, self._digests = whole, [b""]
        self.records = []
        for number, line in enumerate(text[:whole].split(b"\n")[:-1], 1):
            digest, _, record = line.partition(b" ")
            self._digests.append(_checksum(self._digests[-1], record))
            if digest != self._digests[-1]:
                raise ValueError(f"record {number} of {path!r} is not as it was written, so what "
                                 "has been spent is unknown; restore the file, or fit nothing "
                                 "more on these rows.")
            self.records.append(record.decode())

    @property
    def mark(self) -> tuple[int, bytes]:
        """(int, bytes) : what says how far these pages go, and of what."""
        return len(self.records), self._digests[-1]

    def hold(self, mark: tuple[int, bytes]) -> bool:
        """Return whether these pages are those of a mark, or go on from them."""
        count, digest = mark
        return count < len(self._digests) and self._digests[count] == digest

    def append(self, record: str) -> None:
        """Add a record, and wait until it is on the disk."""
        body = record.encode()
        digest = _checksum(self._digests[-1], body)
        os.ftruncate(self._handle, self._end)
        os.lseek(self._handle, self._end, os.SEEK_SET)
        left = line = digest + b" " + body + b"\n"
        while left:
            left = left[os.write(self._handle, left):]
        os.fsync(self._handle)
        self._end += len(line)
        self._digests.append(digest)
        self.records.append(record)


def _read(handle: int) -> bytes:
    """Return all that a file holds."""
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _checksum(previous: bytes, record: bytes) -> bytes:
    # Chained, so that no line is lost or moved unseen but the last ones.
    return hashlib.sha256(previous + b" " + record).hexdigest()[:_DIGITS].encode()


def _lock(handle: int) -> None:
    """Wait for the only lock on a file."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return
    while True:
        os.lseek(handle, 0, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        except OSError:
            # It gives up after ten tries.
            continue
        return


def _unlock(handle: int) -> None:
    """Give the lock back; on Windows, which forks nothing, closing does."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_UN)
