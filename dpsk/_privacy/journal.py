"""A file of records that only grows, which processes may share and a crash does not spoil.

Every record is a line: a checksum over the line before and this text, a space, the text. One lock
spans reading, deciding, appending and flushing to the disk. A last line that lost only its end of
line, as in a copy that was cut, counts as any other. A last line that lost more is `torn`: whoever
reads says what it stands for, and the next record takes its place. Any other line that is not as
its checksum says ends everything, as what has been spent is then unknown. So does a file without
lines that is not empty: it is nobody's to overwrite.

Locks are those of `flock`. Where a file system has none, nothing is read and nothing written.
Where it pretends to have them (some network mounts keep them to one machine), two processes may
append at once: both lines are kept, the second does not follow from the first, and everything
ends there.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
import warnings
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
#: What to do about a file that the system does not let this process have.
_MAKE = ("the file of a budget cannot be made in its folder; give the path of a folder that this "
         "user may write in")
_WRITE = ("this user may not read and write the file of the budget, without which nothing is "
          "charged or drawn; have its owner run chmod on it, run as its owner, or move it off a "
          "read-only file system. To read it alone is enough for python -m dpsk.verify")
_READ = "this user may not read the file of the budget; have its owner run chmod a+r on it"
#: Seconds until whoever waits for a lock is told, and those between tries until then: short
#: first, as a charge takes milliseconds.
_PATIENCE, _FIRST_PAUSE, _LAST_PAUSE = 5.0, 0.001, 0.02


class Journal:
    """Records at a path.

    Parameters
    ----------
    path : str
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def create(self) -> bool:
        """Make the file, to outlast a crash of the machine; return whether there was none."""
        # A link may be made before its file.
        path = os.path.realpath(self.path)
        try:
            os.close(_opened(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _MAKE))
        except FileExistsError:
            return False
        if hasattr(os, "O_DIRECTORY"):
            folder = os.open(os.path.dirname(path), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return True

    @contextmanager
    def locked(self) -> Iterator[Pages]:
        """Hold the lock; gives the `Pages`, whose records are those of now.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        OSError
            If its file system has no locks.
        ValueError
            If a record is not as it was written.
        """
        while True:
            with self._locked_handle() as handle:
                # Another file may have taken its place while this one was waited for.
                if os.path.samestat(os.fstat(handle), os.stat(self.path)):
                    yield Pages(handle, self.path)
                    return

    @contextmanager
    def read(self) -> Iterator[Pages]:
        """Give the `Pages` as they are, to whoever may read the file and not write it.

        A line that is being written meanwhile is torn.
        """
        handle = _opened(self.path, os.O_RDONLY, _READ)
        try:
            yield Pages(handle, self.path)
        finally:
            os.close(handle)

    @contextmanager
    def _locked_handle(self) -> Iterator[int]:
        """Hold the lock of the file that is at the path now."""
        handle = _opened(self.path, os.O_RDWR | os.O_APPEND, _WRITE)
        try:
            _lock(handle, self.path)
            try:
                yield handle
            finally:
                # The end of the process gives the lock back as well; closing alone does not,
                # where a child was forked meanwhile.
                _unlock(handle)
        finally:
            os.close(handle)


class Pages:
    """The records of a file that is locked.

    Attributes
    ----------
    records : list of str
    torn : str or None
        What is there of the text of a last line that is not whole.
    """

    def __init__(self, handle: int, path: str) -> None:
        self._handle, self._path = handle, path
        *lines, tail = _read(handle).split(b"\n")
        self._end, self._digests = 0, [b""]
        self.records: list[str] = []
        self.torn = None
        for number, line in enumerate(lines, 1):
            if not self._takes(line):
                raise ValueError(f"record {number} of {path!r} is not as it was written, so what "
                                 "has been spent is unknown; restore the file, or fit nothing "
                                 "more on these rows.")
            self._end += len(line) + 1
        if tail and not self._takes(tail):
            if not self.records:
                raise ValueError(f"path={path!r}: is a file of something else, or of a budget "
                                 "whose first line was cut; it is left as it is. Give another "
                                 "path.")
            self.torn = tail.partition(b" ")[2].decode(errors="replace")
        elif tail:
            self._end += len(tail)
        self._ends_inside = bool(tail) and self.torn is None

    def _takes(self, line: bytes) -> bool:
        """Keep the record of a line; return whether the line is whole."""
        digest, _, record = line.partition(b" ")
        expected = _checksum(self._digests[-1], record)
        if digest != expected:
            return False
        self._digests.append(expected)
        self.records.append(record.decode())
        return True

    @property
    def mark(self) -> tuple[int, bytes]:
        """(int, bytes) : what says how far these pages go, and of what."""
        return len(self.records), self._digests[-1]

    @property
    def checksum(self) -> str:
        """str : that of the last line, which stands for all lines."""
        return self._digests[-1].decode()

    def hold(self, mark: tuple[int, bytes]) -> bool:
        """Return whether these pages are those of a mark, or go on from them."""
        count, digest = mark
        return count < len(self._digests) and self._digests[count] == digest

    def append(self, record: str) -> None:
        """Add a record, and wait until it is on the disk."""
        body = record.encode()
        digest = _checksum(self._digests[-1], body)
        line = b"\n" * self._ends_inside + digest + b" " + body + b"\n"
        if self.torn is not None:
            self._replace_torn(line)
        else:
            self._extend(line)
        os.fsync(self._handle)
        self._end += len(line)
        self._ends_inside, self.torn = False, None
        self._digests.append(digest)
        self.records.append(record)

    def _extend(self, line: bytes) -> None:
        """Write a line at the end of the file; leave nothing of it where that fails."""
        left = line
        try:
            while left:
                left = left[os.write(self._handle, left):]
        except BaseException:
            os.ftruncate(self._handle, self._end)
            raise

    def _replace_torn(self, line: bytes) -> None:
        """Write a line over a torn one, which tells of a charge until then."""
        # A handle that appends writes nowhere else.
        handle = _opened(self._path, os.O_RDWR, _WRITE)
        try:
            os.lseek(handle, self._end, os.SEEK_SET)
            left = line
            while left:
                left = left[os.write(handle, left):]
            os.ftruncate(handle, self._end + len(line))
        finally:
            os.close(handle)


def _opened(path: str, flags: int, remedy: str) -> int:
    """Return a handle of a file; where the system forbids it, an OSError with a remedy."""
    try:
        return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise type(error)(error.errno, f"path={path!r}: {remedy}.") from error


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


def _lock(handle: int, path: str) -> None:
    """Wait for the only lock on a file; an OSError where there are no locks."""
    if fcntl is not None:
        try:
            if not _lock_soon(handle):
                _warn_of_lock(path)
                fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            raise OSError(error.errno, f"path={path!r}: its file system has no locks, so two fits "
                          "could spend the same budget; put the file on a local disk, or on a "
                          "network mount with locks.") from error
        return
    while True:
        os.lseek(handle, 0, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        except OSError:
            # It gives up after ten tries, one a second.
            _warn_of_lock(path)
            continue
        return


def _lock_soon(handle: int) -> bool:
    """Return whether the lock was got before whoever waits is to be told."""
    until, pause = time.monotonic() + _PATIENCE, _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(pause)
            pause = min(2.0 * pause, _LAST_PAUSE)
        else:
            return True


def _warn_of_lock(path: str) -> None:
    warnings.warn(
        f"path={path!r}: waits for the lock of this file of a budget, which another process has "
        f"held for {_PATIENCE:g} seconds; a charge takes less than one. Find it by `lsof` or "
        "`fuser` of the path, and end it if it hangs; do not remove or replace the file.",
        RuntimeWarning, stacklevel=2)


def _unlock(handle: int) -> None:
    """Give the lock back; on Windows, which forks nothing, closing does."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_UN)
