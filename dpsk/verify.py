"""Command line: ``python -m dpsk.verify certificate.json LEDGER``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dpsk._charging import check_against
from dpsk._privacy.budget_certificate import BudgetCertificate
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.certificate_fields import from_text, printable, rounded_up

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a certificate of a fit or budget, and that of a budget against its ledger.

    Parameters
    ----------
    arguments : list of str or None, default=None
        Arguments; None: those of the command line.

    Returns
    -------
    status : int
        0 if all numbers of the certificate follow from its events, and the events are those of
        the ledger; 1 otherwise.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        lines = _checked(given.certificate, given.ledger)
    except OSError as error:
        parser.error(str(error))
    except argparse.ArgumentError as error:
        parser.error(error.message)
    except (ValueError, ArithmeticError, RecursionError) as error:
        print(f"REFUSED: {error}", file=sys.stderr)
        return 1
    print("\n".join(map(printable, lines)))
    return 0


def _checked(path, ledger):
    """Return the findings as sentences; raise an error if a check fails."""
    data = from_text(path.read_text(encoding="utf-8"))
    if not (isinstance(data, dict) and "charges" in data):
        found = Certificate.from_dict(data)
        if ledger is not None:
            raise argparse.ArgumentError(None, f"{path}: is the certificate of one fit, which has "
                                               "no ledger; leave LEDGER out")
        return [f"{path}: {found.guarantee} follows from the releases of {found.estimator}"]
    certificate = BudgetCertificate.from_dict(data)
    count = len(certificate.charges)
    lines = [f"{path}: {certificate.guarantee} follows from its {_results(count)}; made "
             f"{certificate.date}; charged so far: epsilon "
             f"{rounded_up(certificate.charged_epsilon, 4)}"]
    if ledger is None:
        return [*lines, "not compared with a ledger: that these are all, and that none was "
                        "changed, is the word of whoever made the file"]
    later = check_against(certificate, ledger)
    since = f", and {_results(later)} since: ask for a new certificate" if later else (
        ", and nothing else")
    return [*lines, f"{ledger}: holds the same {_results(count)}{since}"]


def _results(count):
    return f"{count} release{'' if count == 1 else 's'}"


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m dpsk.verify", description="Check that a certificate follows from its "
        "releases, and that they are those of the ledger. Exit status 0: it does; 1: it does not; "
        "2: an argument is wrong, or a file cannot be read.")
    parser.add_argument("certificate", type=Path, metavar="CERTIFICATE",
                        help="JSON that to_json() of a certificate returned")
    parser.add_argument("ledger", type=Path, nargs="?", metavar="LEDGER",
                        help="file of the budget: PrivacyBudget(..., path=)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
