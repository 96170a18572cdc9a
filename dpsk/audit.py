"""Audits from the command line: ``python -m dpsk.audit module:factory``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dpsk.auditing import audit
from dpsk.auditing._rounds import FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

#: Exit status by verdict; argparse uses 2.
_STATUS = {"not refuted": 0, "refuted": 1, "nothing tested": 3}


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit the estimator that a factory returns.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Arguments; None: those of the command line.

    Returns
    -------
    status : int
        0 if the claim is not refuted, 1 if it is refuted, 3 if nothing was tested. Nothing was
        tested if no published value ever varied, if no leak would have been found, or if the
        audit ended with an error, such as a SystemExit of the estimator or an unwritable output.
    """
    parser: argparse.ArgumentParser = _parser()
    given = parser.parse_args(arguments)
    if given.claim and not (given.claim[0] >= 0 and 0 <= given.claim[1] < 1):
        parser.error(f"argument --claim: {given.claim}: must be EPSILON >= 0 and DELTA in [0, 1)")
    if given.json is not None:
        try:
            # Checked first, so that an unwritable file does not waste minutes of audit.
            given.json.open("a").close()
        except OSError as error:
            parser.error(f"argument --json: {error}")
    try:
        return _STATUS[_audited(given)]
    except argparse.ArgumentError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:
        # Python would exit with 1, and a SystemExit with any status; neither is a verdict.
        with suppress(OSError):
            _print(f"{traceback.format_exc()}nothing tested", "stderr")
        return _STATUS["nothing tested"]


def _audited(given):
    """Run the audit, print and write its result, and return the verdict."""
    result = audit(_made(given.factory), claim=given.claim, runs=given.runs, level=given.level,
                   n_jobs=given.n_jobs, progress=not given.quiet)
    if given.json is not None:
        given.json.write_text(result.to_json(indent=2) + "\n", encoding="utf-8")
    _print(str(result), "stdout")
    return result.verdict


def _print(text, stream):
    """Print text to a stream and flush it, escaping unencodable characters."""
    encoding = getattr(getattr(sys, stream), "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding),
              file=getattr(sys, stream), flush=True)
    except OSError:
        # At exit Python would flush the stream again, fail, and set its own exit status.
        setattr(sys, stream, None)
        raise


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m dpsk.audit", description="Try to refute the privacy claim of an estimator "
        "by what its fits publish. Exit status 0: not refuted; 1: refuted; 2: an argument is "
        "wrong; 3: nothing tested.")
    parser.add_argument("factory", metavar="module:factory",
                        help="what returns the estimator when it is called without arguments")
    parser.add_argument("--claim", type=float, nargs=2, metavar=("EPSILON", "DELTA"),
                        help="default: what the fit says in privacy_, or its parameters say")
    parser.add_argument("--runs", type=_runs, default="auto",
                        help="fits on either table in the last round (default: auto)")
    parser.add_argument("--level", type=_level, default=0.05,
                        help="probability of refuting a claim that holds (default: 0.05)")
    parser.add_argument("--n-jobs", type=int, default=None, help="processes (default: 1)")
    parser.add_argument("--json", type=Path, help="file that the result is written to")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    return parser


def _runs(text):
    if text != "auto" and int(text) < FEWEST:
        raise argparse.ArgumentTypeError(f"{text}: must be 'auto' or an int >= {FEWEST}")
    return text if text == "auto" else int(text)


def _level(text):
    if not 0 < float(text) < 0.5:
        raise argparse.ArgumentTypeError(f"{text}: must be a number in (0, 0.5)")
    return float(text)


def _made(name):
    """Return the output of a factory; working-directory modules are importable."""
    module, _, factory = name.partition(":")
    if not module or not factory:
        raise argparse.ArgumentError(
            None, f"{name!r}: must be module:factory, such as mine.models:make_model.")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), factory)
    except (ImportError, AttributeError) as error:
        raise argparse.ArgumentError(None, f"{name!r}: {error}") from error
    return found()


class _Exit:
    """Replacement of `os._exit` that exits with the status of the audit."""

    def __init__(self) -> None:
        self._process, self._exit = os.getpid(), os._exit
        self.status = _STATUS["nothing tested"]

    def __call__(self, status: int) -> None:
        # A fork of this process, such as a joblib worker, keeps its own exit status.
        if os.getpid() != self._process:
            self._exit(status)
        os.write(2, b"the estimator has ended the process of the audit\n")
        self._exit(self.status)


if __name__ == "__main__":
    # A fit may end the process, now or at exit, with a status that is not a verdict.
    ending = _Exit()
    os._exit = ending  # type: ignore[assignment]
    try:
        ending.status = main()
    except SystemExit as ended:
        ending.status = ended.code if isinstance(ended.code, int) else 2
    sys.exit(ending.status)
