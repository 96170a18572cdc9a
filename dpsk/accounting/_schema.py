"""The JSON schema of certificates, made from the classes that write them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from dpsk._privacy.best_of import BestOf
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.certificate_fields import ARITHMETIC, GROUP_RELATION, RELATION, Enforced
from dpsk._privacy.event_dicts import ELEMENTARY
from dpsk._privacy.events import Composed, NotPrivate, Repeated

if TYPE_CHECKING:
    from typing import Any

__all__ = ["certificate_schema"]

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
}


def certificate_schema() -> dict[str, Any]:
    """Return the JSON schema (2020-12) of what `Certificate.to_dict` returns.

    Returns
    -------
    schema : dict
        Of plain JSON types. That numbers follow from events a schema cannot say:
        `Certificate.from_dict` checks that.

    Examples
    --------
    >>> from dpsk.accounting import certificate_schema
    >>> certificate_schema()["title"]
    'Privacy certificate'
    """
    number = {"type": "number"}
    bound = {"name": _TEXT, "value": {"oneOf": [number, {"type": "array", "items": number}]},
             "origin": _TEXT, "how": _TEXT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Privacy certificate",
        **_object({name: _TYPES[name] for name in (
            "guarantee", *(each.name for each in fields(Certificate)), "accounting")}),
        "$defs": {"event": {"oneOf": _events()},
                  "enforced": _object({each.name: bound[each.name]
                                       for each in fields(Enforced)})}}


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
