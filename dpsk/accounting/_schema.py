"""The JSON schema of certificates, derived from the classes that write them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from dpsk._parameters import check_choice
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.budget_certificate import DERIVED as OF_BUDGET
from dpsk._privacy.budget_certificate import BudgetCertificate
from dpsk._privacy.certificate import DERIVED, Certificate
from dpsk._privacy.certificate_fields import ARITHMETIC, GROUP_RELATION, RELATION, Enforced
from dpsk._privacy.event_dicts import ELEMENTARY
from dpsk._privacy.events import Composed, NotPrivate, Repeated
from dpsk._privacy.filters import KINDS

if TYPE_CHECKING:
    from typing import Any

__all__ = ["certificate_schema"]

_VERSION = "https://json-schema.org/draft/2020-12/schema"
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_EPSILON = {"oneOf": [{"type": "number", "minimum": 0}, {"const": "inf"}]}
_TYPES = {
    "guarantee": _TEXT,
    "epsilon": _EPSILON,
    "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "event": {"$ref": "#/$defs/event"},
    "noise_multiplier": {"type": "number", "minimum": 0},
    "estimator": _TEXT,
    "solver": _TEXT,
    "enforced": {"type": "array", "items": {"$ref": "#/$defs/enforced"}},
    "public": _TEXTS,
    "released": _TEXTS,
    "noise_source": _TEXT,
    "reproducible": {"type": "boolean"},
    "arithmetic": {"enum": list(ARITHMETIC)},
    "relation": {"enum": [RELATION, GROUP_RELATION]},
    "versions": {"type": "object", "additionalProperties": _TEXT},
    "accounting": {"type": "object", "required": ["epsilon", "delta", "method"]},
    "assumed": _TEXTS,
}


def certificate_schema(of: str = "fit") -> dict[str, Any]:
    """Return the JSON schema (2020-12) of the output of `Certificate.to_dict`.

    Parameters
    ----------
    of : {"fit", "budget"}, default="fit"
        "fit" for `Certificate.to_dict`, "budget" for `BudgetCertificate.to_dict`.

    Returns
    -------
    schema : dict
        Values of plain JSON types. A schema cannot express that the numbers follow from the
        events; `from_dict` of either class checks that.

    Raises
    ------
    ValueError
        If `of` is something else.

    Examples
    --------
    >>> from dpsk.accounting import certificate_schema
    >>> certificate_schema()["title"]
    'Privacy certificate'
    """
    check_choice("of", of, ["fit", "budget"])
    if of == "budget":
        return _of_budget()
    number = {"type": "number"}
    bound = {"name": _TEXT, "value": {"oneOf": [number, {"type": "array", "items": number}]},
             "origin": _TEXT, "how": _TEXT}
    return {
        "$schema": _VERSION,
        "title": "Privacy certificate",
        **_object({name: _TYPES[name] for name in (
            "guarantee", *(each.name for each in fields(Certificate)), *DERIVED)}),
        "$defs": {"event": {"oneOf": _events()},
                  "enforced": _object({each.name: bound[each.name]
                                       for each in fields(Enforced)})}}


def _of_budget():
    """Return the schema of the certificate of a budget."""
    number = {"type": "number", "minimum": 0}
    numbers = {"type": "object", "additionalProperties": number}
    day = {"type": "string", "pattern": r"^(\d{4}-\d{2}-\d{2})?$"}
    charge = {"event": _TYPES["event"], "name": _TEXT, "date": day, "public": _TEXTS,
              "of_groups": {"type": "boolean"}, "reproducible": {"type": "boolean"},
              "price": numbers}
    types = {
        **{name: _TYPES[name] for name in ("guarantee", "relation", "delta", "versions")},
        "epsilon": {"type": "number", "exclusiveMinimum": 0}, "kind": {"enum": list(KINDS)},
        "disclosure": _TYPES["delta"], "unit": {"enum": ["row", "group"]},
        "name": {"type": ["string", "null"]},
        "charges": {"type": "array", "items": {"$ref": "#/$defs/charge"}},
        "date": {**day, "minLength": 1}, "checksum": {"type": "string"},
        "charged_epsilon": number, "spent": numbers, "limits": numbers, "assumed": _TEXTS}
    return {
        "$schema": _VERSION,
        "title": "Privacy certificate of a budget",
        **_object({name: types[name] for name in (
            "guarantee", "relation", *(each.name for each in fields(BudgetCertificate)),
            *OF_BUDGET)}),
        "$defs": {"event": {"oneOf": _events()}, "charge": _object(charge)}}


def _events():
    """Return the schemas of all kinds of events."""
    event = {"$ref": "#/$defs/event"}
    held = {Repeated: {"event": event, "count": {"type": "integer", "minimum": 0}},
            Composed: {"events": {"type": "array", "items": event}}}
    for kind in (*ELEMENTARY, NotPrivate):
        held[kind] = {each.name: {"type": "number", "minimum": 0} for each in fields(kind)}
    held[BestOf]["event"] = event
    return [_object({"kind": {"const": kind.__name__}, **of}) for kind, of in held.items()]


def _object(properties):
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}
