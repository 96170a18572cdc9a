"""Fields of the certificate of a budget, and their rules."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from dpsk._privacy.certificate_fields import FIELD_RULES, require, same_keys
from dpsk._privacy.charges import Charge
from dpsk._privacy.filters import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["BUDGET_RULES", "check_same", "read_charge"]

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CHECKSUM = re.compile(r"[0-9a-f]{32}")
#: Relative tolerance on numbers that are solved for, which differ between machines.
_CLOSE = 1e-6
#: Largest excess of an epsilon composed on a coarser loss grid, as a factor; it is never below.
_COARSER = 1.01


def _is_finite(value: Any) -> bool:
    holds, _ = FIELD_RULES["epsilon"]
    return holds(value) and value < math.inf


#: The check of each single field, and its rule in words.
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


def read_charge(data: Any) -> Charge:
    """Rebuild a charge from its JSON entry, which also holds its price."""
    names = ["event", "name", "date", "public", "of_groups", "reproducible"]
    same_keys("charge", data, [*names, "price"])
    charge = Charge.from_dict({name: data[name] for name in names})
    require(not charge.date or _DAY.fullmatch(charge.date) is not None, "date", charge.date,
            "a day such as '2026-01-31', or ''")
    return charge


def check_same(name: str, stated: Any, follows: Any) -> None:
    """Raise a ValueError unless stated values equal derived ones up to tolerance."""
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
