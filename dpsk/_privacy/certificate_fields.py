"""Fields of a certificate, and their JSON."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, Context
from numbers import Real
from typing import TYPE_CHECKING

from dpsk._privacy.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

    from typing_extensions import Self

__all__ = [
    "ARITHMETIC",
    "FACTS_OF_WHOLES",
    "FIELD_RULES",
    "GROUP_RELATION",
    "HANDED_OVER",
    "RELATION",
    "SAME_GROUPS",
    "AsJson",
    "Enforced",
    "ReadsJson",
    "check_accounting",
    "facts_of_wholes",
    "from_text",
    "html_table",
    "printable",
    "read_epsilon",
    "rebuilt_bounds",
    "require",
    "rounded_up",
    "same_keys",
    "tupled",
    "written_epsilon",
]

RELATION = "replace-one: data sets of n rows that differ in one row, changed arbitrarily"
#: The relation where rows are in groups, whose number n is.
GROUP_RELATION = ("replace-one: data sets of n groups of rows that differ in one group, changed "
                  "arbitrarily, its number of rows included")
#: Of folds that did not follow from indices alone.
HANDED_OVER = ("which rows are in which fold, as given; it is an unverified assumption that no "
               "value of a row decided this")
#: What is learnt of the columns of a table with groups, and from which rows.
ONE_ROW_EACH = "which row stands for its group: chosen by public randomness, not by its values"
#: What a sum over groups rests on: which rows are a group is data, and is not kept.
SAME_GROUPS = ("unverified assumption: groups are the same people in all of these fits; if they "
               "differ in one fit, this total does not hold")
#: The public facts of anything that fits several models, before the first of them is fitted.
FACTS_OF_WHOLES = (
    "number of rows and of columns, their names, and dtypes with the categories that these hold",
    "all parameters, those of parts included, and their public random draws")

#: The least exact first.
ARITHMETIC = {
    "float": "float: noise and sums in floating point, an idealization of real arithmetic",
    "snapped": "snapped: steps in float64; the result and its noise on a grid",
    "grid": "grid: sums over rows are exact; results and noise are multiples of a power of two",
}
#: What stands for an infinite epsilon in JSON.
_NO_BUDGET = "inf"


def facts_of_wholes(grouped: bool) -> list[str]:
    """Return `FACTS_OF_WHOLES`, of groups of rows where these are protected."""
    size, *others = FACTS_OF_WHOLES
    return [size.replace("rows", "groups of rows", 1) if grouped else size, *others]


@dataclass(frozen=True)
class Enforced:
    """A bound that the code enforced on every row, whatever the data.

    Attributes
    ----------
    name : str
    value : float or list
    origin : {"declared", "default", "derived", "released"}
        Given by the user, a constant default, implied by other bounds, or learnt from the rows by
        a release of this fit. "default" for a bound on targets reads "default, not declared".
    how : str
    """

    name: str
    value: object
    origin: str
    how: str


class AsJson:
    """Mixin of results that are written as JSON, by their `to_dict`."""

    if TYPE_CHECKING:
        def to_dict(self) -> dict[str, Any]: ...

    def to_json(self, **kwargs: Any) -> str:
        """Return `to_dict` as JSON text.

        Parameters
        ----------
        **kwargs : dict
            For `json.dumps`, such as ``indent=2``.

        Returns
        -------
        text : str
            JSON.
        """
        return json.dumps(self.to_dict(), **kwargs)


class ReadsJson(AsJson):
    """Mixin of certificates, which are also read from JSON and verified, by their `from_dict`."""

    if TYPE_CHECKING:
        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Self: ...

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a certificate from the text that `to_json` returned, and verify it.

        Parameters
        ----------
        text : str
            As `to_json` returned it.

        Returns
        -------
        certificate : object
            With equal fields.

        Raises
        ------
        ValueError
            If the text has other keys, or values that do not follow from what it lists as
            released.
        """
        try:
            return cls.from_dict(from_text(text))
        except (ArithmeticError, RecursionError) as error:
            # Numbers beyond those of doubles, and lists in lists in lists.
            raise ValueError(f"text: holds no certificate: {error}.") from None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _all_of(cls: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, tuple) and all(isinstance(v, cls) for v in value)


def _are_versions(value: Any) -> bool:
    return _all_of(tuple)(value) and all(len(pair) == 2 and _all_of(str)(pair) for pair in value)


#: What can be said of each field by itself.
FIELD_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "epsilon": (lambda v: (_is_number(v) and v > 0) or (isinstance(v, float) and v == math.inf),
                "a finite number > 0, or inf where nothing is private"),
    "delta": (lambda v: _is_number(v) and 0 <= v < 1, "a number in [0, 1)"),
    "event": (lambda v: isinstance(v, Event), "an Event"),
    "noise_multiplier": (lambda v: _is_number(v) and v >= 0, "a finite number >= 0"),
    "estimator": (_is_text, "a string"),
    "solver": (_is_text, "a string"),
    "enforced": (_all_of(Enforced), "a tuple of Enforced"),
    "public": (_all_of(str), "strings"),
    "released": (_all_of(str), "strings"),
    "noise_source": (_is_text, "a string"),
    "reproducible": (lambda v: isinstance(v, bool), "True or False"),
    "arithmetic": (lambda v: _is_text(v) and v in ARITHMETIC, f"one of {list(ARITHMETIC)}"),
    "relation": (lambda v: v in (RELATION, GROUP_RELATION),
                 f"{RELATION!r} or {GROUP_RELATION!r}"),
    "versions": (_are_versions, "pairs of strings"),
}


def rebuilt_bounds(bounds: Any) -> tuple[Enforced, ...]:
    require(isinstance(bounds, list), "enforced", bounds, "a list")
    names = [f.name for f in fields(Enforced)]
    for bound in bounds:
        same_keys("enforced", bound, names)
        ok = all(isinstance(bound[name], str) for name in names if name != "value")
        ends = bound["value"] if isinstance(bound["value"], list) else [bound["value"]]
        require(ok and all(isinstance(end, Real) for end in ends), "enforced", bound,
                 "numbers, or lists of numbers, described by strings")
    return tuple(Enforced(**bound) for bound in bounds)


def check_accounting(stated: dict[str, Any], follows: dict[str, Any]) -> None:
    same_keys("accounting", stated, follows)
    for name, value in follows.items():
        same = stated[name] == value
        if isinstance(value, float) and _is_number(stated[name]) and name != "epsilon":
            # Another machine or version of the accountant may take another grid.
            same = math.isclose(stated[name], value, rel_tol=1e-2)
        require(same, f"accounting[{name!r}]", stated[name],
                 f"{value!r}, which follows from the events")


def same_keys(name: str, data: object, keys: Collection[str]) -> None:
    require(isinstance(data, dict) and set(data) == set(keys), f"keys of {name}",
             sorted(map(str, data)) if isinstance(data, dict) else data, ", ".join(keys))


def written_epsilon(epsilon: float) -> float | str:
    """Return epsilon as JSON can hold it."""
    return epsilon if epsilon != math.inf else _NO_BUDGET


def read_epsilon(epsilon: object) -> Any:
    """Return epsilon from what JSON held; only its own word stands for infinity."""
    if isinstance(epsilon, float) and epsilon == math.inf:
        return _NO_BUDGET
    return math.inf if isinstance(epsilon, str) and epsilon == _NO_BUDGET else epsilon


def tupled(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def require(ok: bool, name: str, value: object, rule: str) -> None:
    if not ok:
        raise ValueError(f"{name}={value!r}: must be {rule}.")


def from_text(text: str) -> Any:
    """Return what JSON text holds; a ValueError where a key is there twice.

    A reader may see the first of them, and this program the last.
    """
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "keys", [key for key, _ in pairs], "there once each")
    return found


def printable(text: str) -> str:
    """Return text in one line, as a name could otherwise print lines or hide some."""
    return text if text.isprintable() else "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def html_table(title: str, lines: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and texts, as notebooks show it."""
    rows = "".join(f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(name)}"
                   f"</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
                   for name, text in lines)
    return f"<table><caption>{html.escape(title)}</caption><tbody>{rows}</tbody></table>"


def rounded_up(number: float, digits: int) -> str:
    """Return a number as text of a few digits that is not below it."""
    # Sums in floating point stand slightly above the decimals that they are sums of.
    number *= 1.0 - 1e-12
    return f"{float(Context(digits, ROUND_CEILING).create_decimal_from_float(number)):.{digits}g}"
