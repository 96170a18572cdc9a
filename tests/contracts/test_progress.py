"""A long fit says how far it is, in public facts; a short one says nothing."""

import re

import numpy as np

from dpsk import (
    DPLogisticRegression,
    DPRandomizedSearchCV,
    PrivacyBudget,
    _progress,
)
from dpsk._progress import watching
from tests.budget.test_budget import DELTA, X, Y, model
from tests.registry import every_fit, make_estimator, training_rows


def test_a_short_fit_says_what_it_is_and_no_more(capsys):
    X, y = training_rows(DPLogisticRegression())
    DPLogisticRegression(verbose=1).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) == 1


@every_fit
def test_a_long_fit_counts_the_planned_answers(cls, solver, capsys, monkeypatch):
    monkeypatch.setattr(_progress, "_EVERY", 0.0)
    model = make_estimator(cls, solver, verbose=1, max_iter=3) if solver not in (
        "objective_perturbation", "sufficient_statistics") else make_estimator(
            cls, solver, verbose=1)
    X, y = training_rows(model)
    model.fit(X, y)
    _, *lines = capsys.readouterr().out.splitlines()
    found = [re.fullmatch(rf"{cls.__name__}: answer (\d+) of (\d+), \d+ s", line).groups()
             for line in lines]
    counts, totals = np.array(found, dtype=int).T
    np.testing.assert_array_equal(counts, np.arange(1, len(lines) + 1))
    assert len(set(totals)) == 1 and counts[-1] <= totals[0]


def test_answers_beside_those_of_batches_are_counted_once(capsys, monkeypatch):
    """A bound on rows and three scales are released once, and all that each batch is asked."""
    monkeypatch.setattr(_progress, "_EVERY", 0.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    DPLogisticRegression(10.0, delta=1e-5, solver="minibatch_stgd", data_norm="auto", verbose=1,
                         max_iter=3).fit(X, (X[:, 0] > 0).astype(int))
    _, *lines = capsys.readouterr().out.splitlines()
    counts, totals = np.array([re.findall(r"(\d+) of (\d+)", line)[0] for line in lines],
                              dtype=int).T
    np.testing.assert_array_equal(counts, np.arange(1, len(lines) + 1))
    # Two at most for every batch and round, as a batch may be compared and not asked.
    assert len(set(totals)) == 1 and counts[-1] <= totals[0] and totals[0] % 2 == 0


def test_lines_are_a_second_apart(capsys, monkeypatch):
    clock = iter([0.0, 0.4, 1.1, 1.9, 2.2])
    monkeypatch.setattr(_progress, "_EVERY", 1.0)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    progress = _progress.Progress("DPRidge", 4)
    for _ in range(4):
        progress()
    assert capsys.readouterr().out.splitlines() == ["DPRidge: answer 2 of 4, 1 s",
                                                    "DPRidge: answer 4 of 4, 2 s"]


def test_a_search_is_charged_once_and_not_for_each_of_its_secret_runs():
    told, budget = [], PrivacyBudget(4.0, DELTA)
    search = DPRandomizedSearchCV(model(solver="gd"), {"alpha": [0.0, 0.1]}, n_iter=8, epsilon=1.0,
                                  delta=DELTA)
    with budget, watching(lambda name, total: told.append(name) or (lambda: None)):
        search.fit(X, Y)
    (charge,) = budget.charges
    assert charge.event == search.privacy_.event
    assert told == ["DPRandomizedSearchCV"]
