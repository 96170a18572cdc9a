"""Unverified assumptions behind the guarantees of fits and of budgets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpsk._privacy.certificate_fields import HANDED_OVER, SAME_GROUPS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["FIXED", "facts_of", "facts_of_charges", "of_budget", "of_fit"]

_CHOSEN = "rows, columns, bounds and other parameters were chosen without a look at the data"
_ALONE = "nothing else was computed from these rows: exact scores"
_SEED = "nobody knows or guesses the seed"
_ROUNDING = "rounding of numbers in floating point does not weaken the noise"
_ALWAYS = (
    "all releases come from the same rows, each once in a release and as it is, as a budget is "
    "for one data set",
    f"{_CHOSEN}, except at results that were released inside of the budget",
    f"{_ALONE}, fits by other packages and fits outside of the budget are not counted",
    "nobody copied the ledger to spend the budget twice")
_STAYS = "a row that is replaced stays in its group, in releases that protect groups"
_UNSAID = ("nothing but what is listed was taken as public, and no noise repeats under a seed, in "
           "releases that state no public facts")
_SEEDED = f"{_SEED}, in releases whose noise repeats under one"
#: Assumption of every sum of certificates.
FIXED = ("which fits were made and how each was set up: fixed before the first, or else account "
         "for them with a PrivacyBudget")
#: Beginnings of the public facts that are unverified assumptions, for fits and for budgets.
_BEGINNINGS = (FIXED, HANDED_OVER, SAME_GROUPS, _SEED, _STAYS, _UNSAID, *_ALWAYS)
#: An assumption of a fit, or of one of its steps after the step's name.
_CLAIM = re.compile(r"(?:.*: )?that ")


def of_fit(certificate: Any) -> tuple[str, ...]:
    """Return the unverified assumptions behind the guarantee of a certificate."""
    if not certificate.is_private:
        return ()
    claims = tuple(filter(_is_claim, certificate.public))
    own = [(_CHOSEN, ""), (_ALONE, " and other fits are not counted")]
    own += [(_SEED, "")] * certificate.reproducible
    own += [(_ROUNDING, "")] * (certificate.arithmetic != "grid")
    # The certificate of a whole budget states these assumptions in its own words.
    said = claims if certificate.estimator == "PrivacyBudget" else ()
    return (*(line + more for line, more in own
              if not any(claim.startswith(line) for claim in said)), *claims)


def of_budget(unit: str, charges: Sequence[Any]) -> tuple[str, ...]:
    """Return the unverified assumptions behind the guarantee of a budget."""
    lines = [*_ALWAYS]
    if unit == "group":
        lines.append(SAME_GROUPS)
    lines += [f"{text} ({_numbers(found)})" for text, found in (
        (_STAYS, [unit == "row" and charge.of_groups for charge in charges]),
        # The ledger line was truncated, or an older version wrote no public facts.
        (_UNSAID, [not charge.public for charge in charges]),
        (_SEEDED, [charge.reproducible for charge in charges])) if any(found)]
    return (*lines, *_stated(charges, True))


def facts_of(certificate: Any) -> list[str]:
    """Return the public facts of a fit, without the assumptions of a private one."""
    return [fact for fact in certificate.public
            if not (certificate.is_private and _is_claim(fact))]


def facts_of_charges(charges: Sequence[Any]) -> tuple[str, ...]:
    """Return the public facts of charges, each with the releases that state it."""
    return _stated(charges, False)


def _stated(charges: Sequence[Any], claims: bool) -> tuple[str, ...]:
    """Return the assumptions of charges if `claims`, else their other public facts."""
    found = dict.fromkeys(fact for charge in charges for fact in charge.public
                          if _is_claim(fact) == claims)
    return tuple(f"{fact} ({_numbers([fact in charge.public for charge in charges])})"
                 for fact in found)


def _is_claim(fact: str) -> bool:
    return fact.startswith(_BEGINNINGS) or _CLAIM.match(fact) is not None


def _numbers(found: Sequence[bool]) -> str:
    """Return the positions of true values, counted from 1, in words."""
    if all(found):
        return "all releases"
    places = [str(place) for place, each in enumerate(found, 1) if each]
    return f"release{'s' if len(places) > 1 else ''} {', '.join(places)}"
