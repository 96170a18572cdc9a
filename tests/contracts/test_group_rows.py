"""How many rows a group has is secret: nothing that enters of other groups follows from it.

Products of many rows round a row by its place among them, and a longer group moves all behind it.
"""

import inspect
from unittest import mock

import numpy as np
import pytest
from sklearn.base import is_classifier

from dpsk._models.products import product_by_row
from dpsk._stages import ROW_STAGES
from dpsk._statistics.leaves import Slopes
from tests.contracts.tapes import fixed_streams, taped
from tests.estimators.pairs import build
from tests.instruments import repeated_stream
from tests.registry import BOOSTED, ESTIMATORS, batch_solver, plain_solver, protects_groups

#: Groups beside the first, of one row each, and features: as many as tiles are cut into unevenly.
GROUPS, D = 301, 33
LENGTHS = (2, 3, 7, 300)


def _fits():
    """Yield the settings in which rows may be mapped before they enter."""
    for cls in filter(protects_groups, ESTIMATORS.values()):
        parameters = inspect.signature(cls).parameters
        settings = [{}] if "precondition" not in parameters else [
            {"precondition": value} for value in (False, True, *sorted(ROW_STAGES))]
        for params in settings:
            for solver in sorted({plain_solver(cls), batch_solver(cls)}):
                name = "-".join(map(str, (cls.__name__, solver, *params.values())))
                yield pytest.param(cls, solver, params, id=name)


def _table(cls, length):
    """Return rows, targets and groups, of which the first has so many rows, all alike."""
    rng = np.random.default_rng(3)
    # Features that are correlated, so that a map that is found of them is no diagonal.
    X = rng.normal(size=(GROUPS, D)) @ rng.normal(size=(D, D)) / D
    numbers = np.clip(X[:, 0], -1.0, 1.0)
    y = (numbers > 0.0).astype(int) if is_classifier(cls()) else numbers
    places = np.r_[np.zeros(length, int), np.arange(1, GROUPS)]
    return X[places], y[places], places


@pytest.mark.covering
@pytest.mark.parametrize("cls, solver, params", list(_fits()))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_groups_enter_to_the_last_bit_alike(cls, solver, params, dtype):
    seen, answers = [], None
    for length in (1, *LENGTHS):
        model = build(cls, solver, epsilon=1e4, delta=1e-4, max_iter=2, random_state=0,
                      data_norm=1.0, **params)
        X, y, groups = _table(cls, length)
        with fixed_streams(), taped(answers) as tape:
            try:
                model.fit(X.astype(dtype), y, groups=groups)
            except ValueError as error:
                pytest.skip(f"not taken: {error}")
        answers = tape.answers
        (opened,) = tape.opened
        # As passes over all rows meet them.
        block = opened.rows.take(slice(0, len(groups)))
        seen.append([part[length:].tobytes() for part in block if part is not None])
    assert all(one == seen[0] for one in seen)


@pytest.mark.parametrize("cls", BOOSTED.values(), ids=BOOSTED)
def test_other_groups_enter_trees_to_the_last_bit_alike(cls):
    seen, answers, kept = [], None, Slopes.__init__

    def noted(own, slopes, *args):
        kept(own, slopes, *args)
        entered.append((own.unit, slopes[length:].tobytes(), own.whole[:, length:].tobytes()))

    for length in (1, 302):
        X, y, groups = _table(cls, length)
        X = X[:, :4]
        y = y + 2 * (X[:, 1] > 0.1) if is_classifier(cls()) else y
        bounds = {} if is_classifier(cls()) else {"target_bounds": (-1.0, 1.0)}
        entered = []
        with repeated_stream(), taped(answers) as tape, mock.patch.object(
                Slopes, "__init__", noted):
            cls(epsilon=1e4, delta=1e-4, max_iter=2, random_state=0, **bounds).fit(
                X, y, groups=groups)
        answers = tape.answers
        seen.append(entered)
    assert len(seen[0]) == 2 and all(one == seen[0] for one in seen)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 33, 200, 257])
@pytest.mark.parametrize("columns", [1, 3, 33, 200])
def test_a_product_by_row_rounds_a_row_wherever_it_stands_alike(dtype, width, columns):
    rng = np.random.default_rng(0)
    row, weights = (rng.normal(size=shape).astype(dtype) for shape in ((1, width),
                                                                     (width, columns)))
    alone = product_by_row(row, weights)
    np.testing.assert_allclose(alone, row @ weights, rtol=1e-4, atol=1e-4)
    for length in range(1, 40):
        found = product_by_row(np.repeat(row, length, axis=0), weights)
        assert found.shape == (length, columns) and (found == alone).all()
