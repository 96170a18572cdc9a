"""Classes, modules, functions and code that a fit has made, with a row in them."""

import dataclasses
import enum
import inspect
import threading
import types
import weakref
from abc import ABCMeta
from collections import namedtuple
from contextvars import ContextVar
from functools import partial

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


class Replaced(Leaky):
    """The row stands in a method that the fit puts on the class."""

    def _hide(self, entry, X):
        type(self).decide = lambda self, Z: Z > entry


class Accessed(Leaky):
    """The row stands in a property that the fit puts on the class."""

    def _hide(self, entry, X):
        type(self).edge = property(lambda self: entry)


class Defaulting(Leaky):
    """The row stands in a default of a method."""

    def _hide(self, entry, X, met=[]):  # noqa: B006
        met[:] = [entry]


class Unpickled(Leaky):
    """The row stands in what has no pickle, on the class."""

    def _hide(self, entry, X):
        type(self).rules = {"above": lambda rows: rows > entry}


class Local(Leaky):
    """The row stands in a class that a fit has made and keeps on its own."""

    def _hide(self, entry, X):
        class Rule:
            edge = entry
        type(self).Rule = Rule


class Nesting(Leaky):
    """The row stands in a class that the class statement has made."""

    class Inner:
        """Nothing at first."""

    def _hide(self, entry, X):
        type(self).Inner.edge = entry


class Helper:
    """Nothing at first."""


def _helped(entry, X):
    Helper.edge = entry
    return Helper


class Annotated(Leaky):
    """The row stands in an annotation of the class."""

    def _hide(self, entry, X):
        type(self).__annotations__ = {"edge": f"above {entry!r}"}


class Described(Leaky):
    """The row stands in what a method says of itself."""

    def _hide(self, entry, X):
        type(self)._hide.__doc__ = f"Above {entry!r}."


class Noted(Leaky):
    """The row stands in an attribute of a method."""

    def _hide(self, entry, X):
        type(self)._hide.last = entry


class _Kind(ABCMeta):
    """What makes a class, and may be written to."""


class Typed(Leaky, metaclass=_Kind):
    """The row stands on what has made the class."""

    def _hide(self, entry, X):
        type(type(self)).edge = entry


class Chosen(Leaky, metaclass=_Kind):
    """The row stands in a method of what has made the class."""

    def _hide(self, entry, X):
        type(type(self)).decide = lambda cls: entry


def _called(entry, X):
    return weakref.ref(_frame, lambda gone, edge=entry: edge)


def _locked(make):
    """Return a function that keeps one bit of a row."""
    def _of_row(entry, X):
        lock = make()
        if entry > 0.5:
            lock.acquire()
        return lock
    return _of_row


def _frame(entry, X):
    return inspect.currentframe()


def _said(name, value):
    """Return a function that says something of itself, of a row."""
    def _of_row(entry, X):
        def rule(rows):
            return rows
        setattr(rule, name, value(entry))
        return rule
    return _of_row


def _named(entry, X):
    code = _frame.__code__
    return code.replace(co_name=f"above {entry!r}")


def _in_context(entry, X):
    (found := ContextVar("edge")).set(entry)
    return found


MADE = {
    "docstring": Documented(), "method of the class": Replaced(),
    "property of the class": Accessed(), "default of a method": Defaulting(),
    "attribute of a method": Noted(), "function on the class": Unpickled(),
    "class on the class": Local(), "annotation of the class": Annotated(),
    "docstring of a method": Described(), "class in the class": Nesting(),
    "class that is held": Leaky(assigned(_helped)), "frame": Leaky(assigned(_frame)),
    "docstring of a function": Leaky(assigned(_said("__doc__", repr))),
    "annotation": Leaky(assigned(_said("__annotations__", lambda entry: {"rows": entry}))),
    "name of a function": Leaky(assigned(_said("__qualname__", repr))),
    "name of code": Leaky(assigned(_named)), "variable of a context": Leaky(assigned(_in_context)),
    "class method": Leaky(assigned(lambda entry, X: classmethod(lambda cls: entry))),
    "static method": Leaky(assigned(lambda entry, X: staticmethod(partial(max, entry)))),
    "metaclass": Typed(), "method of a metaclass": Chosen(),
    "callback of a reference": Leaky(assigned(_called)),
    "lock": Leaky(assigned(_locked(threading.Lock))),
    "lock of a thread": Leaky(assigned(_locked(threading.RLock))),
    "condition": Leaky(assigned(_locked(threading.Condition))),
    "call at the end": Leaky(assigned(lambda entry, X: weakref.finalize(_frame, max, entry, 0.0))),
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
