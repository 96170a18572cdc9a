"""Children, parents and folders, as each system tells of them."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import pytest

from dpsk._charging import board

#: No process has it.
NOBODY = 2**22 + 5
PLATFORMS = pytest.mark.parametrize("platform", [
    pytest.param("linux", marks=pytest.mark.skipif(sys.platform != "linux", reason="has /proc")),
    pytest.param("darwin", marks=pytest.mark.skipif(
        shutil.which("ps") is None, reason="asks ps"))])


@pytest.fixture
def fresh_folder():
    """Forget the folder of notes, before a test and after it."""
    board.note_folder.cache_clear()
    yield
    board.note_folder.cache_clear()


@pytest.fixture
def no_others(monkeypatch):
    """Pools of other tests have children that `multiprocessing` knows."""
    monkeypatch.setattr(multiprocessing, "active_children", list)


@PLATFORMS
def test_a_child_lives_until_it_ends_and_not_until_somebody_waits_for_it(platform, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert (child.pid, board._name(child.pid)) in board.living_children()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.pid not in dict(board.living_children())
    finally:
        child.kill()
        child.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_child_without_a_command_line_works_and_may_have_one_soon(monkeypatch):
    """As in the moment at which a programme takes the place of another."""
    lines = [[], [], ["python", "-m", "joblib.externals.loky.backend.popen_loky_posix"]]
    child = subprocess.Popen(["sleep", "60"])
    try:
        monkeypatch.setattr(board, "_arguments", lambda process: [])
        assert child.pid in dict(board.living_children())
        monkeypatch.setattr(board, "_arguments", lambda process: lines.pop(0) if process ==
                            child.pid else [])
        monkeypatch.setattr(board, "pool_processes", lambda: {child.pid})
        assert child.pid not in dict(board.living_children()) and not lines
    finally:
        child.kill()
        child.wait()


def test_what_ps_lists_are_children_that_work(monkeypatch, no_others):
    """Neither those of others, nor what has ended or stands by, nor `ps` itself."""
    me = os.getpid()
    listed = [
        (1001, me, "S", "python -c from somewhere import main;main()"),
        (1002, me, "R+", "python train.py -m joblib.externals.loky.backend"),
        (1003, me, "Z+", "<defunct> of somebody"),
        (1004, 1, "S", "python train.py"),
        (1005, me, "S", "python -m joblib.externals.loky.backend.popen_loky_posix --pipe 3"),
        (1006, me, "S", "python -m loky.backend.popen_loky_posix --pipe 3"),
        (1007, me, "S", "python -c from multiprocessing.resource_tracker import main;main(3)"),
        (1008, me, "S", "python -c from multiprocessing.forkserver import main; main(3, 4)"),
        (1009, me, "R", "ps -A -o pid=,ppid=,stat=,command="),
        (1010, me, "S", "")]
    text = "".join(f"{' '.join(map(str, row))}\n" for row in listed)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: SimpleNamespace(stdout=text))
    # Whatever its command line, a worker is of some pool.
    for pools, found in (({1002, 1005, 1006}, [1001, 1002]), (set(), [1001, 1002, 1005, 1006])):
        monkeypatch.setattr(board, "pool_processes", lambda pools=pools: pools)
        assert [number for number, _ in board.living_children()] == found


@pytest.mark.parametrize("error", [FileNotFoundError, subprocess.CalledProcessError])
def test_without_ps_nothing_is_known_but_what_multiprocessing_has_started(
        monkeypatch, no_others, error):
    def refused(*args, **options):
        raise error(*((1, "ps") if error is subprocess.CalledProcessError else ()))

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "run", refused)
    assert board.living_children() == [] and board._parent(os.getpid()) == 0
    monkeypatch.setattr(multiprocessing, "active_children", lambda: [SimpleNamespace(pid=1001)])
    assert [number for number, _ in board.living_children()] == [1001]


@PLATFORMS
def test_an_orphan_is_known_by_its_parent(platform, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    for parent, ended in ((None, False), (SimpleNamespace(pid=None), False),
                          (SimpleNamespace(pid=os.getppid()), False),
                          (SimpleNamespace(pid=NOBODY), True)):
        monkeypatch.setattr(multiprocessing, "parent_process", lambda parent=parent: parent)
        assert board.is_orphan() == ended


def test_a_process_that_is_gone_has_nothing():
    assert board._parent(NOBODY) == 0 and board._command_line(NOBODY) == []
    assert board._status(NOBODY) == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="asks who the user is")
def test_the_folder_of_notes_is_found_whatever_the_system_lacks(
        monkeypatch, tmp_path, fresh_folder):
    monkeypatch.setattr(board, "_TOP", str(tmp_path))
    assert board.note_folder() == str(tmp_path / f"dpsk-{os.getuid()}")
    board.note_folder.cache_clear()
    monkeypatch.setattr(board, "_TOP", str(tmp_path / "missing"))
    monkeypatch.setattr(os.path, "expanduser", lambda path: str(tmp_path / path[-5:]))
    assert board.note_folder() == str(tmp_path / ".dpsk")

    def unknown(user):
        raise KeyError(user)

    board.note_folder.cache_clear()
    monkeypatch.setattr(board.pwd, "getpwuid", unknown)
    monkeypatch.setattr(os.path, "expanduser", {"~/.dpsk": str(tmp_path / "of nobody")}.get)
    assert board.note_folder() == str(tmp_path / "of nobody")


def test_without_numbers_of_users_the_folder_has_their_names(monkeypatch, tmp_path, fresh_folder):
    monkeypatch.delattr(os, "getuid", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("USERNAME", "ada")
    for _ in range(2):
        assert board.note_folder() == str(tmp_path / "dpsk-ada") and os.path.isdir(
            tmp_path / "dpsk-ada")
        board.note_folder.cache_clear()
