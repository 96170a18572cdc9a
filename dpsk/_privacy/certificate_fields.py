"""Fields of a certificate, and their JSON."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from numbers import Real
from typing import TYPE_CHECKING

from dpsk._privacy import accountant
from dpsk._privacy.elementary import require
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
    "CertificateBase",
    "Enforced",
    "check_accounting",
    "escaped",
    "facts_of_wholes",
    "from_text",
    "html_table",
    "printable",
    "read_epsilon",
    "rebuilt_bounds",
    "require",
    "rounded_down",
    "rounded_up",
    "same_keys",
    "tupled",
    "written_epsilon",
]

RELATION = "replace-one: data sets of n rows that differ in one row, changed arbitrarily"
#: The relation for groups of rows, where n is the number of groups.
GROUP_RELATION = ("replace-one: data sets of n groups of rows that differ in one group, changed "
                  "arbitrarily, its number of rows included")
#: Assumption about folds that were not computed from row indices alone.
HANDED_OVER = ("which rows are in which fold, as given; it is an unverified assumption that no "
               "value of a row decided this")
#: Public fact of fits that learn about columns from one row of each group.
ONE_ROW_EACH = "which row stands for its group: chosen by public randomness, not by its values"
#: Assumption of a sum with groups: group membership is private data, which is not kept.
SAME_GROUPS = ("unverified assumption: groups are the same people in all of these fits; if they "
               "differ in one fit, this total does not hold")
#: Public facts of meta-estimators, known before the first of their models is fitted.
FACTS_OF_WHOLES = (
    "number of rows and of columns, their names, types, and categories listed by types",
    "all parameters, those of parts included, and their public random draws")

#: How noise was added, the least exact arithmetic first.
ARITHMETIC = {
    "float": "float: noise and sums in floating point, an idealization of real arithmetic",
    "snapped": "snapped: steps in float64; the result and its noise on a grid",
    "grid": "grid: sums over rows are exact; results and noise are multiples of a power of two",
}
#: The string for an infinite epsilon in JSON.
_NO_BUDGET = "inf"


def facts_of_wholes(grouped: bool) -> list[str]:
    """Return `FACTS_OF_WHOLES`, with groups of rows if `grouped`."""
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
        Given by the user, a constant default, implied by other bounds, or learned from the rows by
        a private release of this fit. Default bounds on targets read "default, not declared".
    how : str
    """

    name: str
    value: object
    origin: str
    how: str


class AsJson:
    """Mixin of results that are written as JSON through `to_dict`."""

    if TYPE_CHECKING:
        def to_dict(self) -> dict[str, Any]: ...

    def to_json(self, **kwargs: Any) -> str:
        """Return `to_dict` as JSON text.

        Parameters
        ----------
        **kwargs : dict
            Passed to `json.dumps`, such as ``indent=2``.

        Returns
        -------
        text : str
            The JSON.
        """
        return json.dumps(self.to_dict(), **kwargs)


class CertificateBase(AsJson):
    """Base of certificates: `event` gives the privacy curve, `_title` and `_lines` the text."""

    if TYPE_CHECKING:
        @property
        def event(self) -> Event: ...

        def _title(self) -> str: ...

        def _lines(self) -> Iterable[tuple[str, str]]: ...

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Self: ...

    def epsilon_at(self, delta: float) -> float:
        """Return an upper bound on the epsilon of all releases so far at another `delta`.

        Parameters
        ----------
        delta : float in [0, 1]
            The delta of (epsilon, delta)-differential privacy.

        Returns
        -------
        epsilon : float
            Infinite at delta 0, unless the privacy loss is bounded.
        """
        return accountant.epsilon(self.event, delta)

    def delta_at(self, epsilon: float) -> float:
        """Return an upper bound on the delta of all releases so far at another `epsilon`.

        Parameters
        ----------
        epsilon : float
            Finite and >= 0.

        Returns
        -------
        delta : float
            In [0, 1].
        """
        return accountant.delta(self.event, epsilon)

    def __str__(self) -> str:
        lines = list(self._lines())
        width = 2 + max(len(name) for name, _ in lines)
        return "\n".join([printable(self._title()), *(
            f"  {name + ':':<{width}}{printable(text)}" for name, text in lines)])

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._lines())

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
            A certificate with the same fields.

        Raises
        ------
        ValueError
            If the text has other keys, or values that do not follow from its events.
        """
        try:
            return cls.from_dict(from_text(text))
        except (ArithmeticError, RecursionError) as error:
            # Numbers beyond the range of doubles, or lists nested too deeply.
            raise ValueError(f"text: holds no certificate: {error}.") from None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _all_of(cls: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, tuple) and all(isinstance(v, cls) for v in value)


def _are_versions(value: Any) -> bool:
    return _all_of(tuple)(value) and all(len(pair) == 2 and _all_of(str)(pair) for pair in value)


#: The check of each single field, and its rule in words.
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
            # Another machine or version of the accountant may use another grid.
            same = math.isclose(stated[name], value, rel_tol=1e-2)
        require(same, f"accounting[{name!r}]", stated[name],
                 f"{value!r}, which follows from the events")


def same_keys(name: str, data: object, keys: Collection[str]) -> None:
    require(isinstance(data, dict) and set(data) == set(keys), f"keys of {name}",
             sorted(map(str, data)) if isinstance(data, dict) else data, ", ".join(keys))


def written_epsilon(epsilon: float) -> float | str:
    """Return epsilon as a JSON value; infinity becomes a string."""
    return epsilon if epsilon != math.inf else _NO_BUDGET


def read_epsilon(epsilon: object) -> Any:
    """Return epsilon from its JSON value; only the string "inf" means infinity."""
    if isinstance(epsilon, float) and epsilon == math.inf:
        # A string is no valid epsilon, so JSON's own Infinity is refused.
        return _NO_BUDGET
    return math.inf if isinstance(epsilon, str) and epsilon == _NO_BUDGET else epsilon


def tupled(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def from_text(text: str) -> Any:
    """Return the content of JSON text; a ValueError if a key is repeated.

    Some readers would take the first of two equal keys, and this program the last.
    """
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "keys", [key for key, _ in pairs], "there once each")
    return found


def printable(text: str) -> str:
    """Escape unprintable characters, with which a name could add or hide lines."""
    return text if text.isprintable() else "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def escaped(text: str) -> str:
    """Return text for HTML, without unprintable characters, which may turn the order of others."""
    return html.escape(printable(text))


def html_table(title: str, lines: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table of names and texts, for notebooks."""
    rows = "".join(f"<tr><th style='text-align:left;vertical-align:top'>{escaped(name)}"
                   f"</th><td style='text-align:left'>{escaped(text)}</td></tr>"
                   for name, text in lines)
    return f"<table><caption>{escaped(title)}</caption><tbody>{rows}</tbody></table>"


def rounded_up(number: float, digits: int) -> str:
    """Return a number as text, rounded up to a few digits."""
    # A floating-point sum may be slightly above the decimal sum; that excess is not rounded up.
    return _rounded(number * (1.0 - 1e-12), digits, ROUND_CEILING)


def rounded_down(number: float, digits: int) -> str:
    """Return a number as text, rounded down to a few digits."""
    return _rounded(number * (1.0 + 1e-12), digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, way: str) -> str:
    return f"{float(Context(digits, way).create_decimal_from_float(number)):.{digits}g}"
