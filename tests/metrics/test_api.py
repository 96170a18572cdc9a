"""What is public of private evaluation is documented, with an example."""

import inspect

import pytest

import dpsk.metrics

PUBLIC = {name: getattr(dpsk.metrics, name) for name in dpsk.metrics.__all__}


@pytest.mark.parametrize("thing", PUBLIC.values(), ids=PUBLIC)
def test_exports_have_parameters_or_attributes_and_a_doctest(thing):
    doc = inspect.getdoc(thing)
    assert doc.splitlines()[0].endswith(".") and ">>> " in doc
    assert "Attributes\n---" in doc or "Parameters\n---" in doc or not inspect.signature(
        thing).parameters


@pytest.mark.parametrize("thing", [thing for thing in PUBLIC.values() if inspect.isclass(thing)])
def test_public_methods_are_documented_with_their_parameters(thing):
    for name, method in inspect.getmembers(thing, callable):
        if name.startswith("_"):
            continue
        doc = inspect.getdoc(method)
        assert doc.splitlines()[0].endswith((".", ",")) or doc.splitlines()[1].endswith(".")
        for parameter in inspect.signature(method).parameters:
            assert parameter == "self" or parameter in doc, (name, parameter)
