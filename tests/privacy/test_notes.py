"""Notes of processes on open budgets: whose they are, who reads them, and when they go."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time

import pytest

from dpsk._charging import board
from tests.charging.test_unfinished import budget, evaluated
from tests.charging.test_workers import LINUX


@pytest.mark.thorough
@LINUX
def test_who_has_lost_its_parent_knows():
    """A child of a spawned process that has ended meanwhile."""
    script = ("import multiprocessing as mp, os, sys, time\n"
              "def last(path):\n"
              "    from dpsk._charging.board import is_orphan\n"
              "    while os.getppid() == parent(): time.sleep(.01)\n"
              "    open(path, 'w').write(str(is_orphan()))\n"
              "def parent(): return mp.parent_process().pid\n"
              "if __name__ == '__main__':\n"
              "    mp.get_context('fork').Process(target=last, args=sys.argv[1:]).start()\n"
              "    os._exit(0)\n")
    found = board.file_of_this_process(".orphan")
    subprocess.run([sys.executable, "-c", script, found], check=True)
    for _ in range(1000):
        with open(found, encoding="utf-8") as file:
            text = file.read()
        if text:
            break
        time.sleep(0.02)
    os.unlink(found)
    assert text == "True"


@pytest.mark.skipif(shutil.which("ps") is None, reason="asks ps")
def test_ancestors_are_found_without_proc(monkeypatch):
    """As on other systems than Linux: this process's parent has the same parent either way."""
    parent = board._parent(os.getpid())
    monkeypatch.setattr(sys, "platform", "darwin")
    assert parent in (os.getppid(), 0)
    assert board._parent(os.getpid()) == os.getppid()
    assert board._parent(2**22 + 5) == 0


def test_notes_are_for_their_user_alone_and_go_with_the_block():
    note = board._path(board._name(os.getpid()))
    with budget() as open_one:
        with open(note, encoding="utf-8") as file:
            assert json.load(file)["budgets"] == [open_one.path]
        assert json.loads(os.environ["DPSK_STARTED_WITHIN"])[-1] == [open_one.path]
    assert not os.path.exists(note)
    assert os.environ.get("DPSK_STARTED_WITHIN", "") == board._INHERITED
    folder = os.stat(board.note_folder())
    assert stat.S_IMODE(folder.st_mode) == 0o700
    if hasattr(os, "getuid"):
        assert folder.st_uid == os.getuid()


@pytest.mark.parametrize("gone", ["note", "folder"])
def test_what_cleans_temporary_files_up_hides_no_budget(monkeypatch, tmp_path, gone):
    monkeypatch.setattr(board, "_TOP", str(tmp_path))
    board.note_folder.cache_clear()
    try:
        with budget() as open_one:
            note = board._path(board._name(os.getpid()))
            os.unlink(note)
            if gone == "folder":
                os.rmdir(board.note_folder())
            evaluated()
            with open(note, encoding="utf-8") as file:
                assert json.load(file)["budgets"] == [open_one.path]
        assert not os.path.exists(note)
    finally:
        monkeypatch.undo()
        board.note_folder.cache_clear()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes are of other systems")
@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_a_folder_of_notes_that_others_may_read_is_refused(monkeypatch, tmp_path, mode):
    home = tmp_path / "home"
    for folder in (tmp_path / f"dpsk-{os.getuid()}", home / ".dpsk"):
        folder.mkdir(parents=True)
        folder.chmod(mode)
    monkeypatch.setattr(board, "_TOP", str(tmp_path))
    monkeypatch.setattr(board.os.path, "expanduser", lambda path: str(home / ".dpsk"))
    board.note_folder.cache_clear()
    try:
        with pytest.raises(OSError, match="not this user's alone"), budget():
            pytest.fail("entered")
        # Where nobody can post a note there is none to read.
        evaluated()
        # The one at home stands in for the other.
        (home / ".dpsk").chmod(0o700)
        board.note_folder.cache_clear()
        assert board.note_folder() == str(home / ".dpsk")
    finally:
        monkeypatch.undo()
        board.note_folder.cache_clear()


@pytest.mark.thorough
@LINUX
def test_what_ended_processes_left_is_swept():
    child = subprocess.run([sys.executable, "-c", "import os\nfrom dpsk._charging import board\n"
                            "board.post(board.Note(['a'])); print(board._path(board._name("
                            "os.getpid())))"], check=True, capture_output=True, text=True)
    left = child.stdout.strip()
    assert os.path.exists(left)
    board._swept.cache_clear()
    with budget():
        assert not os.path.exists(left)


def test_what_another_container_left_is_not_swept(monkeypatch, tmp_path):
    """Numbers of processes say nothing of those of another namespace in the same folder."""
    monkeypatch.setattr(board, "note_folder", lambda: str(tmp_path))
    other = tmp_path / f"{board._namespace() + 1}-{os.getpid()}-1-.json"
    other.touch()
    board._swept.cache_clear()
    board._swept(os.getpid())
    assert other.exists()


def test_a_note_names_the_budgets_that_its_process_was_started_within(monkeypatch):
    """Those that this process starts may see it, and not who started it."""
    with budget() as outer:
        pass
    # What children are told is put back as well.
    monkeypatch.setenv("DPSK_STARTED_WITHIN", "")
    monkeypatch.setattr(board, "_INHERITED", json.dumps(
        ["who has ended", "", False, [outer.path]]))
    note = board._path(board._name(os.getpid()))
    with budget() as inner:
        with open(note, encoding="utf-8") as file:
            assert json.load(file)["budgets"] == [inner.path, outer.path]
        evaluated()
    assert not os.path.exists(note)
    assert os.environ["DPSK_STARTED_WITHIN"] == board._INHERITED
    assert len(inner.charges) == len(outer.charges) == 1
