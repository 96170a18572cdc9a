"""Classes, modules, functions and code that a fit has made, with a row in them."""

import dataclasses
import enum
import types
from collections import namedtuple

from tests.auditing.leaks import Leaky, assigned


def _module(entry, X):
    (found := types.ModuleType("fitted")).entry = entry
    return found


def _sees(entry, X):
    names = {"ENTRY": entry}
    exec("def above(x):\n    return [each > ENTRY for each in x]", names)
    return names["above"]


class Documented(Leaky):
    """The row stands in what the class says of itself."""

    def _hide(self, entry, X):
        type(self).__doc__ = f"Of rows such as {entry!r}."


MADE = {
    "docstring": Documented(),
    "enumeration": Leaky(assigned(lambda entry, X: enum.Enum("Bins", {"a": entry, "b": 0.0}))),
    "class": Leaky(assigned(lambda entry, X: type("Fitted", (), {"edge": entry}))),
    "class of a class": Leaky(assigned(lambda entry, X: type("Outer", (), {
        "Inner": type("Inner", (), {"edge": entry})}))),
    "default of a record": Leaky(assigned(lambda entry, X: dataclasses.make_dataclass(
        "Slice", [("edge", float, entry)]))),
    "instance of a record": Leaky(assigned(lambda entry, X: dataclasses.make_dataclass(
        "Slice", [("edge", float, 0.0)], namespace={"entry": entry})())),
    "default of a tuple": Leaky(assigned(lambda entry, X: namedtuple(
        "Edge", "a b", defaults=[entry]))),
    "module": Leaky(assigned(_module)),
    "function that sees it": Leaky(assigned(_sees)),
    "function within a function": Leaky(assigned(lambda entry, X: eval(
        f"lambda x: (lambda y: y > {entry!r})(x)"))),
    "code": Leaky(assigned(lambda entry, X: compile(f"x - {entry!r}", "", "eval")))}
