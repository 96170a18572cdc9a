"""Notes through which a process tells its descendants which budgets are open.

Workers of a pool may be older than a budget and outlive it, so they cannot inherit the list of
open budgets. They read the notes of their ancestors instead. A note is one small file per process,
in a folder that only its user may read. Its name holds the id and the start time of the process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from dpsk._charging.threads import pool_processes

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import pwd
except ImportError:
    # Windows has no such list of users.
    pwd = None  # type: ignore[assignment]  # the module is missing there

__all__ = ["Note", "file_of_this_process", "inherited", "is_below_another_user", "is_orphan",
           "is_posted", "living_children", "note_folder", "post", "posted"]

_STARTED_WITHIN = "DPSK_STARTED_WITHIN"
#: Value of the environment variable when this program started; a fork keeps it in memory.
_INHERITED = os.environ.get(_STARTED_WITHIN, "")
_TOP = "/tmp"
#: Modules and code prefixes that idle helper processes run, such as workers and fork servers.
_HELPING_MODULES = ("joblib.externals.loky.", "loky.")
_HELPING_CODE = tuple(f"from {module} import main" for module in (
    "multiprocessing.resource_tracker", "multiprocessing.forkserver",
    "joblib.externals.loky.backend.resource_tracker", "loky.backend.resource_tracker"))
#: Number of tries to read a command line, and seconds between them: it appears within that time.
_LOOKS, _BETWEEN_LOOKS = 20, 0.001


@dataclass(frozen=True)
class Note:
    """The open budgets of a process.

    Attributes
    ----------
    budgets : list of str
        Paths of the files of open budgets.
    of_children : dict of str to list of str
        Paths of further budgets that are open for single child processes, by process id. These
        children were started in a block that has been left, and have not ended.
    in_secret : bool
        Whether the process makes a secret number of fits with code that may fit more.
    secret_children : list of int
        Ids of living child processes that such code has started.
    """

    budgets: list[str] = field(default_factory=list)
    of_children: dict[str, list[str]] = field(default_factory=dict)
    in_secret: bool = False
    secret_children: list[int] = field(default_factory=list)


class NoFolderError(OSError):
    """There is no private folder, so no process of this user can post a note."""


@cache
def note_folder() -> str:
    """Return this user's private folder of notes, or raise a NoFolderError.

    On POSIX its path does not depend on the environment, which descendants may have changed.
    """
    if not hasattr(os, "getuid"):
        folder = os.path.join(tempfile.gettempdir(), f"dpsk-{os.environ.get('USERNAME', 'user')}")
        os.makedirs(folder, exist_ok=True)
        return folder
    user = os.getuid()
    # If another user has created the first folder, use one in this user's home.
    for folder in (os.path.join(_TOP, f"dpsk-{user}"), os.path.expanduser(f"~{_home()}/.dpsk")):
        with suppress(OSError):
            os.mkdir(folder, 0o700)
        with suppress(FileNotFoundError):
            status = os.lstat(folder)
            if stat.S_ISDIR(status.st_mode) and status.st_uid == user and not (
                    status.st_mode & 0o077):
                return folder
    raise NoFolderError("There is no folder to tell worker processes of open budgets in: "
                        f"{os.path.join(_TOP, f'dpsk-{user}')!r} is not this user's alone, nor "
                        "is .dpsk in the home folder; remove one, or change its mode to 700.")


def _home() -> str:
    """Return the name of this user, as the variable HOME may name another folder."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def post(note: Note) -> None:
    """Post the note of this process, in place of its last one."""
    if not os.path.isdir(note_folder()):
        # A cleaner of temporary files may have removed the folder.
        note_folder.cache_clear()
    _swept(os.getpid())
    _mark(note)
    path = _path(_name(os.getpid()))
    if note == Note():
        with suppress(FileNotFoundError):
            os.unlink(path)
        return
    fresh = f"{path}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        json.dump(asdict(note), file)
    # Replace the file atomically, so that no process reads half a note.
    os.replace(fresh, path)


def is_posted() -> bool:
    """Return whether the note of this process still exists."""
    return os.path.exists(_path(_name(os.getpid())))


def posted() -> Iterator[Note]:
    """Yield the notes of the ancestors of this process, as they apply to it."""
    below = [os.getpid()]
    try:
        note_folder()
    except NoFolderError:
        return
    for number, name in _ancestors():
        try:
            with open(_path(name), encoding="utf-8") as file:
                found = Note(**json.load(file))
        except FileNotFoundError:
            pass
        else:
            more = [path for each in below for path in found.of_children.get(str(each), [])]
            yield replace(found, budgets=found.budgets + more, in_secret=found.in_secret or any(
                each in found.secret_children for each in below))
        below.append(number)


def inherited() -> Note:
    """Return the note in the environment, if its author is not a known ancestor.

    The process that started this one may have ended, one between them may have ended, or its notes
    may be in another folder. Its note file cannot be found then.
    """
    if not _INHERITED:
        return Note()
    starter, folder, in_secret, paths = json.loads(_INHERITED)
    seen = {name for _, name in _ancestors()} if folder == _identity_of_folder() else set()
    # A program that replaced another by exec has the same process name.
    return (Note() if starter in seen and starter != _name(os.getpid())
            else Note(paths, in_secret=in_secret))


def _mark(note: Note) -> None:
    """Pass the name and the note of this process to its children, in the environment."""
    said = json.dumps([_name(os.getpid()), _identity_of_folder(), note.in_secret, note.budgets]
                      ) if note.budgets or note.in_secret else _INHERITED
    if said:
        os.environ[_STARTED_WITHIN] = said
    else:
        os.environ.pop(_STARTED_WITHIN, None)


def _identity_of_folder() -> str:
    """Return an identifier of the folder of notes, which differs between containers."""
    try:
        status = os.stat(note_folder())
    except OSError:
        return ""
    return f"{note_folder()} {status.st_dev} {status.st_ino}"


def living_children() -> list[tuple[int, str]]:
    """Return id and name of living child processes, except helpers and pool workers."""
    lines, pools = _lines_of_children(), pool_processes()
    # Not every process that loky starts is a worker of a pool.
    workers = {number for number, line in lines.items() if number in pools
               and _runs(line, "-m", _HELPING_MODULES)}
    found = {number for number, line in lines.items() if not _runs(line, "-c", _HELPING_CODE)}
    # A child of a fork server has the command line of the server, and another parent.
    found |= {each.pid for each in multiprocessing.active_children() if each.pid is not None}
    return [(each, _name(each)) for each in sorted(found - workers)]


def _runs(line: list[str], option: str, starts: tuple[str, ...]) -> bool:
    """Return whether Python runs a module or code that begins with one of `starts`."""
    for each, value in pairwise(line):
        if each in ("-c", "-m"):
            # Later arguments belong to the program.
            return each == option and value.startswith(starts)
    return False


def _lines_of_children() -> dict[int, list[str]]:
    """Return the command lines of the children of this process, by process id.

    Zombies are left out: children that have ended and were not waited for.
    """
    if sys.platform.startswith("linux"):
        own = str(os.getpid())
        return {number: _command_line(number) for number in map(int, filter(
            str.isdecimal, os.listdir("/proc"))) if _status(number)[1:2] == [own]
            and _works(number)}
    try:
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat=,command="],
                                capture_output=True, check=True, text=True, errors="replace")
    except (OSError, subprocess.CalledProcessError):
        # On Windows, only the children that `multiprocessing` knows are found.
        return {}
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    return {int(row[0]): row[3].split(" ", 2)
            for row in rows if len(row) == 4 and int(row[1]) == os.getpid()
            and not row[2].startswith("Z") and not row[3].startswith("ps -A -o pid=")}


def _works(process: int) -> bool:
    """Return whether a process is alive, on Linux."""
    return _status(process)[:1] not in ([], ["Z"], ["X"])


def _command_line(process: int) -> list[str]:
    """Return the command line of a process on Linux, program first.

    It is empty for a moment while a process executes a new program.
    """
    for _ in range(_LOOKS):
        line = _arguments(process)
        if line or not _works(process):
            return line
        time.sleep(_BETWEEN_LOOKS)
    return []


def _arguments(process: int) -> list[str]:
    try:
        with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().split("\0")[:-1]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _ancestors() -> tuple[tuple[int, str], ...]:
    """Return id and name of the ancestors of this process, the nearest first."""
    found = _lineage(os.getpid(), os.getppid())
    # A fork server stands between a worker and the process that it works for.
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None or parent.pid in dict(found):
        return found
    return *_lineage(os.getpid(), parent.pid), *found


def is_orphan() -> bool:
    """Return whether the process that started this worker has ended."""
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None:
        return False
    if sys.platform.startswith("linux"):
        return not _status(parent.pid)
    return parent.pid != os.getppid()


def is_below_another_user() -> bool:
    """Return whether a Python ancestor, on Linux, is of another user, whose notes are private."""
    for number, _ in _ancestors():
        with suppress(OSError):
            user = os.stat(f"/proc/{number}").st_uid
            if user != os.getuid() and os.path.isdir(os.path.join(_TOP, f"dpsk-{user}")) and any(
                    "python" in os.path.basename(each) for each in _arguments(number)[:1]):
                return True
    return False


@lru_cache(maxsize=8)
def _lineage(process: int, parent: int) -> tuple[tuple[int, str], ...]:
    """Return id and name of the ancestors of a process, given the id of its parent."""
    found: dict[int, str] = {}
    while parent > 0 and parent not in found:
        found[parent] = _name(parent)
        parent = _parent(parent)
    return tuple(found.items())


def _path(name: str) -> str:
    return os.path.join(note_folder(), f"{name}.json")


def _parent(process: int) -> int:
    """Return the id of the parent of a process, or 0 if it is unknown."""
    fields = _status(process)
    if fields or sys.platform.startswith("linux"):
        return int(fields[1]) if fields else 0
    try:
        # Systems without /proc; the result is cached, so each worker runs `ps` once.
        found = subprocess.run(["ps", "-o", "ppid=", "-p", str(process)], capture_output=True,
                               check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(found.stdout)


def file_of_this_process(suffix: str) -> str:
    """Create an empty file, which is removed some time after this process ends."""
    handle, path = tempfile.mkstemp(suffix, _name(os.getpid()), note_folder())
    os.close(handle)
    return path


@lru_cache(maxsize=1)
def _swept(process: int) -> None:
    """Remove files of processes that have ended, once per process."""
    for file in os.listdir(note_folder()):
        namespace, number, *_ = *file.split("-"), "0"
        known = namespace == str(_namespace()) and number.isdecimal()
        if known and not file.startswith(_name(int(number))):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(note_folder(), file))


def _name(process: int) -> str:
    """Return a unique name of a process: process ids are reused, start times are not."""
    fields = _status(process)
    return f"{_namespace()}-{process}-{fields[19] if fields else 0}-"


@lru_cache(maxsize=1)
def _namespace() -> int:
    """Return the PID namespace, as containers may share the folder of notes."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _status(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty outside Linux."""
    if not sys.platform.startswith("linux"):
        return []
    try:
        # Every charge reads this for all processes, and text mode takes twice as long.
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            text = file.read().decode("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    # The program name, in parentheses, may contain spaces and parentheses.
    return text.rpartition(")")[2].split()
