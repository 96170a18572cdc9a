"""What a file of charges has lost is noticed, and what it may hold counts, whatever befell it."""

import errno
import os
import pickle
import threading
import time

import pytest

from dpsk import PrivacyBudget
from dpsk.accounting import Gaussian
from dpsk.exceptions import BudgetExceededError
from tests.budget.test_sharing import DELTA
from tests.instruments import charge_fit


@pytest.mark.parametrize("records", [0, 1, 2])
def test_a_file_that_lost_charges_stops_everything(tmp_path, records):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with budget:
        charge_fit(Gaussian(0.01))
        charge_fit(Gaussian(0.01))
        lines = (tmp_path / "a.budget").read_bytes().splitlines(keepends=True)
        (tmp_path / "a.budget").write_bytes(b"".join(lines[:records]))
        with pytest.raises(ValueError, match="no longer holds all that was charged"):
            charge_fit(Gaussian(0.01))
        (tmp_path / "a.budget").write_bytes(b"".join(lines))
        charge_fit(Gaussian(0.01))
    assert len(budget.charges) == 3


def test_a_file_of_something_else_is_left_as_it_is(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("the only copy")
    with pytest.raises(ValueError, match="is a file of something else"):
        PrivacyBudget(1.0, DELTA, path=path)
    assert path.read_text() == "the only copy"


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("opened", [lambda path: PrivacyBudget(1.0, DELTA, path=path),
                                    PrivacyBudget.load], ids=["made", "loaded"])
def test_an_emptied_file_begins_no_budget(tmp_path, opened):
    path = tmp_path / "a.budget"
    model = pickle.dumps(PrivacyBudget(1.0, DELTA, path=path)._account)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="holds no budget, and if one was there"):
        opened(path)
    with pytest.raises(ValueError, match="holds no budget, and if one was there"):
        pickle.loads(model).charges()
    assert path.read_bytes() == b""


def test_a_path_may_be_of_bytes(tmp_path):
    with PrivacyBudget(1.0, DELTA, path=os.fsencode(tmp_path / "a.budget")) as budget:
        charge_fit(Gaussian(0.01))
    assert PrivacyBudget.load(tmp_path / "a.budget").path == budget.path
    assert len(budget.charges) == 1


def test_a_link_may_be_there_before_its_file(tmp_path):
    (tmp_path / "a.budget").symlink_to(tmp_path / "b.budget")
    PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    assert PrivacyBudget.load(tmp_path / "b.budget").charges == []


def test_whoever_has_just_made_the_file_is_waited_for(tmp_path):
    PrivacyBudget(1.0, DELTA, path=tmp_path / "whole.budget")
    written = (tmp_path / "whole.budget").read_bytes()
    (tmp_path / "a.budget").touch()
    writer = threading.Timer(0.2, (tmp_path / "a.budget").write_bytes, [written])
    writer.start()
    assert PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget").charges == []
    writer.join()


def test_charges_that_were_read_are_missed(tmp_path):
    one = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    other = PrivacyBudget.load(one.path)
    with one:
        charge_fit(Gaussian(0.01))
    assert len(other.charges) == 1
    lines = (tmp_path / "a.budget").read_bytes().splitlines(keepends=True)
    (tmp_path / "a.budget").write_bytes(lines[0])
    with pytest.raises(ValueError, match="no longer holds all that was charged"):
        other.charges  # noqa: B018


def test_a_charge_is_on_the_disk_before_anything_is_drawn(monkeypatch):
    done = []

    def spied(name):
        original = getattr(os, name)

        def call(*args):
            done.append(name)
            return original(*args)
        return call

    with PrivacyBudget(1.0, DELTA):
        for name in ("write", "fsync"):
            monkeypatch.setattr(os, name, spied(name))
        charge_fit(Gaussian(0.01))
    # The note of what is open is written by a file object.
    assert done == ["write", "fsync"]


def test_a_disk_that_is_full_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    before, write = (tmp_path / "a.budget").read_bytes(), os.write

    def full(handle, line):
        if len(line) < 50:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[:40])

    with budget:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            charge_fit(Gaussian(0.01))
        monkeypatch.undo()
        assert (tmp_path / "a.budget").read_bytes() == before
        charge_fit(Gaussian(0.01))
    assert len(budget.charges) == 1


def test_a_torn_charge_counts_also_where_it_could_not_be_mended(tmp_path, monkeypatch):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with budget:
        charge_fit(Gaussian(0.01))
        charge_fit(Gaussian(0.02))
    text = (tmp_path / "a.budget").read_bytes()
    (tmp_path / "a.budget").write_bytes(text[:-10])

    def fails(handle, line):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", fails)
    with pytest.raises(OSError, match="Input/output"):
        PrivacyBudget.load(budget.path)
    monkeypatch.undo()
    found = PrivacyBudget.load(budget.path).charges
    assert [charge.event for charge in found] == [Gaussian(0.01), Gaussian(0.02)]


def test_a_budget_that_is_open_counts_what_was_torn_since_before_it_admits_a_fit(tmp_path):
    """Whoever wrote that line may have made its fit, with all that was left."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    price = Gaussian(0.9 * budget.limits["mu^2"]**0.5)
    with PrivacyBudget.load(budget.path):
        charge_fit(price)
    text = (tmp_path / "a.budget").read_bytes()
    (tmp_path / "a.budget").write_bytes(text[:-10])
    # Nothing but the fit looks at the file meanwhile: a look alone would mend it.
    with budget, pytest.raises(BudgetExceededError):
        charge_fit(price)
    assert [charge.event for charge in budget.charges] == [price]


@pytest.mark.parametrize("garbage", [
    b"", b'{"event": ', b'{"other": {"kind": "Gaussian", "mu": 0.02}, "name": "a fit"', *(
        b'{"event": %s, "name": "a fit"' % event for event in (
            b"3", b"[]", b"{}", b'{"kind": "Nothing"}', b'{"kind": "Gaussian"}',
            b'{"kind": "Gaussian", "mu": "large"}', b'{"kind": "Gaussian", "mu": -1.0}',
            b'{"kind": "Gaussian", "mu": null}', b'{"kind": "Composed", "events": [3]}'))],
    ids=lambda garbage: garbage.decode())
def test_a_torn_line_that_is_no_charge_stops_everything(tmp_path, garbage):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with open(budget.path, "ab") as file:
        file.write(b"0" * 32 + b" " + garbage)
    for opened in (lambda: PrivacyBudget.load(budget.path), lambda: budget.charges):
        with pytest.raises(ValueError, match="its last line has no end"):
            opened()


def test_a_charge_that_is_cut_anywhere_counts_or_stops_everything(tmp_path):
    """It never counts for less, nor is it forgotten."""
    path, price = tmp_path / "a.budget", Gaussian(0.0123456789)
    with PrivacyBudget(1.0, DELTA, path=path):
        charge_fit(Gaussian(0.01))
        charge_fit(price)
    *before, last = path.read_bytes().splitlines(keepends=True)
    counted = 0
    for size in range(1, len(last)):
        path.write_bytes(b"".join(before) + last[:size])
        try:
            charges = PrivacyBudget.load(path).charges
        except ValueError as error:
            assert "its last line has no end" in str(error) and not counted
        else:
            assert [charge.event for charge in charges] == [Gaussian(0.01), price]
            counted += 1
    assert counted > 10


def test_a_last_charge_without_its_end_of_line_outlasts_a_disk_that_is_full(tmp_path, monkeypatch):
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "a.budget")
    with budget:
        charge_fit(Gaussian(0.01))
    text = (tmp_path / "a.budget").read_bytes()
    (tmp_path / "a.budget").write_bytes(text[:-1])

    def full(handle, line):
        raise OSError(errno.ENOSPC, "No space left on device")

    with PrivacyBudget.load(budget.path):
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            charge_fit(Gaussian(0.01))
        monkeypatch.undo()
    assert len(PrivacyBudget.load(budget.path).charges) == 1


def test_a_file_that_took_the_place_of_another_while_it_was_waited_for_is_charged(tmp_path):
    path = tmp_path / "a.budget"
    budget = PrivacyBudget(1.0, DELTA, path=path)

    def fitted():
        with budget:
            charge_fit(Gaussian(0.01))

    waiting = threading.Thread(target=fitted)
    with budget._account.journal.locked():
        waiting.start()
        # Long enough to be at the lock; where it is not, there is nothing to see.
        time.sleep(0.3)
        (tmp_path / "copy").write_bytes(path.read_bytes())
        os.replace(tmp_path / "copy", path)
    waiting.join()
    assert len(PrivacyBudget.load(path).charges) == 1
