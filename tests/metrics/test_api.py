"""What is public of private evaluation is documented, with an example."""

import inspect

import pytest

import dpsk.metrics
from dpsk.metrics._table import normal_draws

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


def test_a_metric_of_a_large_table_keeps_its_draws_within_memory():
    assert len(normal_draws((2, 16), "noise")) == 800
    assert len(normal_draws((600, 600), "noise")) < 30
    normal_draws.cache_clear()
