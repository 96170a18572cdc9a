"""The rules that keep the package readable and its noise in one place."""

import ast
import doctest
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from graphlib import TopologicalSorter

import pytest

import dpsk
from dpsk._docs import FRAGMENTS, _parsed, documented
from dpsk._objective.losses import LOSSES
from dpsk._objective.penalties import PENALTIES
from dpsk._solvers import SADDLE_SOLVERS, SOLVERS, VALUE_SOLVERS
from tests import registry
from tests.loops import in_a_row
from tests.registry import ALL_ESTIMATORS, ALL_SOLVERS, ESTIMATORS, every_estimator
from tests.syntax import PACKAGE, tree

_ROOT = PACKAGE.parent
_MODULES = sorted(PACKAGE.rglob("*.py"))
_TESTS = sorted((_ROOT / "tests").rglob("*.py"))
every_module = in_a_row("path", _MODULES)
every_file = in_a_row("path", _MODULES + _TESTS)

#: Layers from the top; a module imports from its own layer's package or from lower ones.
_LAYERS = {"_budgeted": 11.5, "_estimator": 2, "_mixins": 2, "_ranged": 2.5, "_steps": 2.5,
           "_fit": 3, "_budget": 3.5, "_charging": 3.7, "_rehearsal": 3.8, "_callbacks": 3.5,
           "_solvers": 4, "_stages": 4, "_queries": 5, "_statistics": 5.4, "_sums": 5.5,
           "_mechanism": 10.5, "_defaults": 6, "_problem": 7, "_models": 8, "_objective": 8,
           "_data": 9, "_privacy": 11, "_kinds": 11.7, "_parameters": 10, "_whole": 10,
           "_typing": 13, **dict.fromkeys((
               "_context", "_fragments", "_fragments_of_fits", "_tool_fragments"), 12.5),
           **dict.fromkeys((
               "_docs", "_output", "_version", "_progress", "_origin", "_delegation",
               "_deprecation", "_drawing", "_warnings", "exceptions"), 12)}
_ESTIMATORS, _SHARED = 1, {
    "additive": {"linear_model", "preprocessing"}, "tree": {"preprocessing"},
    "ensemble": {"additive", "preprocessing", "tree"},
    "statistics": {"metrics", "preprocessing"}, "planning": {"metrics", "preprocessing"},
    "model_selection": {"metrics"}, "audit": {"auditing"}, "auditing": {"accounting"},
    "discriminant_analysis": {"naive_bayes"},
    **{n: {"linear_model", "neural_network"} for n in ("ranking", "robust", "neural_network")}}

#: Folders of tests that may import private modules, and how many files of tests may at most.
_KERNEL_TESTS, _MOST_USERS = {"contracts", "privacy", "noise", "audits", "reference"}, 194
_DRAWING = {"dpsk/_privacy/noise/samplers.py", "dpsk/_privacy/noise/streams.py"}
_RANDOM_MODULES = {"random", "secrets", "uuid"}
_RANDOM_ATTRIBUTES = {"random", "urandom", "getrandom", "default_rng", "RandomState",
                      "check_random_state", "rvs", "SystemRandom"}


def _imported(parsed):
    """Yield the dotted names of the modules that a tree imports, wherever it does so."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _package(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@every_module
def test_imports_run_one_way(path):
    if path == PACKAGE / "__init__.py":
        return
    own = _package(path)
    layer = _LAYERS.get(own, _ESTIMATORS)
    for name in _imported(tree(path)):
        parts = name.split(".")
        if parts[0] != "dpsk" or parts[1] == own:
            continue
        assert parts[1] in _LAYERS or layer == _ESTIMATORS, f"{own} imports {name}"
        # What estimators share at their level is their base, and that of linear scores.
        assert _LAYERS.get(parts[1], _ESTIMATORS) > layer or parts[1] in _SHARED.get(
            own, ()), f"{own} imports {name}"


def _module(path):
    return ".".join(("dpsk", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__")


def test_no_files_import_each_other():
    """Not on the way over others either, in functions, or for notes on types alone."""
    modules = {_module(path): path for path in _MODULES}
    graph = {}
    for name, path in modules.items():
        found = ((each, each.rpartition(".")[0]) for each in _imported(tree(path)))
        graph[name] = {next((one for one in both if one in modules), name) for both in found}
        graph[name].discard(name)
    # Where there is a circle this names it.
    TopologicalSorter(graph).prepare()


def test_the_rows_are_out_of_reach_of_solvers():
    names = {name for path in (PACKAGE / "_solvers").rglob("*.py")
             for name in _imported(tree(path))}
    assert not [name for name in names if name.startswith("dpsk._sums")
                or "_privacy.noise" in name or name.endswith(".Rows")]


def test_only_models_and_oracles_know_what_a_sparse_matrix_is():
    users = {path.relative_to(PACKAGE).as_posix() for path in _MODULES
             for name in _imported(tree(path)) if name == "scipy.sparse"}
    assert all(user.startswith(("_models/", "_sums/", "_statistics/", "_queries/", "_data/"))
               or user == "linear_model/_base.py" for user in users), users


def test_tests_name_private_modules_where_kernels_are_under_contract_and_nowhere_else():
    """All others go through public seams, and no longer break where only the inside moves."""
    users = {path.relative_to(_ROOT / "tests") for path in _TESTS
             if any(re.match(r"dpsk\b.*\._(?!_)", name) for name in _imported(tree(path)))}
    outside = {user.as_posix() for user in users if user.parts[0] not in _KERNEL_TESTS}
    # What watches fits, what reads registries, and what holds the structure and its docstrings.
    assert outside == {"instruments.py", "registry.py", "test_architecture.py",
                       "test_docstrings.py", "test_reference.py"}
    assert len(users) <= _MOST_USERS


@every_file
def test_files_are_short_and_finished(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= 400
    assert max(map(len, lines), default=0) <= 99
    # The words are put together here so that this file does not hold them.
    assert not re.search("|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]), text)


def test_the_oldest_versions_that_are_tested_are_those_declared():
    declared = re.search(r"^dependencies = \[(.*?)\]", (_ROOT / "pyproject.toml").read_text(),
                         re.MULTILINE | re.DOTALL).group(1)
    pins = dict(line.split("==") for line in (_ROOT / "tests" / "oldest.txt").read_text()
                .splitlines() if not line.startswith("#"))
    bounds = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', declared))
    assert len(bounds) == declared.count('"') // 2
    assert {name: pin.removesuffix(".0") for name, pin in pins.items()} == bounds


def _draws(parsed):
    """Yield what in a tree could draw at random."""
    for name in _imported(parsed):
        parts = set(name.split("."))
        if parts & (_RANDOM_MODULES | _RANDOM_ATTRIBUTES):
            yield name
    for node in ast.walk(parsed):
        if isinstance(node, ast.Attribute) and node.attr in _RANDOM_ATTRIBUTES:
            yield node.attr


@every_module
def test_nothing_is_drawn_outside_mechanisms_and_sampling(path):
    where = path.relative_to(_ROOT).as_posix()
    found = [name for name in _draws(tree(path)) if not name.startswith("dpsk.")]
    assert where in _DRAWING or not found, found


@pytest.mark.parametrize("source", [
    "import numpy as np\nnp.random.normal()", "from numpy.random import default_rng",
    "import random", "from secrets import token_bytes", "import os\nos.urandom(8)",
    "from os import urandom", "from sklearn.utils import check_random_state",
    "from scipy import stats\nstats.norm.rvs()"])
def test_the_search_for_draws_finds_them(source):
    assert list(_draws(ast.parse(source)))


def test_only_oracles_and_the_fit_open_what_draws():
    users = {path.relative_to(PACKAGE).as_posix() for path in _MODULES
             for name in _imported(tree(path))
             if name.startswith(("dpsk._privacy.noise.samplers", "dpsk._privacy.noise.streams",
                                 "dpsk._privacy.noise.public"))}
    users = {user for user in users if not user.startswith(
        ("_mechanism/", "_sums/", "_statistics/", "_queries/", "_privacy/"))}
    # Public: draws after a fit, candidates, splits, rows of audits, replays and groups, and seeds.
    assert users <= {"_fit.py", "_data/groups.py", "auditing/_tables.py", "ensemble/_base.py",
                         "ensemble/_forest.py",
                     "additive/_noise.py", "generative/_base.py", "metrics/_table.py",
                     "linear_model/_noise.py",
                     "model_selection/_split.py", "pipeline/_known.py",
                     "reinforcement_learning/_td.py", "reinforcement_learning/_distillation.py",
                     "tree/_classifier.py"}


def _contract_files():
    return {path.name: path.read_text(encoding="utf-8")
            for path in (_ROOT / "tests" / "contracts").glob("test_*.py")}


@pytest.mark.parametrize("mark, entries, file", [
    (registry.every_loss, LOSSES, "test_losses.py"),
    (registry.every_loss, LOSSES, "test_row_sums.py"),
    (registry.every_loss, LOSSES, "test_grid_sums.py"),
    (registry.every_loss, LOSSES, "test_weighted_sums.py"),
    (registry.every_penalty, PENALTIES, "test_penalties.py"),
    (registry.every_saddle_solver, SADDLE_SOLVERS, "test_saddle_solvers.py"),
    (registry.every_solver, SOLVERS, "test_solvers.py")])
def test_every_registry_entry_is_under_contract(mark, entries, file):
    assert {case.id for case in mark.args[1]} == set(entries)
    name = next(key for key, value in vars(registry).items() if value is mark)
    assert f"@{name}\n" in _contract_files()[file]


def test_every_estimator_meets_every_solver_on_offer_in_tests():
    covered = {case.values for case in registry.every_fit.args[1]}
    assert covered == {(cls, solver) for cls in ESTIMATORS.values()
                       for solver in registry.documented_solvers(cls)}
    assert {solver for _, solver in covered} == set(ALL_SOLVERS)


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("solver", sorted(ALL_SOLVERS))
def test_the_docstring_offers_the_solvers_that_fit_and_no_others(cls, solver):
    model = registry.make_estimator(cls, solver)
    rows = registry.training_rows(model)
    if solver in registry.documented_solvers(cls):
        assert model.fit(*rows).privacy_.solver == solver
    else:
        instead = ".*use solver='gd'" if solver in cls._solvers else ": must be one of 'auto'"
        with pytest.raises(ValueError, match=f"solver='{solver}'{instead}"):
            model.fit(*rows)


def _public():
    """Yield every public name with its object: exports and the methods of exported classes."""
    for name in dpsk.__all__:
        thing = getattr(dpsk, name)
        if not callable(thing):
            continue
        yield name, thing
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(
                        value, (classmethod, property))):
                    yield f"{name}.{member}", getattr(thing, member)


def _owned(things):
    return [pytest.param(thing, id=name) for name, thing in things]


@in_a_row("name, thing", _public())
def test_public_names_are_documented(name, thing):
    doc = inspect.getdoc(thing)
    assert doc and doc.splitlines()[0].endswith(".")


@pytest.mark.parametrize("thing", _owned(
    (name, thing) for name, thing in _public() if "." not in name))
def test_exports_have_a_doctest(thing):
    assert ">>> " in inspect.getdoc(thing)


def _sections(doc):
    """Split a numpydoc docstring at its underlined headings."""
    parts = re.split(r"\n([A-Z][\w ]+)\n-{3,}\n", doc)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _entries(section):
    """Return the names documented in a section, several to a line split at commas."""
    heads = re.findall(r"^(\w[\w, ]*?) :", section, re.MULTILINE)
    return [name.strip() for head in heads for name in head.split(",")]


@registry.every_public_estimator
def test_estimators_document_every_parameter_in_order(cls):
    sections = _sections(inspect.getdoc(cls))
    signature = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
    documented = _entries(sections["Parameters"])
    assert sorted(documented) == sorted(signature)


def _filled():
    """Yield every class and function of the package with its docstring."""
    for path in _MODULES:
        name = ".".join(path.relative_to(_ROOT).with_suffix("").parts).removesuffix(".__init__")
        for thing in vars(importlib.import_module(name)).values():
            if getattr(thing, "__module__", None) == name:
                yield thing
                yield from filter(inspect.isfunction, vars(thing).values()
                                  if inspect.isclass(thing) else ())


@every_module
def test_docstrings_begin_with_their_subject(path):
    """No "What it does is": an imperative, or the name of the thing."""
    nodes = [node for node in ast.walk(tree(path)) if isinstance(
        node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))]
    for first in ((ast.get_docstring(node) or "-").split()[0] for node in nodes):
        assert first not in ("What", "Whatever", "Who", "Whom", "Whose")


def test_no_placeholder_is_left_in_a_docstring():
    found = {thing.__qualname__ for thing in _filled()
             if re.search(r"%\(\w+\)s", thing.__doc__ or "")}
    # The decorator's own says what they look like.
    assert found == {"documented"}
    for cls in ALL_ESTIMATORS.values():
        assert "%(" not in pydoc.render_doc(cls)


def test_every_fragment_of_docstrings_is_used():
    text = "".join(path.read_text(encoding="utf-8") for path in _MODULES
                   if not re.match("_docs|.*_fragments", path.stem))
    text += "".join(body for _, _, body in FRAGMENTS.values())
    assert set(re.findall(r"%\((\w+)\)s", text)) == set(FRAGMENTS)


def test_no_fragment_of_docstrings_shadows_another():
    with pytest.raises(RuntimeError, match="'columns_words' is written twice"):
        _parsed("columns|words : dict\n    One.\ncolumns|words : dict or None\n    Another.\n")


def test_a_fragment_takes_the_default_of_the_signature_and_keeps_what_follows():
    @documented
    class Example:
        """An example.

        %(alpha)s
            In words of its own.
        %(epsilon)s %(fit_intercept)s
        """

        def __init__(self, epsilon, alpha=0.25, fit_intercept="x"):
            """Store."""

    lines = inspect.getdoc(Example).splitlines()[2:]
    assert lines[0] == "alpha : float, default=0.25" and lines[2] == "    In words of its own."
    assert lines[3] == "epsilon : float" and lines[-2] == 'fit_intercept : bool, default="x"'


@registry.every_public_estimator
def test_documented_defaults_are_those_of_the_signature(cls):
    text = _sections(inspect.getdoc(cls))["Parameters"]
    heads = re.findall(r"^(\w[\w, ]*) :(.*(?:\n {8}.*)*)", text, re.MULTILINE)
    for names, rest in heads:
        for name in names.split(", "):
            default = inspect.signature(cls).parameters[name].default
            if default is inspect.Parameter.empty:
                continue
            assert f"default={default!r}".replace("'", '"') in rest, name


@pytest.mark.audit
def test_docstrings_may_be_stripped():
    code = "import dpsk; assert dpsk.DPRidge.__doc__ is None; print(dpsk.DPRidge(2.0).epsilon)"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, cwd=_ROOT)
    assert done.stdout.split() == [b"2.0"], done.stderr


@registry.every_public_estimator
def test_the_doctest_of_a_class_is_found_where_the_class_is_defined(cls):
    found = doctest.DocTestFinder().find(sys.modules[cls.__module__])
    assert any(each.name.endswith(f".{cls.__name__}") and each.examples for each in found)


@every_estimator
def test_estimators_document_every_fitted_attribute(cls):
    sections = _sections(inspect.getdoc(cls))
    model = cls().fit(*registry.training_rows(cls()))
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted <= set(_entries(sections["Attributes"]))
    own = {"coef_"} if registry.is_linear(cls) else {"coefs_"}
    assert {"privacy_", "n_iter_"} | own <= fitted


@registry.every_public_estimator
def test_estimators_state_their_guarantee_and_source(cls):
    sections = _sections(inspect.getdoc(cls))
    assert "*Privacy.*" in sections["Notes"] and "Released" in sections["Notes"]
    assert "ValueError" in sections["Raises"]
    assert sections["References"].strip()


@every_estimator
def test_solvers_and_penalties_on_offer_are_registered(cls):
    text = _sections(inspect.getdoc(cls))["Parameters"]
    assert registry.documented_solvers(cls) <= set(ALL_SOLVERS)
    for penalty in PENALTIES if registry.is_linear(cls) else ():
        assert f'"{penalty}"' in text


@pytest.mark.parametrize("entry", [
    pytest.param(value, id=name)
    for table in (LOSSES, ALL_SOLVERS, VALUE_SOLVERS) for name, value in table.items()])
def test_losses_and_solvers_carry_their_argument(entry):
    doc = inspect.getdoc(entry)
    words = ("derivative", "gradient") if entry in LOSSES.values() else ("Privacy:", "References")
    assert any(word in doc for word in words)
