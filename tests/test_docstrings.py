"""Docstrings of all that is public have every section of numpydoc, in order, and fit signatures.

Checked by numpydoc, which names its checks by codes, as scikit-learn does.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache

import pytest

from dpsk import _solvers
from tests.public import own_members, public_objects
from tests.registry import every_public_estimator

docscrape = pytest.importorskip("numpydoc.docscrape", reason="numpydoc is not installed")
validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed").validate

#: Left out everywhere, as scikit-learn leaves them out.
_LEFT_OUT = {
    "GL01",  # text starts on the line of the opening quotes, which saves one
    "GL02",  # short docstrings close their quotes on the same line
    "RT02",  # what is returned has a name, by which the text speaks of it
}
#: Asked of classes alone, as by scikit-learn: a method is read on the page of its class.
_OF_CLASSES = {"ES01", "EX01", "SA01"}
#: The docstring of a property: its type, then what it is.
_PROPERTY = re.compile(r"[a-zA-Z].{0,60}? : \S")

_PUBLIC = public_objects()
_CLASSES = {name: each for name, each in _PUBLIC.items() if inspect.isclass(each)}
_SOLVERS = {f"{cls.__module__.split('.')[2]}-{name}": cls for registry in (
    _solvers.SOLVERS, _solvers.SADDLE_SOLVERS, _solvers.VALUE_SOLVERS,
    _solvers.ADVERSARIAL_SOLVERS, _solvers.NOISELESS) for name, cls in registry.items()}
every_public_object = pytest.mark.parametrize("name", sorted(_PUBLIC))
every_public_class = pytest.mark.parametrize("name", sorted(_CLASSES))
every_solver_class = pytest.mark.parametrize("key", sorted(_SOLVERS))


@cache
def _validated(name):
    return validate(name)["errors"]


def _errors(name, left_out):
    return [f"{name} {code}: {text}" for code, text in _validated(name) if code not in left_out]


def _told_as_attributes(cls):
    """Whether a class is a result: a dataclass that lists all of its fields as attributes."""
    told = docscrape.NumpyDocString(inspect.getdoc(cls))["Attributes"]
    names = {name.strip() for entry in told for name in entry.name.split(",")}
    return is_dataclass(cls) and {field.name for field in fields(cls)} <= names


@every_public_object
def test_public_objects_are_documented_in_all_sections(name):
    thing = _PUBLIC[name]
    left_out = {*_LEFT_OUT} if inspect.isclass(thing) else {*_LEFT_OUT, *_OF_CLASSES}
    if _told_as_attributes(thing):
        # Results are read, never made by hand.
        left_out.add("PR01")
    assert not _errors(f"{thing.__module__}.{thing.__qualname__}", left_out)


@every_public_class
def test_public_methods_are_documented_in_all_sections(name):
    errors = []
    for path, member in own_members(_CLASSES[name]).items():
        left_out = {*_LEFT_OUT, *_OF_CLASSES}
        if isinstance(member, property) or hasattr(member, "attrname"):
            assert _PROPERTY.match(inspect.getdoc(member)), path
            left_out.add("SS02")
        assert not re.search(r"default=.*default=", inspect.getdoc(member) or ""), path
        errors += _errors(path, left_out)
    assert not errors


def test_a_missing_section_is_found():
    def told(X):
        """Return nothing.

        Parameters
        ----------
        X : ndarray
        """
        return X

    told.__qualname__ = "test_a_missing_section_is_found"
    codes = {code for code, _ in validate(docscrape.get_doc_object(told))["errors"]}
    assert {"PR07", "RT01"} <= codes


@every_public_estimator
def test_estimators_tell_their_guarantee_their_errors_and_their_sources(cls):
    doc = docscrape.NumpyDocString(inspect.getdoc(cls))
    missing = [section for section in ("Parameters", "Attributes", "Raises", "See Also", "Notes",
                                       "References", "Examples") if not doc[section]]
    assert not missing and "*Privacy.*" in "\n".join(doc["Notes"])


@every_solver_class
def test_solvers_describe_every_option_and_their_releases(key):
    solver = _SOLVERS[key]
    doc = docscrape.NumpyDocString(inspect.getdoc(solver))
    told = {name.strip(): entry for section in ("Parameters", "Other Parameters")
            for entry in doc[section] for name in entry.name.split(",")}
    assert set(told) == {field.name for field in fields(solver)}
    assert all(entry.type and entry.desc for entry in told.values())
    assert doc["References"] and "Privacy: " in "\n".join(doc["Extended Summary"])
