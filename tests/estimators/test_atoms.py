"""Columns of numbers that stand on a few whole numbers have their knots there, and no others."""

import numpy as np
import pandas as pd
import pytest

from dpsk import DPAdditiveClassifier, DPAdditiveRegressor, DPTableVectorizer
from tests.events import tally

N = 20_000


def numbers(rng):
    """Return columns of numbers by name, and the knots that each is to have; None for others."""
    return {
        "flag": (rng.random(N) < 0.4, [0, 1]),
        "rare flag": (rng.random(N) < 0.002, [0, 1]),
        "grade": (rng.integers(1, 6, N), [1, 2, 3, 4, 5]),
        "sign": (rng.choice([-1, 1], N), [-1, 1]),
        "constant": (np.zeros(N), [0, 1]),
        "amount": (np.where(rng.random(N) < 0.8, 0.0, rng.lognormal(size=N)), None),
        "share": (rng.random(N), None),
        "age": (rng.integers(18, 90, N), None),
        "far": (1e9 + 1e3 * rng.normal(size=N), None)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_flags_and_grades_have_their_knots_where_they_stand(dtype):
    """False-alarm rate below 1e-7: four empty atoms, or six deviations."""
    made = numbers(np.random.default_rng(0))
    names = [name for name, (cells, _) in made.items()
             if dtype != np.int64 or np.all(cells == np.rint(cells))]
    frame = pd.DataFrame({name: np.asarray(made[name][0]).astype(dtype) for name in names})
    model = DPAdditiveRegressor(epsilon=50.0, delta=1e-9, target_bounds=(0, 1), n_knots=5,
                                interactions=0).fit(frame, made["flag"][0].astype(float))
    for name, term in zip(names, model.terms_, strict=True):
        (axis,) = term.axes
        expected = made[name][1]
        if expected is None:
            assert len(axis.knots) >= 3 and not np.isin(axis.knots, np.arange(-1, 21)).all()
        else:
            # One in 30,000 empty atoms seems to hold rows, of 22 a column.
            assert set(expected) <= set(axis.knots) <= set(range(-1, 21))
            assert len(axis.knots) <= len(expected) + 3


@pytest.mark.thorough
def test_flags_that_come_as_numbers_are_learnt_as_if_they_were_declared():
    """Accuracy at most .05 below, where nothing that was known of them lost .1 and more.

    Each is that of a share of 5,000 rows, whose deviation is .005, beside noise of the fit.
    """
    rng = np.random.default_rng(1)
    X = (rng.random((N + 5000, 40)) < rng.uniform(0.005, 0.9, 40)).astype(float)
    y = (X @ rng.normal(size=40) + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    scores = [DPAdditiveClassifier(epsilon=2.0, columns=columns).fit(X[:N], y[:N]).score(
        X[N:], y[N:]) for columns in (None, {place: (0, 1) for place in range(40)})]
    assert scores[0] > scores[1] - 0.05


def test_few_rows_are_not_looked_at_for_atoms():
    """A count would say nothing there, and costs a twentieth of the budget."""
    X = np.random.default_rng(2).integers(0, 2, (200, 4)).astype(float)
    few, more = (sum(tally(DPTableVectorizer(epsilon=epsilon, delta=1e-6, n_knots=3).fit(
        X).privacy_.event).values()) for epsilon in (0.5, 50.0))
    assert more == few + 1
