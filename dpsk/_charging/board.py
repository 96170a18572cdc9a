"""A process posts its open budgets in a note, which its descendants read.

Workers of a pool may be older than a budget and outlive it, so nothing that they inherit tells
them. They read the notes of their ancestors instead. A note is one small file for each process,
in a folder that only its user may read, named by the number and the start of the process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Note", "file_of_this_process", "is_orphan", "note_folder", "post", "posted"]


@dataclass(frozen=True)
class Note:
    """The open budgets of a process.

    Attributes
    ----------
    budgets : tuple of str
        Paths of the files of budgets.
    of_children : dict of str to list of str
        Paths of more of them, for single child processes, by their numbers: what these were
        started for is not done, though the block that they were started in is left.
    in_secret : bool
        Whether fits run there whose number is secret, with code that may fit more.
    """

    budgets: list[str] = field(default_factory=list)
    of_children: dict[str, list[str]] = field(default_factory=dict)
    in_secret: bool = False


@cache
def note_folder() -> str:
    """Return the folder of notes; an OSError unless it is this user's alone.

    It must not follow from the environment, which descendants may have another one of.
    """
    top = "/tmp" if os.access("/tmp", os.W_OK | os.X_OK) else tempfile.gettempdir()
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    folder = os.path.join(top, f"dpsk-{user}")
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    status = os.lstat(folder)
    own = not hasattr(os, "getuid") or (
        status.st_uid == os.getuid() and not status.st_mode & 0o077)
    if not (stat.S_ISDIR(status.st_mode) and own):
        raise OSError(f"The folder {folder!r}, which tells worker processes of open budgets, is "
                      "not this user's alone; remove it.")
    return folder


def post(note: Note) -> None:
    """Say what is open in this process, in place of what was said before."""
    _swept(os.getpid())
    path = _path(_name(os.getpid()))
    if note == Note():
        with suppress(FileNotFoundError):
            os.unlink(path)
        return
    fresh = f"{path}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        json.dump(asdict(note), file)
    # Nobody reads half a note.
    os.replace(fresh, path)


def posted() -> Iterator[Note]:
    """Yield the notes of the processes that this one descends from, as they hold for this one."""
    child = os.getpid()
    for number, name in _ancestors():
        try:
            with open(_path(name), encoding="utf-8") as file:
                found = Note(**json.load(file))
        except FileNotFoundError:
            pass
        else:
            yield replace(found, budgets=found.budgets + found.of_children.get(str(child), []))
        child = number


def _ancestors() -> tuple[tuple[int, str], ...]:
    """Return number and name of the processes that this one descends from, the nearest first."""
    found = _lineage(os.getpid(), os.getppid())
    # A fork server stands between a worker and the process that it works for.
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None or parent.pid in dict(found):
        return found
    return *_lineage(os.getpid(), parent.pid), *found


def is_orphan() -> bool:
    """Return whether the process that this one works for has ended."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None:
        return False
    if sys.platform.startswith("linux"):
        return not _status(parent.pid)
    return parent.pid != os.getppid()


@lru_cache(maxsize=8)
def _lineage(process: int, parent: int) -> tuple[tuple[int, str], ...]:
    """Return number and name of the ancestors of a process whose parent is known."""
    found: dict[int, str] = {}
    while parent > 0 and parent not in found:
        found[parent] = _name(parent)
        parent = _parent(parent)
    return tuple(found.items())


def _path(name: str) -> str:
    return os.path.join(note_folder(), f"{name}.json")


def _parent(process: int) -> int:
    """Return the number of a process's parent, 0 where that is not known."""
    fields = _status(process)
    if fields or sys.platform.startswith("linux"):
        return int(fields[1]) if fields else 0
    try:
        # Systems without /proc; each worker asks once.
        found = subprocess.run(["ps", "-o", "ppid=", "-p", str(process)], capture_output=True,
                               check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(found.stdout)


def file_of_this_process(suffix: str) -> str:
    """Make an empty file that ends with a suffix, and is removed some time after the process."""
    handle, path = tempfile.mkstemp(suffix, _name(os.getpid()), note_folder())
    os.close(handle)
    return path


@lru_cache(maxsize=1)
def _swept(process: int) -> None:
    """Remove what ended processes have left, once in a process."""
    for file in os.listdir(note_folder()):
        namespace, number, *_ = *file.split("-"), "0"
        if namespace == str(_namespace()) and not file.startswith(_name(int(number))):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(note_folder(), file))


def _name(process: int) -> str:
    """Return what names a process: numbers of processes come again, and starts do not."""
    fields = _status(process)
    return f"{_namespace()}-{process}-{fields[19] if fields else 0}-"


@lru_cache(maxsize=1)
def _namespace() -> int:
    """Return what numbers of processes are unique in: containers may share the folder."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _status(process: int) -> list[str]:
    """Return what Linux says of a process, from its state on; nothing elsewhere."""
    if not sys.platform.startswith("linux"):
        return []
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The name of the program, in brackets, may hold anything.
    return text.rpartition(")")[2].split()
