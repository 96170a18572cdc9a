"""The reference: every public object has a page, and every solver one of its options."""

import importlib
import inspect
import sys
from collections import Counter
from dataclasses import fields

import pytest

import dpsk
from dpsk import _solvers
from dpsk._solvers.base import NAMED_OPTIONS
from tests.public import MODULES, ROOT, listed, public_objects
from tests.registry import ALL_SOLVERS, ESTIMATORS, documented_solvers

_API = ROOT / "docs" / "api"


def test_every_public_object_has_a_page_of_its_own():
    pages = Counter(name for page in sorted(_API.glob("*.md")) for name in listed(page.name))
    assert pages == Counter(list(public_objects()))


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_names_of_a_module_stand_on_its_page(module):
    names = [name.rpartition(".")[2] for name in listed(f"{module}.md")]
    assert sorted(names) == sorted(MODULES[module].__all__)
    assert f"{module}\n" in (_API / "index.md").read_text(encoding="utf-8")


@pytest.fixture
def pages(monkeypatch):
    """The extension that writes the pages of solvers."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed")
    pytest.importorskip("numpydoc", reason="numpydoc is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    yield importlib.import_module("solver_pages")
    sys.modules.pop("solver_pages", None)


def test_every_solver_has_a_page_of_all_its_options(pages):
    written = {solver: pages.page(own, name, solver, None)
               for _, own, name, solver in pages.solvers()}
    registries = (_solvers.SOLVERS, _solvers.SADDLE_SOLVERS, _solvers.VALUE_SOLVERS,
                  _solvers.ADVERSARIAL_SOLVERS, _solvers.NOISELESS)
    assert set(written) == {solver for registry in registries for solver in registry.values()}
    for solver, text in written.items():
        shown = {*solver.options()} | ({field.name for field in fields(solver)}
                                       & {*NAMED_OPTIONS})
        assert all(f"``{name}`` : " in text for name in shown), solver
        assert all(each.need in text for each in solver.requires), solver
        assert "Privacy\n" in text and "References\n" in text, solver


def test_pages_and_table_name_what_estimators_offer(pages):
    table = pages.table()
    for _, own, _, solver in pages.solvers():
        assert f"(generated/{own}.rst)" in table
        assert all(f"`{field.name}=" in table for field in pages.options(solver)[1])
    for name, cls in ESTIMATORS.items():
        for solver in documented_solvers(cls):
            assert name in pages.offering(ALL_SOLVERS[solver])


def test_an_unknown_option_is_answered_with_where_options_are_told():
    model = dpsk.DPLogisticRegression(solver="gd", solver_options={"steps": 3})
    with pytest.raises(ValueError, match="see 'Solvers' in the documentation"):
        model.fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    assert 'see "Solvers"' in inspect.getdoc(dpsk.DPLogisticRegression)
