"""No condition that ends in an error is met for the first time after a charge.

Every call that releases something runs under a tracer that notes the lines of conditions of all
``raise`` statements, before the first charge and after it. What is checked again, in the fits of
parts, was checked before.
"""

import ast
import inspect
import os
import sys
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from dpsk._charging import admission
from tests.bad_arguments import GROUPS, WEIGHTS, X, calls
from tests.syntax import PACKAGE, tree

CALLS = calls()
#: What holds whatever the arguments are: an error there would be one of the library.
_INVARIANTS = ("_privacy/", "_mechanism/", "_sums/", "_statistics/", "_queries/", "_charging/",
               "_models/whitened.py")
#: By prefixes of calls: files whose checks may be met after the charge, and why.
_LATER = {
    "": {"pipeline/_rows.py": "what a step makes of rows is known once it is fitted",
         "metrics/_cross_validation.py": "so are predictions",
         "metrics/_inputs.py": "so are predictions"},
    **dict.fromkeys((
        "DPAdditive", "DPPipeline of an additive model", "DPGradientBoosting"), dict.fromkeys(
        ("_data/columns.py", "_data/structure.py", "_estimator.py", "_fit.py", "_mixins.py",
         "_objective/requirements.py", "_parameters.py", "_stages/bounds.py",
         "_stages/class_balance.py", "_stages/target_place.py", "_stages/temperature_scaling.py",
         "linear_model/_base.py", "linear_model/_logistic.py", "linear_model/_penalized.py",
         "linear_model/_regressor.py"),
        "the estimator fits a linear model by arguments and sparse features of its own")),
    "dp_brier_score_loss": {
        "metrics/_scores.py": "it takes no range of scores, so theirs is that of probabilities"},
    **dict.fromkeys(("DPDecisionTree", "DPRandomForest"), dict.fromkeys(
        ("_data/groups.py", "_parameters.py"),
        "bounds of targets are learnt by arguments of its own, from groups that were read")),
}


def _conditions(parsed):
    """Yield (line, what is raised) of every condition under which something is raised."""
    def walk(node, line):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Raise) and line and child.exc is not None:
                yield line, ast.unparse(child.exc).partition("(")[0]
            elif isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                yield from walk(child, None)
            else:
                yield from walk(child, child.lineno if isinstance(child, ast.If) else line)

    return walk(parsed, None)


@cache
def conditions(path):
    """Return what `_conditions` yields of a file, or nothing where it is not of the package.

    Read when a frame of it runs: every worker collects these tests, and few run them.
    """
    if not path.startswith(f"{PACKAGE}{os.sep}"):
        return {}
    return dict(_conditions(tree(path)))


@contextmanager
def traced(met):
    """Note (file, line) of conditions that are met, in the last set of a list."""
    def of_frame(frame, event, argument):
        lines = conditions(frame.f_code.co_filename)

        def of_line(frame, event, argument):
            if event == "line" and frame.f_lineno in lines:
                met[-1].add((frame.f_code.co_filename, frame.f_lineno))
            return of_line

        return of_line if lines else None

    before = sys.gettrace()
    threading.settrace(of_frame)
    sys.settrace(of_frame)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before)


def first_met_after_a_charge(call, monkeypatch):
    """Return the conditions that a call meets after its first charge and not before, as text."""
    met = [set()]

    def charged(*args, **kwargs):
        admitted = admit(*args, **kwargs)
        if len(met) == 1:
            met.append(set())
        return admitted

    admit = admission.admit
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "dpsk" and getattr(module, "admit", None) is admit:
            monkeypatch.setattr(module, "admit", charged)
    with traced(met):
        call()
    before, after = met
    return {(Path(path).relative_to(PACKAGE).as_posix(), line, conditions(path)[line])
            for path, line in after - before}


def variants():
    """Yield (name, call) of every call, and of it with all that it may be told of rows."""
    for name, call in sorted(CALLS.items()):
        yield name, call
        target = type(call.made()).fit if call.is_estimator else call.make
        rows = call.given.get("X", X).astype("f4")
        told = {"groups": GROUPS, "sample_weight": WEIGHTS, "X": rows}
        known = told.keys() & inspect.signature(target).parameters.keys()
        if name.endswith("of pipelines"):
            # A pipeline takes weights under the names of its steps.
            known -= {"sample_weight"}
        for each in sorted(known):
            call = call.changed(each, told[each])
        if known:
            yield f"{name} with {' and '.join(sorted(known))}", call


VARIANTS = dict(variants())


@pytest.mark.covering(most=30)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_every_check_comes_before_the_charge(name, monkeypatch):
    late = first_met_after_a_charge(VARIANTS[name], monkeypatch)
    allowed = {path for start, paths in _LATER.items() if name.startswith(start)
               for path in paths}
    assert sorted(each for each in late if each[0] not in allowed
                  and not each[0].startswith(_INVARIANTS) and each[2] != "RuntimeError") == []
