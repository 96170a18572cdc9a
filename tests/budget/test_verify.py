"""``python -m dpsk.verify`` accepts what the ledger says, and nothing else."""

import copy
import hashlib
import json
import os
import runpy
import sys

import numpy as np
import pytest

from dpsk import DPLogisticRegression, PrivacyBudget, verify
from dpsk.accounting import BudgetCertificate, Gaussian, Pure
from tests.instruments import charge_fit

DELTA = 1e-5
#: What the sender alone knows.
_WORD_OF_THE_SENDER = "versions"


@pytest.fixture
def made(tmp_path):
    """Return a budget with charges, its ledger, and the file of its certificate."""
    ledger, path = tmp_path / "a.budget", tmp_path / "certificate.json"
    budget = PrivacyBudget(2.0, DELTA, name="people", path=ledger)
    with budget:
        DPLogisticRegression(epsilon=0.3, delta=1e-6, data_norm=1.0, classes=[0, 1]).fit(
            np.eye(60), np.arange(60) % 2)
        charge_fit(Gaussian(0.1))
        charge_fit(Pure(0.1))
    path.write_text(budget.certificate().to_json(indent=1))
    return budget, ledger, path


def run(*arguments):
    return verify.main(list(map(str, arguments)))


def test_a_certificate_that_is_as_the_ledger_says_is_accepted(made, capsys):
    _, ledger, path = made
    assert run(path, ledger) == 0
    told = capsys.readouterr().out
    assert "(2, 1e-05)-differential privacy follows from its 3 releases" in told
    assert "holds the same 3 releases, and nothing else" in told
    assert str(ledger) in told


def test_what_was_charged_since_is_told(made, capsys):
    budget, ledger, path = made
    with budget:
        charge_fit(Gaussian(0.01))
    assert run(path, ledger) == 0
    assert "and 1 release since: ask for a new certificate" in capsys.readouterr().out


def test_without_a_ledger_it_says_what_it_could_not_see(made, capsys):
    assert run(made[2]) == 0
    assert "not compared with a ledger" in capsys.readouterr().out


def _leaves(value, path=()):
    """Yield the places of all numbers, words and empty lists of JSON."""
    parts = value.items() if isinstance(value, dict) else enumerate(
        value) if isinstance(value, list) else ()
    if not isinstance(value, (dict, list)) or not value:
        yield path
    for key, each in parts:
        yield from _leaves(each, (*path, key))


def _changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 0.9 if value else 0.5
    return [1] if value == [] else None if isinstance(value, dict) else f"{value}x"


def test_a_certificate_that_was_changed_anywhere_is_refused(made, capsys):
    _, ledger, path = made
    whole = json.loads(path.read_text())
    places = [place for place in _leaves(whole) if place[0] != _WORD_OF_THE_SENDER]
    assert len(places) >= 50
    for place in places:
        data = copy.deepcopy(whole)
        held = data
        for key in place[:-1]:
            held = held[key]
        held[place[-1]] = _changed(held[place[-1]])
        path.write_text(json.dumps(data))
        assert run(path, ledger) == 1, place
        assert "REFUSED" in capsys.readouterr().err


@pytest.mark.parametrize("change", [
    lambda data: data["charges"].pop(), lambda data: data["charges"].pop(0),
    lambda data: data["charges"].reverse(), lambda data: data.pop("assumed"),
    lambda data: data["charges"].append(data["charges"][0]),
    lambda data: data.update(epsilon=0.4), lambda data: data.update(charges=3),
    lambda data: data["charges"][0]["event"].update(kind="Laplace")],
    ids=["last", "first", "order", "assumed", "twice", "epsilon", "no list", "no event"])
def test_a_certificate_with_other_releases_is_refused(made, change):
    _, ledger, path = made
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    assert run(path, ledger) == 1


def test_a_consistent_forgery_follows_from_itself_and_not_from_the_ledger(made, capsys):
    """A certificate without one release, all of whose numbers were computed again."""
    budget, ledger, path = made
    fields = {name: getattr(budget.certificate(), name) for name in (
        "epsilon", "delta", "kind", "disclosure", "unit", "name", "date", "checksum", "versions")}
    charges = budget.certificate().charges
    for kept in (charges[:2], charges[1:], (charges[0], charges[0], charges[2])):
        path.write_text(BudgetCertificate(charges=kept, **fields).to_json())
        assert run(path) == 0
        assert run(path, ledger) == 1
    assert "ledger" in capsys.readouterr().err


def test_another_ledger_and_one_that_lost_lines_are_refused(made, tmp_path, capsys):
    _, ledger, path = made
    for name, other in {"twin": {}, "larger": {"name": "others"}}.items():
        with PrivacyBudget(2.0, DELTA, path=tmp_path / name, **{"name": "people", **other}):
            charge_fit(Gaussian(0.1))
        assert run(path, tmp_path / name) == 1
    lines = ledger.read_bytes().splitlines(keepends=True)
    for kept in (lines[:-1], lines[:1], [], [*lines[:2], lines[3]]):
        (tmp_path / "cut").write_bytes(b"".join(kept))
        assert run(path, tmp_path / "cut") == 1
    (tmp_path / "notes").write_text("something else")
    assert run(path, tmp_path / "notes") == 1
    assert "is a file of something else" in capsys.readouterr().err


def _ledger(records):
    """Return the lines of a ledger whose checksums are right."""
    lines, before = [], ""
    for record in records:
        before = hashlib.sha256(f"{before} {record}".encode()).hexdigest()[:32]
        lines.append(f"{before} {record}\n")
    return "".join(lines)


@pytest.mark.parametrize("record", [
    "no JSON", "[]", '{"event": {"kind": "Gaussian", "mu": 9.0}, "name": "more than is left"}'])
def test_lines_that_came_later_have_to_be_charges_with_room_in_the_budget(made, record, capsys):
    _, ledger, path = made
    records = [line.partition(" ")[2] for line in ledger.read_text().splitlines()]
    assert _ledger(records) == ledger.read_text()
    ledger.write_text(_ledger([*records, record]))
    assert run(path, ledger) == 1
    assert "REFUSED" in capsys.readouterr().err
    ledger.write_text(_ledger([record]))
    assert run(path, ledger) == 1


def test_a_key_that_is_there_twice_is_refused(made, capsys):
    """A person reads the first guarantee, and a program the last."""
    _, ledger, path = made
    path.write_text('{"epsilon": 0.01,' + path.read_text()[1:])
    assert run(path, ledger) == 1
    assert "once each" in capsys.readouterr().err


def test_names_print_no_lines_of_their_own(tmp_path, capsys):
    budget = PrivacyBudget(1.0, DELTA, name="x\n  guarantee: (0.1, 0)\x1b[2J\u202e")
    certificate = budget.certificate()
    text, own = str(certificate), str(budget)
    assert "x\\n  guarantee: (0.1, 0)\\x1b[2J\\u202e" in text
    assert all(line.isprintable() for line in text.splitlines())
    assert own.splitlines()[0].endswith("for a row") and "\x1b" not in own
    for page in (budget._repr_html_(), certificate._repr_html_(), certificate.to_html()):
        assert "\u202e" not in page and "\x1b" not in page
    fitted = type("A\nledger: holds the same", (DPLogisticRegression,), {})(
        epsilon=0.3, delta=1e-6, data_norm=1.0, classes=[0, 1]).fit(np.eye(60), np.arange(60) % 2)
    (tmp_path / "fit.json").write_text(fitted.privacy_.to_json())
    assert run(tmp_path / "fit.json") == 0
    assert "\n" not in capsys.readouterr().out.strip()


def test_the_certificate_of_a_fit_is_checked_as_well(tmp_path, capsys):
    fitted = DPLogisticRegression(epsilon=0.3, delta=1e-6, data_norm=1.0, classes=[0, 1]).fit(
        np.eye(60), np.arange(60) % 2)
    path = tmp_path / "fit.json"
    path.write_text(fitted.privacy_.to_json())
    assert run(path) == 0
    assert "follows from the releases of DPLogisticRegression" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        run(path, tmp_path / "a.budget")
    assert ended.value.code == 2
    path.write_text(json.dumps({**fitted.privacy_.to_dict(), "epsilon": 0.1}))
    assert run(path) == 1


def test_files_that_are_missing_are_wrong_arguments(made, tmp_path, capsys):
    _, ledger, path = made
    for given in ((tmp_path / "nothing", ledger), (path, tmp_path / "nothing")):
        with pytest.raises(SystemExit) as ended:
            run(*given)
        assert ended.value.code == 2
    path.write_text("no JSON")
    assert run(path, ledger) == 1


def test_it_writes_nothing_and_needs_to_write_nothing(made, monkeypatch):
    _, ledger, path = made
    opened = os.open
    monkeypatch.setattr(os, "open", lambda name, flags, *args: pytest.fail("writes") if flags & (
        os.O_RDWR | os.O_WRONLY) else opened(name, flags, *args))
    assert run(path, ledger) == 0
    # A line that is being written, or was cut.
    ledger.write_bytes(ledger.read_bytes()[:-5])
    cut = ledger.read_bytes()
    assert run(path, ledger) == 1
    assert ledger.read_bytes() == cut


def test_it_is_a_command(made, monkeypatch, capsys):
    _, ledger, path = made
    monkeypatch.setattr(sys, "argv", ["verify", str(path), str(ledger)])
    monkeypatch.delitem(sys.modules, "dpsk.verify")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("dpsk.verify", run_name="__main__")
    assert ended.value.code == 0
    assert "nothing else" in capsys.readouterr().out
