"""The audit from the command line: verdicts as exit statuses, options, and what ends early."""

import atexit
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.preprocessing import Normalizer

from dpsk.audit import main
from tests.audits.faults import NoisyTotal


def make_broken():
    """Return an estimator without noise, for the command line."""
    return NoisyTotal(noise=0.0)


def make_clean():
    """Return an estimator that keeps its claim."""
    return NoisyTotal()


def make_constant():
    """Return an estimator that learns nothing."""
    return Normalizer()


def make_refusing():
    """Return an estimator that refuses every table."""
    return IsotonicRegression(increasing="neither")


def make_error():
    """End with an error."""
    raise RuntimeError("no model today")


def make_exit():
    """End the process, as if all were well."""
    sys.exit(0)


class Exiting(NoisyTotal):
    """Ends the process in a fit."""

    def fit(self, X, y=None):
        sys.exit(1)


class Leaving(NoisyTotal):
    """Ends the process in a fit, as if all were well."""

    def fit(self, X, y=None):
        os._exit(0)


class LeavingLast(NoisyTotal):
    """Publishes a row, and ends the process as if all were well when it exits."""

    def fit(self, X, y=None):
        atexit.register(os._exit, 0)
        self.row_ = np.array(X)[0]
        return super().fit(X)


def make_with_letters():
    """Return an estimator whose name has letters that ASCII does not have."""
    return type("Modèle☃", (NoisyTotal,), {})()


@pytest.mark.thorough
@pytest.mark.parametrize(("factory", "claim", "status", "verdict"), [
    ("make_broken", ["1", "0"], 1, "refuted"), ("make_clean", ["1", "0"], 0, "not refuted"),
    ("make_broken", ["60", "0.5"], 3, "nothing tested"),
    ("make_constant", ["1", "0"], 3, "nothing tested")])
def test_the_command_line_exits_by_the_verdict(factory, claim, status, verdict, tmp_path, capsys):
    """False-alarm rate at most 1e-7."""
    file = tmp_path / "found.json"
    assert main([f"tests.auditing.test_command:{factory}", "--runs", "80", "--json", str(file),
                 "--level", "1e-7", "--quiet", "--claim", *claim]) == status
    found = json.loads(file.read_text())
    assert found["verdict"] == verdict and found["refuted"] == (status == 1)
    assert verdict.upper() in capsys.readouterr().out.upper()


def test_every_option_of_the_command_line_reaches_the_audit(monkeypatch, capsys):
    given = {}

    def recorded(estimator, **options):
        given.update(options)
        return SimpleNamespace(verdict="not refuted", to_json=lambda: "{}")

    monkeypatch.setattr(sys.modules[main.__module__], "audit", recorded)
    options = {"claim": ["2.5", "0.125"], "runs": ["81"], "level": ["0.03125"], "n-jobs": ["3"]}
    with pytest.raises(SystemExit):
        main(["--help"])
    offered = set(re.findall(r"--([a-z-]+)", capsys.readouterr().out))
    assert offered - {"help", "json", "quiet"} == set(options)
    words = [word for name, values in options.items() for word in (f"--{name}", *values)]
    assert main([f"{__name__}:make_clean", "--quiet", *words]) == 0
    assert given == {"claim": [2.5, 0.125], "runs": 81, "level": 0.03125, "n_jobs": 3,
                     "progress": False}


@pytest.mark.parametrize("factory", ["make_refusing", "make_error", "make_exit", "Exiting"])
def test_the_command_line_says_that_nothing_was_tested_where_an_audit_ends_early(factory, capsys):
    assert main([f"tests.auditing.test_command:{factory}", "--claim", "1", "0", "--quiet"]) == 3
    assert "nothing tested" in capsys.readouterr().err


def _by_command(*arguments, factory="make_with_letters", **where):
    command = [sys.executable, "-m", "dpsk.audit", f"{__name__}:{factory}", "--claim",
               "1", "0", "--runs", "80", "--level", "1e-7", "--quiet", *arguments]
    return subprocess.run(command, check=False, **where)


@pytest.mark.thorough
def test_a_verdict_arrives_whatever_the_encoding_of_the_output():
    """False-alarm rate at most 1e-7."""
    ended = _by_command(capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 0 and b"Mod\\xe8le\\u2603" in ended.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(("factory", "status"), [("Leaving", 3), ("LeavingLast", 1)])
def test_a_fit_that_ends_the_process_changes_no_status(factory, status):
    assert _by_command(factory=factory, capture_output=True).returncode == status


@pytest.mark.thorough
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_output_that_cannot_be_written_is_no_verdict():
    with open("/dev/full", "w") as full:
        assert _by_command(stdout=full, stderr=full).returncode == 3


def test_a_file_that_cannot_be_written_is_refused_before_the_audit(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["tests.auditing.test_command:make_error", "--json", str(tmp_path)])
    assert ended.value.code == 2 and "--json" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nothing", "no_such_module:make", "dpsk.audit:make"])
def test_the_command_line_says_what_a_factory_must_be(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name])
    assert ended.value.code == 2 and name in capsys.readouterr().err
