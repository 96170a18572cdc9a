"""An error that can be known beforehand costs nothing: no call ends in one after a charge.

Every call that releases something, found by walking what is public, meets a table of bad
arguments; of those that it takes nothing is asked.
"""

import re
import sys
import warnings
import zlib

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dpsk import (
    DPGridSearchCV,
    DPRandomizedSearchCV,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
)
from dpsk.exceptions import BudgetExceededError, PrivacyWarning
from tests.bad_arguments import (
    EXEMPT,
    LABELS,
    N_COLUMNS,
    WEIGHTS,
    X,
    bad_values,
    calls,
    public_callables,
)
from tests.instruments import interrupt_releases
from tests.syntax import PACKAGE

CALLS = calls()
#: What validation notes of the shape is public.
_OF_SHAPE = {"n_features_in_", "feature_names_in_"}
#: One of so many values is tried in every run, another one of each call and argument.
_ONE_OF = 197
#: Values that are bad by the shape of a table alone: columns that are not there.
_OUT_OF_TABLE = {
    "n_components": N_COLUMNS + 1, "columns": {N_COLUMNS: (0.0, 1.0)},
    "add_indicator": [N_COLUMNS], "missing_indicator": [N_COLUMNS],
    "interactions": [(0, N_COLUMNS)], "monotonic_cst": [0] * (N_COLUMNS + 1)}


def tried(call):
    """Return the error of a call, or None, how often it was charged, and what it left."""
    with PrivacyBudget(1e6, 0.9) as budget:
        try:
            return tried_within(budget, call)
        except BudgetExceededError:
            # How much is left is no argument.
            return None, 0, set()


def tried_within(budget, call):
    """Return the same of a call in an open block; a BudgetExceededError where it has no room."""
    made, error, before = None, None, len(budget.charges)
    try:
        if call.is_estimator:
            made = call.made()
            call.fit(made)
        else:
            call()
    except BudgetExceededError:
        raise
    except Exception as caught:  # whatever it is, nothing may have been paid for it
        error = caught
    charged = len(budget.charges) - before
    if call.make.__name__.startswith("from_"):
        plt.close("all")
    left = {name for name in getattr(made, "__dict__", {})
            if name.endswith("_") and name[0] != "_"}
    return error, charged, left - _OF_SHAPE


def assert_free(call, what):
    check_free(what, *tried(call))


def check_free(what, error, charged, left):
    if error is not None:
        assert charged == 0, f"{what}: charged, then {type(error).__name__}: {error}"
        assert not left, f"{what}: left {left}, then {type(error).__name__}: {error}"


def assert_all_free(cases):
    """Check every (what, call) in one block, as blocks take longer than most calls."""
    alone = []
    with PrivacyBudget(1e6, 0.9) as budget:
        for what, call in cases:
            try:
                check_free(what, *tried_within(budget, call))
            except BudgetExceededError:
                # Those before may have left too little.
                alone.append((what, call))
    for what, call in alone:
        assert_free(call, what)


def places(name, call):
    """Yield (what, call) of all bad values."""
    for argument, what, value in bad_values(call):
        yield f"{name} {argument}={what}", call.changed(argument, value)


every_call = pytest.mark.parametrize("name", sorted(CALLS))


@pytest.mark.covering(most=20)
@every_call
def test_what_is_right_is_charged(name):
    error, charged, _ = tried(CALLS[name])
    assert error is None and charged >= 1


def test_every_public_callable_that_may_release_has_a_call():
    made = {name.partition(".")[0] for name in CALLS} | set(EXEMPT)
    assert sorted(set(public_callables()) - made) == []
    assert sorted(set(EXEMPT) - set(public_callables())) == []


@pytest.mark.covering(most=14)
@every_call
def test_some_bad_arguments_cost_nothing(name):
    assert_all_free((what, call) for what, call in places(name, CALLS[name])
                    if zlib.crc32(what.encode()) % _ONE_OF == 0)


@pytest.mark.audit
@every_call
def test_no_bad_argument_costs_anything(name):
    assert_all_free(places(name, CALLS[name]))


@pytest.mark.covering(most=12)
@pytest.mark.parametrize("name, argument", [
    (name, argument) for name, call in sorted(CALLS.items()) if call.is_estimator
    for argument in call.made().get_params(deep=True)
    if argument.rpartition("__")[2] in _OUT_OF_TABLE])
def test_columns_that_a_table_does_not_have_cost_nothing(name, argument):
    value = _OUT_OF_TABLE[argument.rpartition("__")[2]]
    call = CALLS[name].changed(argument, value)
    assert_free(call, f"{name} {argument}={value}")
    # Nothing releases what it knows no column for.
    assert tried(call)[0] is not None or argument.rpartition("__")[2] == "n_components"


@pytest.fixture
def closed():
    """Close all figures in the end, as drawn ones need matplotlib for that."""
    yield
    plt.close("all")


@pytest.mark.covering(most=14)
@pytest.mark.usefixtures("closed")
@every_call
def test_what_is_missing_is_no_number(name):
    """Behind a mask is what somebody has taken out; a date that is missing is a large number."""
    call = CALLS[name]
    made = call.make() if call.is_estimator else None
    # Some look at no targets.
    looked_at = {*call.given, "sample_weight", "groups", "by"} - {
        "y" for _ in [made] if made and not get_tags(made).target_tags.required}
    numeric = {"rewards"} | ({"y"} if made and is_regressor(made) else set()) | (
        {"y_true", "y_pred", "y_score", "y_proba"} if "Regression" in name or "error" in name
        or "r2" in name else {"y_score", "y_proba"})
    for argument, what, value in bad_values(call):
        if argument in looked_at and what.startswith("masked"):
            with pytest.raises((TypeError, AttributeError),
                               match=r"masked array, whose mask|unexpected keyword"):
                call.changed(argument, value)()
        elif argument in looked_at & numeric and what in ("NaT", "NaT in list", "dates"):
            with pytest.raises((TypeError, ValueError), match=r"date|NaN"):
                call.changed(argument, value)()


@pytest.mark.covering(most=8)
@pytest.mark.parametrize("name", [
    name for name, call in sorted(CALLS.items())
    if any(argument.endswith("sample_weight") for argument, *_ in bad_values(call))
    # A pipeline takes weights under the names of its steps.
    and not name.endswith("of pipelines")])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weights_that_one_precision_does_not_hold_cost_nothing(name, dtype):
    call = CALLS[name]
    weighted = [argument for argument, what, _ in bad_values(call)
                if argument.endswith("sample_weight") and what == "right"]
    for argument in weighted:
        of_rows = call.changed("X", call.given["X"].astype(dtype))
        assert tried(of_rows.changed(argument, WEIGHTS))[:2] == (None, 1)
        for weights in (np.where(np.arange(len(X)), WEIGHTS, 1e39), np.full(len(X), 1e-46)):
            error, charged, _ = tried(of_rows.changed(argument, weights))
            assert charged == (error is None)
            # A fit of one step may have such weights, where it keeps them in double precision.
            assert error is not None or not ("__" in argument or "Additive" in name)
            assert error is None or "sample_weight" in str(error)


@pytest.mark.covering(most=14)
@pytest.mark.parametrize("name", [name for name, call in sorted(CALLS.items())
                                  if call.is_estimator])
def test_a_refused_or_interrupted_fit_leaves_an_older_model_as_it_was(name, monkeypatch):
    call = other = CALLS[name]
    if call.given.get("y") is LABELS:
        other = call.changed("y", np.where(LABELS > 0, 7, 5))
    elif "target_bounds" in call.made().get_params(deep=False):
        other = call.changed("target_bounds", (0.0, 3.0))
    made = call.made()
    call.fit(made)
    made.set_params(**other.params)
    before = dict(vars(made))
    # Of a table of another width, which sets what validation notes.
    wider = other
    for argument in {"X", "states", "next_states"} & set(call.given):
        rows = call.given[argument]
        wider = wider.changed(argument, np.column_stack([rows, rows[:, :1]]))
    with PrivacyBudget(1e-6, 1e-9, kind="renyi"), pytest.raises(BudgetExceededError):
        (other if "columns" in name else wider).fit(made)
    assert_same(vars(made), before)
    interrupt_releases(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        other.fit(made)
    assert_same(vars(made), before)


def assert_same(found, before):
    assert {each: id(value) for each, value in found.items()} == {
        each: id(value) for each, value in before.items()}


@pytest.mark.covering(most=14)
@pytest.mark.parametrize("name", [name for name, call in sorted(CALLS.items())
                                  if call.is_estimator])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, np.inf])
def test_a_warning_that_is_an_error_costs_nothing_or_leaves_a_model(name, epsilon):
    call = CALLS[name].changed("epsilon", epsilon).changed("delta", 0.3)
    if epsilon == np.inf and isinstance(call.make(), (DPGridSearchCV, DPRandomizedSearchCV,
                                                      DPTunedThresholdClassifier)):
        # They need noise.
        return
    with warnings.catch_warnings(), PrivacyBudget(1e6, 0.999) as budget:
        warnings.simplefilter("error")
        for _ in range(9):
            made = call.made()
            before, charged = dict(vars(made)), len(budget.charges)
            try:
                call.fit(made)
            except BudgetExceededError:
                # Without noise there is no price.
                assert epsilon == np.inf
                break
            except Warning as error:
                # What is an error is seen one by one; numbers in it may follow from noise.
                warnings.filterwarnings("ignore", re.sub(r"\d+", r"\\d+", re.escape(str(error))))
            else:
                break
            if len(budget.charges) == charged:
                assert_same(vars(made), before)
            else:
                check_is_fitted(made)
                assert made.privacy_.epsilon == epsilon
        else:
            raise AssertionError(f"{name}: warns of more and more")


def test_warnings_come_from_the_one_place_that_lets_fits_complete_first():
    # Others are of budgets, and of older names of parameters, before anything is charged.
    others = {"_deprecation.py", "_charging/admission.py", "_privacy/journal.py"}
    assert {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")
            if "warnings.warn(" in path.read_text(encoding="utf-8")} == {"_warnings.py", *others}


@pytest.mark.covering(most=14)
@pytest.mark.parametrize("name", [name for name, call in sorted(CALLS.items())
                                  if call.is_estimator])
def test_a_weak_delta_is_told_once_as_that_of_the_whole(name):
    with pytest.warns(PrivacyWarning) as told:
        CALLS[name].changed("delta", 0.3)()
    said = [str(each.message) for each in told if "a delta of" in str(each.message)]
    assert len(said) == 1 and "a delta of 0.3, which is weak" in said[0]


def without(library, monkeypatch):
    """Make imports of a library fail, as where it is not installed."""
    class Missing:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] == library:
                raise ModuleNotFoundError(f"No module named {library!r}", name=library)

    for module in [each for each in sys.modules if each.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Missing, *sys.meta_path])


@pytest.mark.parametrize("name", [name for name in sorted(CALLS) if "Display" in name])
def test_a_display_misses_matplotlib_before_anything_is_charged(name, monkeypatch):
    without("matplotlib", monkeypatch)
    error, charged, _ = tried(CALLS[name])
    assert isinstance(error, ImportError) and "matplotlib" in str(error) and charged == 0


@pytest.mark.covering(most=15)
@pytest.mark.parametrize("name", [name for name, call in sorted(CALLS.items())
                                  if call.is_estimator])
def test_a_container_that_is_missing_is_missed_before_anything_is_charged(name, monkeypatch):
    without("polars", monkeypatch)
    call = CALLS[name]
    with config_context(transform_output="polars"):
        error, charged, left = tried(call)
    if hasattr(call.made(), "transform") or "ipeline" in name:
        assert isinstance(error, ImportError) and "polars" in str(error)
    assert error is None or (charged == 0 and not left)


@pytest.mark.parametrize("make", [
    lambda: DPStandardScaler().set_output(transform="polars"),
    lambda: CALLS["DPPipeline of a scaler"].made().set_output(transform="polars")],
    ids=["step", "pipeline"])
def test_a_container_that_is_missing_may_be_set_on_a_step(make, monkeypatch):
    without("polars", monkeypatch)
    with PrivacyBudget(1e6, 0.9) as budget, pytest.raises(ImportError, match="polars"):
        make().fit(X, X[:, 0] > 0)
    assert budget.charges == []


@pytest.mark.covering(most=14)
@pytest.mark.parametrize("name", [name for name, call in sorted(CALLS.items())
                                  if not call.is_estimator])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, np.inf])
@pytest.mark.usefixtures("closed")
def test_a_function_warns_before_it_is_charged_or_in_its_result(name, epsilon):
    """Where a warning is an error, nothing was charged; what comes later is a note."""
    call = CALLS[name].changed("epsilon", epsilon)
    with warnings.catch_warnings(), PrivacyBudget(1e6, 0.999) as budget:
        warnings.simplefilter("error")
        for _ in range(9):
            try:
                call()
            except BudgetExceededError:
                assert epsilon == np.inf
                break
            except Warning as error:
                assert not budget.charges
                warnings.filterwarnings("ignore", re.sub(r"\d+", r"\\d+", re.escape(str(error))))
            else:
                break
        else:
            raise AssertionError(f"{name}: warns of more and more")
