"""Fields of the certificate of a budget: their rules, and what they rest on."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from dpsk._privacy.certificate_fields import (
    FIELD_RULES,
    HANDED_OVER,
    SAME_GROUPS,
    require,
    same_keys,
)
from dpsk._privacy.charges import Charge
from dpsk._privacy.filters import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["BUDGET_RULES", "assumptions", "check_same", "facts_of", "read_charge"]

_ALWAYS = (
    "all releases come from the same rows, as a budget is for one data set",
    "rows, columns, bounds and other parameters of each fit were chosen without a look at the "
    "data, except at results that were released inside of the budget",
    "nothing else was computed from these rows: exact scores, fits by other packages and fits "
    "outside of the budget are not counted",
    "nobody copied the ledger to spend the budget twice")
_STAYS = "a row that is replaced stays in its group, in releases that protect groups"
_UNSAID = ("nothing but what is listed was taken as public, and no noise repeats under a seed, in "
           "releases that state no public facts")
_SEEDED = "nobody knows or guesses the seed, in releases whose noise repeats under one"
#: A fact that is a claim, of a fit or of one of its steps.
_CLAIM = re.compile(r"(?:.*: )?that ")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CHECKSUM = re.compile(r"[0-9a-f]{32}")
#: How far numbers that are solved for may be off on another machine.
_CLOSE = 1e-6
#: How far above an epsilon may be that was composed on a coarser grid of losses. Never below.
_COARSER = 1.01


def _is_finite(value: Any) -> bool:
    holds, _ = FIELD_RULES["epsilon"]
    return holds(value) and value < math.inf


#: What can be said of each field by itself.
BUDGET_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "epsilon": (_is_finite, "a finite number > 0"),
    "delta": FIELD_RULES["delta"],
    "kind": (lambda v: isinstance(v, str) and v in KINDS, f"one of {list(KINDS)}"),
    "disclosure": FIELD_RULES["delta"],
    "unit": (lambda v: v in ("row", "group"), "'row' or 'group'"),
    "name": (lambda v: v is None or isinstance(v, str), "a string or None"),
    "charges": (lambda v: isinstance(v, tuple) and all(isinstance(c, Charge) for c in v),
                "a tuple of charges"),
    "date": (lambda v: isinstance(v, str) and _DAY.fullmatch(v) is not None,
             "a day such as '2026-01-31'"),
    "checksum": (lambda v: isinstance(v, str) and _CHECKSUM.fullmatch(v) is not None,
                 "32 hexadecimal digits"),
    "versions": FIELD_RULES["versions"],
}


def assumptions(unit: str, charges: Sequence[Charge]) -> tuple[str, ...]:
    """Return what the guarantee of a budget rests on and cannot be checked."""
    lines = [*_ALWAYS]
    if unit == "group":
        lines.append(SAME_GROUPS)
    lines += [f"{text} ({_numbers(found)})" for text, found in (
        (_STAYS, [unit == "row" and charge.of_groups for charge in charges]),
        # A line that was cut, or is of a version that wrote no more.
        (_UNSAID, [not charge.public for charge in charges]),
        (_SEEDED, [charge.reproducible for charge in charges])) if any(found)]
    return (*lines, *_stated(charges, True))


def facts_of(charges: Sequence[Charge]) -> tuple[str, ...]:
    """Return what is taken as public, and by which releases."""
    return _stated(charges, False)


def _stated(charges: Sequence[Charge], claims: bool) -> tuple[str, ...]:
    """Return what releases state that is a claim nobody has checked, or that is none."""
    found = dict.fromkeys(fact for charge in charges for fact in charge.public
                          if _is_claim(fact) == claims)
    return tuple(f"{fact} ({_numbers([fact in charge.public for charge in charges])})"
                 for fact in found)


def _is_claim(fact: str) -> bool:
    return fact == HANDED_OVER or _CLAIM.match(fact) is not None


def _numbers(found: Sequence[bool]) -> str:
    """Return the places, from 1, where something was found, in words."""
    if all(found):
        return "all releases"
    places = [str(place) for place, each in enumerate(found, 1) if each]
    return f"release{'s' if len(places) > 1 else ''} {', '.join(places)}"


def read_charge(data: Any) -> Charge:
    """Rebuild the charge of an entry of JSON, which has its price as well."""
    names = ["event", "name", "date", "public", "of_groups", "reproducible"]
    same_keys("charge", data, [*names, "price"])
    charge = Charge.from_dict({name: data[name] for name in names})
    require(not charge.date or _DAY.fullmatch(charge.date) is not None, "date", charge.date,
            "a day such as '2026-01-31', or ''")
    return charge


def check_same(name: str, stated: Any, follows: Any) -> None:
    """Raise a ValueError unless what is stated follows, but for how machines compute."""
    if isinstance(follows, dict):
        same_keys(name, stated, follows)
        for key, value in follows.items():
            check_same(f"{name}[{key!r}]", stated[key], value)
    elif isinstance(follows, list):
        require(isinstance(stated, list) and len(stated) == len(follows), name, stated,
                f"{follows!r}, which follows from the rest")
        for place, pair in enumerate(zip(stated, follows, strict=True)):
            check_same(f"{name}[{place}]", *pair)
    else:
        same = stated == follows and isinstance(stated, bool) == isinstance(follows, bool)
        if isinstance(follows, float) and isinstance(stated, (int, float)) and not isinstance(
                stated, bool):
            same = math.isclose(stated, follows, rel_tol=_CLOSE) or (
                "charged_epsilon" in name and follows <= stated <= follows * _COARSER)
        require(same, name, stated, f"{follows!r}, which follows from the rest")
