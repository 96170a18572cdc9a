"""Records survive a crash at any byte, and tell of any other change."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpsk._privacy.journal import Journal

RECORDS = ["terms", "one", "a longer record", "three"]


@pytest.fixture
def journal(tmp_path):
    made = Journal(tmp_path / "journal")
    made.create()
    with made.locked() as pages:
        for record in RECORDS:
            pages.append(record)
    return made


def records(journal):
    with journal.locked() as pages:
        return pages.records


def test_a_journal_cut_at_any_byte_holds_all_that_is_whole_and_tells_of_the_rest(journal):
    with open(journal.path, "rb") as file:
        text = file.read()
    ends = [place for place, byte in enumerate(text) if byte == ord("\n")]
    for size in range(len(text) + 1):
        with open(journal.path, "wb") as file:
            file.write(text[:size])
        whole = sum(end <= size for end in ends)
        if not whole and size:
            with pytest.raises(ValueError, match="first line was cut"):
                records(journal)
            assert os.path.getsize(journal.path) == size
            continue
        with journal.locked() as pages:
            # Without its end of line alone the last record is as good as any.
            assert pages.records == RECORDS[:whole]
            left = text[:size][ends[whole - 1] + 1:] if whole else b""
            assert pages.torn == (left.partition(b" ")[2].decode() if left else None)
            pages.append("next")
        assert records(journal) == [*RECORDS[:whole], "next"]


def test_where_nothing_can_be_locked_nothing_is_read_or_written(journal, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refused(handle, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    with open(journal.path, "rb") as file:
        text = file.read()
    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(OSError, match=r"has no locks.*local disk") as raised, journal.locked():
        pytest.fail("read without a lock")
    assert raised.value.errno == errno.ENOLCK
    with open(journal.path, "rb") as file:
        assert file.read() == text


def test_locks_that_only_pretend_cost_no_record_unseen(journal, monkeypatch):
    """Two that append at once, as on a mount that keeps locks to one machine."""
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(fcntl, "flock", lambda handle, operation: None)
    with journal.locked() as one, journal.locked() as other:
        one.append("first")
        other.append("second")
    with open(journal.path, "rb") as file:
        text = file.read()
    assert b" first\n" in text and b" second\n" in text
    with pytest.raises(ValueError, match="is not as it was written"):
        records(journal)


def test_any_other_change_is_noticed(journal):
    with open(journal.path, "rb") as file:
        text = file.read()
    lines = text.splitlines(keepends=True)
    changed = [text[:place] + bytes([text[place] ^ 1]) + text[place + 1:]
               for place in range(len(text) - 1)]
    moved = [b"".join(lines[:2] + lines[3:]), b"".join([lines[0], lines[2], lines[1], lines[3]]),
             text + text[-40:-1] + b"\n"]
    for other in changed + moved:
        with open(journal.path, "wb") as file:
            file.write(other)
        with pytest.raises(ValueError, match="is not as it was written"):
            records(journal)


def test_a_record_that_grows_from_a_torn_one_leaves_nothing_of_it(journal):
    with open(journal.path, "ab") as file:
        file.write(b"x" * 500)
    with journal.locked() as pages:
        pages.append("short")
    assert records(journal) == [*RECORDS, "short"]
    assert os.path.getsize(journal.path) < 500


def test_threads_append_one_after_the_other(journal):
    def add(number):
        with journal.locked() as pages:
            pages.append(f"{number} after {len(pages.records)}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert [record.split(" after ")[1] for record in records(journal)[4:]] == [
        str(place) for place in range(4, 44)]


def test_a_file_that_is_gone_is_not_made_again(journal):
    os.remove(journal.path)
    with pytest.raises(FileNotFoundError), journal.locked():
        pass
    assert not os.path.exists(journal.path)
