"""An append-only file of records, shared by processes and safe against crashes.

Every record is a line: a checksum, a space and the text. The checksum covers the previous checksum
and the text. One lock is held while reading, deciding, appending and flushing to the disk. A last
line without its end of line, as in a truncated copy, counts as complete. A last line that lost
more is `torn`: the reader decides what it stands for, and the next record replaces it. Any other
line that does not match its checksum is an error, as the consumed budget is then unknown. A
nonempty file without a valid line is also an error, and is never overwritten.

Locks are those of `flock`. On a file system without locks, nothing is charged. Some network mounts
grant locks that hold on one machine only. Two processes may then append at once: both lines are
kept, the second does not match its checksum, and every later use is an error.
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
    # Windows has other locks.
    fcntl = None  # type: ignore[assignment]  # the module is missing there
    import msvcrt

__all__ = ["Journal"]

_DIGITS = 32
#: Remedies if the system denies access to the file.
_MAKE = ("the file of a budget cannot be made in its folder; give the path of a folder that this "
         "user may write in")
_WRITE = ("this user may not read and write the file of the budget, without which nothing is "
          "charged or drawn; have its owner run chmod on it, run as its owner, or move it off a "
          "read-only file system. To read it alone is enough for python -m dpsk.verify")
_READ = "this user may not read the file of the budget; have its owner run chmod a+r on it"
#: Seconds of waiting for a lock before the warning, and the first and the longest pause between
#: tries. Pauses start short, as a charge takes milliseconds.
_PATIENCE, _FIRST_PAUSE, _LAST_PAUSE = 5.0, 0.001, 0.02


class Journal:
    """Append-only file of records at a path.

    Parameters
    ----------
    path : str
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def create(self) -> bool:
        """Create the file so that it survives a crash; return False if it exists."""
        # A symbolic link may exist before its target.
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
        """Hold the lock and yield the `Pages`, with the current records.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        OSError
            If its file system has no locks.
        ValueError
            If a record does not match its checksum.
        """
        while True:
            with self._locked_handle() as handle:
                # Another file may have replaced this one during the wait.
                if os.path.samestat(os.fstat(handle), os.stat(self.path)):
                    yield Pages(handle, self.path)
                    return

    @contextmanager
    def read(self) -> Iterator[Pages]:
        """Yield the current `Pages` without the lock, for which read access is enough.

        A line that another process is writing at that moment is torn.
        """
        handle = _opened(self.path, os.O_RDONLY, _READ)
        try:
            yield Pages(handle, self.path)
        finally:
            os.close(handle)

    @contextmanager
    def _locked_handle(self) -> Iterator[int]:
        """Hold the lock of the file that is now at the path."""
        handle = _opened(self.path, os.O_RDWR | os.O_APPEND, _WRITE)
        try:
            _lock(handle, self.path)
            try:
                yield handle
            finally:
                # The end of the process releases the lock too. Closing the file does not, if a
                # child process was forked in between.
                _unlock(handle)
        finally:
            os.close(handle)


class Pages:
    """The records of a journal file.

    Attributes
    ----------
    records : list of str
    torn : str or None
        The remaining text of an incomplete last line.
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
        """Store the record of a line; return whether the line matches its checksum."""
        digest, _, record = line.partition(b" ")
        expected = _checksum(self._digests[-1], record)
        if digest != expected:
            return False
        self._digests.append(expected)
        self.records.append(record.decode())
        return True

    @property
    def mark(self) -> tuple[int, bytes]:
        """(int, bytes) : the number of records, and the checksum of the last one."""
        return len(self.records), self._digests[-1]

    @property
    def checksum(self) -> str:
        """str : checksum of the last line, which covers all lines."""
        return self._digests[-1].decode()

    def hold(self, mark: tuple[int, bytes]) -> bool:
        """Return whether these pages equal the pages of a mark, or extend them."""
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
        """Write a line at the end of the file; remove it again if that fails."""
        left = line
        try:
            while left:
                left = left[os.write(self._handle, left):]
        except BaseException:
            os.ftruncate(self._handle, self._end)
            raise

    def _replace_torn(self, line: bytes) -> None:
        """Write a line over a torn one, which stands for a charge until then."""
        # A handle for appending writes only at the end of the file.
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
    """Return a file handle; raise an OSError with a remedy if access is denied."""
    try:
        return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise type(error)(error.errno, f"path={path!r}: {remedy}.") from error


def _read(handle: int) -> bytes:
    """Return the content of a file."""
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _checksum(previous: bytes, record: bytes) -> bytes:
    # Checksums are chained, so that any lost or moved line is detected, except lost last lines.
    return hashlib.sha256(previous + b" " + record).hexdigest()[:_DIGITS].encode()


def _lock(handle: int, path: str) -> None:
    """Wait for the exclusive lock on a file; raise an OSError without locks."""
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
            # LK_LOCK gives up after ten tries, one per second.
            _warn_of_lock(path)
            continue
        return


def _lock_soon(handle: int) -> bool:
    """Return whether the lock was acquired before the warning is due."""
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
    """Release the lock; on Windows, which has no fork, closing the file does."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_UN)
