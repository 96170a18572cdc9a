"""The account of one budget: a ledger file of charges, and a filter to admit them."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from dpsk._privacy.certificate_fields import rounded_down, rounded_up
from dpsk._privacy.charges import Charge
from dpsk._privacy.event_dicts import event_from_dict
from dpsk._privacy.filters import open_filter
from dpsk._privacy.journal import Journal
from dpsk.exceptions import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dpsk._privacy.budget_certificate import BudgetCertificate
    from dpsk._privacy.journal import Pages

__all__ = ["Account", "check_against", "this_process"]

#: With the process id, tells this process from processes of other machines and containers.
_ORIGIN = platform.node(), time.time_ns()
#: A record begins with the event, so that a truncated line may still tell its privacy cost.
_EVENT = '{"event": '
#: A remaining epsilon below this fraction of the budget's epsilon is rounding, reported as 0.
_NOTHING = 1e-9
#: Number and seconds of the waits for the process that created a file to write its first line.
_TRIES, _PAUSE = 20, 0.05


def this_process() -> tuple[Any, ...]:
    """Return an identifier that no other process has."""
    return os.getpid(), *_ORIGIN


class Account:
    """Charges in a file, and the filter that admits them.

    The path alone opens an account, so any process that sees the file can charge it.

    Parameters
    ----------
    path : str
        Path of the file.
    terms : dict or None
        Terms of the budget; None reads them from the file.

    Attributes
    ----------
    terms : dict
    filter : Filter
    owner : tuple
        Identifier of the process that opened the account.
    """

    def __init__(self, path: Any, terms: dict[str, Any] | None = None) -> None:
        self.journal = Journal(os.path.abspath(os.fsdecode(path)))
        self.owner = this_process()
        # Position up to which the file was read, to notice later if a line before it is lost.
        self._mark = (0, b"")
        made = terms is not None and self.journal.create()
        if not made:
            self._wait()
        with self.journal.locked() as pages:
            if made:
                pages.append(_line(terms))
            terms = terms or json.loads(_first(pages, self.path))
            self.terms: dict[str, Any] = terms
            self.filter = open_filter(terms["kind"], terms["epsilon"], terms["delta"],
                                      terms.get("disclosure", 0.0))
            self.read(pages)

    def __getstate__(self) -> dict[str, Any]:
        # The pickle must not depend on the charges so far: caches of fits use it as their key.
        return {**vars(self), "_mark": (0, b"")}

    @property
    def path(self) -> str:
        """str : path of the file."""
        return self.journal.path

    @property
    def file(self) -> tuple[int, int]:
        """(int, int) : device and inode of the file, the same under every path to it."""
        status = os.stat(self.path)
        return status.st_dev, status.st_ino

    @property
    def is_of_this_process(self) -> bool:
        """bool : whether the account was opened in this process."""
        return self.owner == this_process()

    def __repr__(self) -> str:
        terms = self.terms
        return (f"PrivacyBudget({terms['epsilon']!r}, {terms['delta']!r}, kind={terms['kind']!r}, "
                f"name={terms['name']!r})")

    def charges(self) -> list[Charge]:
        """Return the charges of all fits, in order."""
        return self.statement()[0]

    def statement(self) -> tuple[list[Charge], str]:
        """Return the charges of all fits, and the checksum of the last line."""
        with self.journal.locked() as pages:
            return self.read(pages), pages.checksum

    def _wait(self) -> None:
        """Wait for a limited time until the file's creator has written its first line."""
        for _ in range(_TRIES):
            if os.path.getsize(self.path):
                return
            time.sleep(_PAUSE)

    def read(self, pages: Pages) -> list[Charge]:
        """Return the charges of the file."""
        if not pages.hold(self._mark):
            raise ValueError(f"path={self.path!r}: no longer holds all that was charged, so what "
                             "has been spent is unknown; restore the file, or fit nothing more "
                             "on these rows.")
        first = _first(pages, self.path)
        if first != _line(self.terms):
            raise ValueError(f"path={self.path!r}: holds another budget, {first}; use "
                             "PrivacyBudget.load, or another path.")
        if pages.torn is not None:
            pages.append(_declared(pages.torn, self.path))
        self._mark = pages.mark
        return _charges(pages.records[1:], self.terms)

    def sum(self, charges: Iterable[Charge]) -> tuple[float, ...]:
        """Return the composed cost of charges, in the units of the filter."""
        prices = [self.filter.price(charge.event) for charge in charges]
        return tuple(map(math.fsum, zip(*prices, strict=True))) or (0.0,) * len(
            self.filter.units)

    def check(self, pages: Pages, charge: Charge) -> None:
        """Raise a BudgetExceededError unless a charge fits in the remaining budget."""
        spent = self.sum(self.read(pages))
        if self.terms["unit"] == "group" and not charge.of_groups:
            raise BudgetExceededError(
                f"The fit of {charge.name} protects single rows, but {self!r} "
                "protects groups of rows; fit with groups, or open a budget with unit='row'. "
                + self._state(spent))
        price = self.filter.price(charge.event)
        if not math.isfinite(math.fsum(price)):
            raise BudgetExceededError(
                f"The fit of {charge.name} was refused by {self!r}: "
                f"{self.filter.refusal(charge.event)}. {self._state(spent)}")
        if not self.filter.admits(spent, price):
            short = {unit: (one, max(0.0, limit - before))
                     for unit, one, before, limit in zip(self.filter.units, price, spent,
                                                         self.filter.limits, strict=True)
                     if before + one > limit}
            costs = " and ".join(f"{unit}={rounded_up(one, 3)}, but {rounded_down(left, 3)} is "
                                 "left" for unit, (one, left) in short.items())
            raise BudgetExceededError(
                f"The privacy cost of the fit of {charge.name} is {costs} in {self!r}; nothing "
                f"was drawn. {self._state(spent)} {self._remedy(short, spent)}")

    def _state(self, spent: tuple[float, ...]) -> str:
        """Describe the consumed and the remaining budget, in epsilon."""
        at, left = self._at, f"epsilon {rounded_down(self._left(spent), 4)}"
        before = f"epsilon {rounded_up(self.filter.as_one(spent, float(at)), 4)}" if any(
            spent) else None
        if not self.terms["delta"]:
            return f"Spent: {before or 'nothing'}; left: {left} at delta=0."
        if before is None:
            return f"Spent: nothing; left: {left}, for one Gaussian fit at delta={at}."
        return (f"Spent: as much as one Gaussian fit of {before} at delta={at}; left: as "
                f"much as one of {left}.")

    @property
    def _at(self) -> str:
        """str : the delta at which messages state epsilons, in few digits."""
        return rounded_down(self.terms["delta"], 3)

    def _left(self, spent: tuple[float, ...]) -> float:
        """Return the epsilon left for one Gaussian fit, or 0 if only rounding is left."""
        left = self.filter.left(spent, float(self._at))
        return left if left > _NOTHING * self.terms["epsilon"] else 0.0

    def _remedy(self, short: Iterable[str], spent: tuple[float, ...]) -> str:
        """Describe which fits the budget still admits, given the units that fall short."""
        if "delta" in short:
            return ("A fit that finds categories takes a tenth of its own delta from disclosure=: "
                    "give it a smaller delta, such as plan_privacy computes for parts. A search, "
                    "or another fit that is not Gaussian, takes a sixteenth of disclosure=, "
                    "whatever its delta: at most 16 of these find room in a budget.")
        left = self._left(spent)
        if not left:
            return "Nothing is left: fit nothing more on these rows."
        kept = self.terms.get("disclosure", 0.0)
        more = "; budget.left(delta) gives the limit at another delta" * bool(self.terms["delta"])
        held = (f" Of the budget's delta, disclosure={rounded_down(kept, 3)} is kept for "
                "searches and for finding categories." if kept else "")
        return ("Reduce epsilon: one fit with Gaussian noise may use up to "
                f"{rounded_down(left, 4)} at delta={self._at}{more}. Searches, and fits at "
                f"delta=0, may use less.{held}")

    def write(self, pages: Pages, charge: Charge) -> None:
        """Append a charge; it is on disk when this returns."""
        pages.append(json.dumps(charge.to_dict()))
        self._mark = pages.mark


def check_against(certificate: BudgetCertificate, path: str | os.PathLike[str]) -> int:
    """Return how many charges a ledger holds that are newer than a certificate.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is no ledger, or not the ledger of the certificate.
    """
    path = os.fspath(path)
    with Journal(path).read() as pages:
        records = [_first(pages, path), *pages.records[1:]]
        if pages.torn is not None:
            records.append(_declared(pages.torn, path))
        terms, charges = json.loads(records[0]), certificate.charges
        if not isinstance(terms, dict):
            raise ValueError(f"path={path!r}: is the ledger of no budget; compare with that of "
                             "this one.")
        for name in ("epsilon", "delta", "kind", "disclosure", "unit", "name"):
            stated, of_ledger = getattr(certificate, name), terms.get(name, 0.0)
            if stated != of_ledger:
                raise ValueError(f"{name}={stated!r}: the ledger {path!r} is of a budget with "
                                 f"{name}={of_ledger!r}; compare with the ledger of this one.")
        held = _charges(records[1:], terms)
        later = len(held) - len(charges)
        for place, (charge, found) in enumerate(zip(charges, held, strict=False), 1):
            if charge != found:
                raise ValueError(f"release {place}: is {charge.name!r}, and not what line "
                                 f"{place + 1} of the ledger {path!r} says; ask for the "
                                 "certificate that the budget makes.")
        if later < 0 or not pages.hold((len(charges) + 1, certificate.checksum.encode())):
            raise ValueError(f"checksum={certificate.checksum!r}: the ledger {path!r} is not that "
                             "which the certificate was made from, or lost lines since; ask for "
                             "the whole file.")
        # The guarantee covers later charges too, so they must fit in the budget as well.
        replace(certificate, charges=tuple(held),
                date=max(certificate.date, *(each.date for each in held), "")).verify()
        return later


def _charges(records: Iterable[str], terms: dict[str, Any]) -> list[Charge]:
    """Return the charges that some records of a ledger hold."""
    of_groups = terms.get("unit") == "group"
    return [Charge.from_dict(json.loads(each), of_groups) for each in records]


def _line(terms):
    return json.dumps(terms, sort_keys=True)


def _first(pages, path):
    """Return the first record; raise a ValueError if the file is empty."""
    if not pages.records:
        raise ValueError(f"path={path!r}: holds no budget, and if one was there, what has been "
                         "spent is unknown; restore the file, or remove it if none ever was.")
    return pages.records[0]


def _declared(torn, path):
    """Return a record for a truncated line, as its fit may have been made."""
    try:
        if not torn.startswith(_EVENT):
            raise ValueError("no event")
        event, _ = json.JSONDecoder().raw_decode(torn, len(_EVENT))
        event_from_dict(event)
    except ValueError:
        raise ValueError(
            f"path={path!r}: its last line has no end, and too little of it is there to tell what "
            "was charged; restore the file, or fit nothing more on these rows.") from None
    return json.dumps({"event": event, "name": "a fit whose record was cut"})
