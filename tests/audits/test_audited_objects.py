"""Objects that an audit reads: no time, and no generator."""

import inspect

import numpy as np
import pytest

from dpsk.auditing._leaves import leaves
from dpsk.auditing._survey import Survey
from dpsk.auditing._tables import neighboring_tables
from tests.auditing.test_verdicts import KeepsUnder
from tests.contracts.test_kinds import AROUND, ROWS
from tests.registry import (
    ALL_ESTIMATORS,
    ESTIMATORS,
    make_estimator,
    plain_solver,
    training_rows,
)


@pytest.mark.parametrize("name", sorted(ALL_ESTIMATORS))
def test_no_estimator_of_the_library_keeps_a_generator(name):
    cls = ALL_ESTIMATORS[name]
    if name in ESTIMATORS:
        model = make_estimator(cls, plain_solver(cls), max_iter=3)
        rows = dict(zip(("X", "y"), training_rows(model), strict=True))
    else:
        given, options = AROUND.get(name, ([], {}))
        model = cls(*given, **options)
        rows = {"X": ROWS, "y": (ROWS[:, 0] > 0.5).astype(int)}
        if "next_states" in inspect.signature(cls.fit).parameters:
            rows = {"states": ROWS, "rewards": ROWS[:, 0], "next_states": ROWS}
    survey = Survey(model)
    first = next(iter(rows))
    other = {**rows, first: np.vstack([0.5 * rows[first][:1], rows[first][1:]])}
    assert len(list(survey.taken([neighboring_tables(model, neighbors=[(rows, other)])]))) == 1
    assert not survey.generators and not survey.set_aside


@pytest.mark.parametrize("name", ["refit_time_", "mean_fit_time", "std_score_time"])
def test_how_long_a_fit_took_is_not_read(name):
    model = KeepsUnder(name)
    setattr(model, name, 1.0)
    assert not any(where.endswith(name) for where, _ in leaves(model, ""))
