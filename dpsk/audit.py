"""Audits from the command line: ``python -m dpsk.audit module:factory``."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpsk.auditing import audit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int | None:
    """Audit the estimator that a factory returns.

    Parameters
    ----------
    arguments : list of str or None, default=None
        None: those of the command line.

    Returns
    -------
    status : int
        1 if the claim is refuted, else 0.
    """
    given = _parser().parse_args(arguments)
    result = audit(_made(given.factory), claim=given.claim, runs=given.runs, level=given.level,
                   n_jobs=given.n_jobs, progress=not given.quiet)
    print(result)
    if given.json is not None:
        given.json.write_text(result.to_json() + "\n", encoding="utf-8")
    return int(result.refuted)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m dpsk.audit", description="Try to refute the privacy claim of an estimator "
        "by what its fits publish. Exit status 1 if it is refuted.")
    parser.add_argument("factory", metavar="module:factory",
                        help="what returns the estimator when it is called without arguments")
    parser.add_argument("--claim", type=float, nargs=2, metavar=("EPSILON", "DELTA"),
                        help="default: what the fit says in privacy_, or its parameters say")
    parser.add_argument("--runs", type=_runs, default="auto",
                        help="fits on either table in the last round (default: auto)")
    parser.add_argument("--level", type=float, default=0.05,
                        help="probability of refuting a claim that holds (default: 0.05)")
    parser.add_argument("--n-jobs", type=int, default=None, help="processes (default: 1)")
    parser.add_argument("--json", type=Path, help="file that the result is written to")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    return parser


def _runs(text):
    return text if text == "auto" else int(text)


def _made(name):
    """Return what the factory of that name makes; modules of the working directory are found."""
    module, _, factory = name.partition(":")
    if not module or not factory:
        raise SystemExit(f"{name!r}: must be module:factory, such as mine.models:make_model.")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError) as error:
        raise SystemExit(f"{name!r}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
