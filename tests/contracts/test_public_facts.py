"""What a call shows follows from its releases and from public facts, of all calls there are.

Every call that releases something, found by walking what is public, is made on a table, and again
on neighbors of it with the answers of the first handed back. One row of a neighbor is of an
awkward kind, or one group has another number of rows. What then differs came to light some other
way: plans, prices, scales, shapes, how much was drawn, what releases are told beside rows, the
certificate, warnings, or what is kept. And what differs of exact answers is within their price.
"""

import inspect
import itertools
import math
import pickle
import sys
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpsk import _fit, statistics
from dpsk._data.source import RowSource
from dpsk._privacy.noise import public
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._stages import ROW_STAGES
from tests.bad_arguments import calls
from tests.contracts.tapes import spent, taped
from tests.instruments import ordered_groups
from tests.registry import takes_groups

pytestmark = pytest.mark.covering(most=12)

CALLS = calls()
N, D, ROW = 60, 3, 5
#: What is declared; a setting that a call has no parameter for is left out.
SETTINGS = {"usual": {}, "ample": {"epsilon": 60.0}, "small": {"epsilon": 0.05},
            "bounded": {"data_norm": 1.5}, "classes": {"classes": [0, 1, 2]},
            **{name: {"precondition": name} for name in ROW_STAGES},
            "pairs": {"epsilon": 500.0, "interactions": 2, "n_knots": 2},
            "moments": {"epsilon": 500.0, "gamma": 0.5, "solver": "lstd"},
            "weights": {"classes": [0, 1, 2], "class_weight": {0: 0.1, 1: 1.0, 2: 7.0}}}
FEATURES = ("X", "states", "next_states")
#: Containers of features, by what a call may be given.
CONTAINERS = ("array", "single", "csr", "frame")
#: Rows that take the place of one: features, a class, and a number where there are no classes.
KINDS = {"long": (1e6, 1, 1.0), "zeros": (0.0, 0, 0.0), "huge": (-1e30, 1, -1.0),
         "tiny": (1e-30, 0, 1.0), "other": (-0.7, 0, -1.0), "twin": (None, None, None)}
#: The only row of its class, where classes are declared.
LONELY = {"lonely": (0.5, 2, 0.5)}


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


@contextmanager
def _fixed_streams():
    """Let every stream of a call draw the same as its counterpart in another call."""
    streams = (KeyedStream(b"stream %09d" % place) for place in itertools.count())
    with (mock.patch.object(_fit, "open_stream", lambda *_: next(streams)),
          mock.patch.object(public, "open_stream", lambda *_: next(streams))):
        yield


def _features(container):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D)) * rng.choice([0.1, 1.0], size=(N, 1))
    if container == "frame":
        return pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y"), "c": X[:, 2]})
    return {"array": X, "single": X.astype(np.float32), "csr": sparse.csr_matrix(X)}[container]


def _with_row(X, size, row=ROW):
    """Return features with one row of that size, or with the row before it twice."""
    if sparse.issparse(X):
        return sparse.csr_matrix(_with_row(X.toarray(), size))
    X = X.copy()
    if isinstance(X, pd.DataFrame):
        if size is None:
            X.iloc[row] = X.iloc[row - 1]
        else:
            X.loc[row, ["a", "c"]] = size, -size
        return X
    X[row] = X[row - 1] if size is None else size * np.array([1.0, -1.0, 1.0])
    return X


def _given(call, container):
    """Return the arguments of a call on a table of this file."""
    X = _features(container)
    numbers = np.clip(_features("array")[:, 0], -1.0, 1.0)
    labels = np.where(numbers > 0.0, 1, 0)
    # Public draws of folds, which are not from a stream of ours.
    found = {"random_state": 0} if "random_state" in _known(call)[0] else {}
    for name, value in call.given.items():
        if name in FEATURES:
            found[name] = X
        elif isinstance(value, np.ndarray):
            found[name] = (labels if value.dtype.kind in "iu" else labels == 1
                           if value.dtype.kind == "b" else np.abs(numbers)
                           if name in ("y_score", "y_proba") else numbers)
        else:
            found[name] = value
    return found


def _changed(given, kind):
    """Return the arguments with the features and the target of one row replaced."""
    size, label, number = {**KINDS, **LONELY}[kind]
    found = dict(given)
    for name, value in given.items():
        if name in FEATURES:
            found[name] = _with_row(value, size)
        elif isinstance(value, pd.Series):
            found[name] = value.copy()
            found[name][ROW] = {0: None}.get(label, 2)
        elif isinstance(value, np.ndarray) and name not in ("groups", "sample_weight"):
            found[name] = value.copy()
            target = number if value.dtype.kind == "f" else label
            target = abs(target) if name in ("y_score", "y_proba") and target else target
            found[name][ROW] = value[ROW - 1] if target is None else target
    return found


def _face(call, given, params, answers=None):
    """Return all that a call shows, by name, and the tape of its releases."""
    if call.is_estimator:
        call = replace(call, given=given, params={**call.params, **params})
    else:
        call = replace(call, given={**given, **params})
    with (_fixed_streams(), ordered_groups(), taped(answers) as tape, _handed() as handed,
          warnings.catch_warnings(record=True) as warned):
        warnings.simplefilter("always")
        if call.is_estimator:
            shown = call.made()
            call.fit(shown)
        else:
            shown = call.make(**call.given)
            plt.close("all")
    return {"events": tape.events, "scales, units, shapes": tape.public,
            "draws": [len(noise) for noise in tape.noise], "handed over": handed,
            "warnings": [(one.category, str(one.message)) for one in warned],
            **_kept(shown)}, tape


@cache
def _sites():
    """Return where functions that release something are named: modules, names, functions."""
    return [(module, key, each) for name, module in list(sys.modules.items())
            if name.startswith("dpsk.") for key, each in vars(module).items()
            if key.startswith("noisy_") and inspect.isfunction(each)]


@contextmanager
def _handed():
    """Note what all functions that release something are told beside rows and ways out."""
    noted = []

    def watched(function):
        def told(*args, **kwargs):
            noted.append((function.__name__, [
                pickle.dumps(each) for each in (*args, *kwargs.items())
                if not callable(each) and not isinstance(each, RowSource)]))
            return function(*args, **kwargs)
        return told

    with ExitStack() as stack:
        for module, key, function in _sites():
            stack.enter_context(mock.patch.object(module, key, watched(function)))
        yield noted


def _hold_to_prices(tapes):
    """Hold what moves between any two of some neighboring tables against what it costs."""
    for one, other in itertools.combinations(tapes, 2):
        for (event, *_), noises, here, there in zip(one.events, one.parts, one.totals,
                                                    other.totals, strict=True):
            with np.errstate(invalid="ignore"):
                moves = [a - b for a, b in zip(here, there, strict=True)]
            assert not noises or spent(event, noises, moves, apart=True) <= 1.0 + 1e-9


def _kept(shown):
    """Return what an object holds, by name; a picture of it is drawn from the same."""
    state = vars(shown) if hasattr(shown, "__dict__") else {"value": shown}
    return {name: pickle.dumps(value) for name, value in state.items()
            if not type(value).__module__.startswith("matplotlib")}


def _known(call):
    """Return the names of what a call may be told beside rows, and of what it is made with."""
    if not call.is_estimator:
        told = set(inspect.signature(call.make).parameters)
        if call.make.__name__ in statistics.__all__:
            # What these take as further options; some refuse parts.
            told |= {"by", "epsilon", "groups", "random_state"}
        return told, told
    made = call.made()
    return set(inspect.signature(made.fit).parameters), set(made.get_params())


def _cases(containers, *beside):
    found = []
    for name, call in sorted(CALLS.items()):
        told, params = _known(call)
        learnt = "groups" in beside and inspect.isclass(call.make) and takes_groups(call.make)
        if {*beside} <= told - call.given.keys() and not learnt:
            found += [pytest.param(call, given, container, id=f"{name}-{setting}-{container}")
                      for setting, given in SETTINGS.items() if given.keys() <= params
                      for container in (containers if "X" in call.given else ["array"])
                      if container == "array" or setting in ("usual", "ample")]
    return found


def _taken(given, rows):
    """Return the arguments with these rows alone, in this order."""
    return {name: value[rows] if isinstance(value, np.ndarray) else
            value.iloc[rows].reset_index(drop=True) if isinstance(
                value, (pd.DataFrame, pd.Series)) else value for name, value in given.items()}


def _compared(call, given, params, others, answers_alone=()):
    """Hold what a call shows on some tables against what it shows on the first of them."""
    try:
        face, tape = _face(call, given, params)
    except (TypeError, ValueError) as error:
        pytest.skip(f"not taken: {type(error).__name__}")
    tapes = [tape]
    for kind, other in others.items():
        again, replayed = _face(call, other, params, tape.answers)
        assert [each for each in face if each not in answers_alone
                and face[each] != again[each]] == [], kind
        tapes.append(replayed)
    if not answers_alone:
        _hold_to_prices(tapes)


@pytest.mark.parametrize("call, params, container", _cases(CONTAINERS))
def test_one_row_shows_in_answers_alone(call, params, container):
    given = _given(call, container)
    kinds = [*KINDS, *LONELY] if "classes" in params else KINDS
    _compared(call, given, params, {kind: _changed(given, kind) for kind in kinds})


@pytest.mark.parametrize("call, params, container", _cases(["array"], "sample_weight"))
def test_the_weight_of_one_row_shows_in_answers_alone(call, params, container):
    given = {**_given(call, container), "sample_weight": np.linspace(0.5, 1.5, N)}
    others = {}
    for kind, weight in (("long", 1e6), ("other", 0.0), ("twin", 1e-30)):
        weights = given["sample_weight"].copy()
        weights[ROW] = weight
        others[kind] = {**_changed(given, kind), "sample_weight": weights}
    _compared(call, given, params, others)


def _of_groups(given):
    """Return the arguments with groups, and those of neighbors in which one has other rows."""
    given = {**given, "groups": np.arange(N) // 4}
    others, rest = {}, np.flatnonzero(given["groups"] != ROW // 4)
    for kind, length in (("long", 1), ("zeros", 9), ("other", 4), ("huge", 200)):
        # The rows of the group make room for others, one after another, which come last or first.
        own = np.full(length, ROW)
        rows = np.r_[own, rest] if length < N else np.r_[rest, own]
        others[kind] = _taken(_changed(given, kind), rows)
    return given, others


@pytest.mark.parametrize("call, params, container", _cases(["array", "frame"], "groups"))
def test_the_size_of_one_group_shows_in_answers_alone(call, params, container):
    """Of groups how many there are is public, and not how many rows are in one of them."""
    given, others = _of_groups(_given(call, container))
    _compared(call, given, params, others)


@pytest.mark.parametrize("call, params, container", _cases(["array"], "groups", "sample_weight"))
def test_the_size_of_one_group_shows_in_answers_alone_beside_weights(call, params, container):
    given, others = _of_groups({**_given(call, container),
                                "sample_weight": np.linspace(0.5, 1.5, N)})
    for kind, weight in (("long", 1e6), ("zeros", 0.0)):
        others[kind]["sample_weight"][0] = weight
    _compared(call, given, params, others)


@pytest.mark.parametrize("beside", [None, "groups"])
@pytest.mark.parametrize("call, params, container", _cases(["array"], "by"))
def test_the_part_of_one_row_shows_in_answers_alone(call, params, container, beside):
    """Nor does it show how many rows are in a part of them, such as a town."""
    parts = pd.Series(np.arange(N) % 2, dtype=pd.CategoricalDtype([0, 1, 2]))
    given = {**_given(call, container), "by": parts}
    others = {kind: _changed(given, kind) for kind in ("long", "zeros", "twin")}
    if beside is not None:
        given, others = _of_groups(given)
    _compared(call, given, params, others)


@pytest.mark.parametrize("call, params, container", [
    case for case in _cases(["array", "frame"]) if "X" in case.values[0].given])
def test_a_row_of_gaps_shows_in_answers_alone(call, params, container):
    """Where another row has some already."""
    given = _given(call, container)
    given["X"] = _with_row(given["X"], math.nan, 0)
    _compared(call, given, params, {"gaps": {**given, "X": _with_row(given["X"], math.nan)}})


@pytest.mark.parametrize("call, params, container", [
    case for case in _cases(["frame"]) if "X" in case.values[0].given])
def test_a_word_that_one_row_has_shows_in_answers_alone(call, params, container):
    """How many words are looked at follows from rows: what is drawn for each never leaves."""
    given = _given(call, container)
    other = {**given, "X": given["X"].copy()}
    other["X"].loc[ROW, "b"] = "z, which is behind all others"
    _compared(call, given, params, {"lonely": other}, ("scales, units, shapes", "draws"))


@pytest.mark.parametrize("call, params, container", [
    case for case in _cases(["array"]) if {*FEATURES} & {*case.values[0].given}
    and case.values[1].keys() <= {"epsilon", "precondition"}])
def test_a_column_that_one_row_fills_shows_in_answers_alone(call, params, container):
    """Nor is a column left out that is zero in all other rows, or in all."""
    given = _given(call, container)
    other = dict(given)
    for name in {*FEATURES} & {*given}:
        given[name] = given[name].copy()
        given[name][:, -1] = 0.0
        other[name] = given[name].copy()
        given[name][ROW, -1] = 0.5
    _compared(call, given, params, {"empty": other})
