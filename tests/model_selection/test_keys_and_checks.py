"""Noise of a search follows from all targets, settings are checked first, runs are not counted."""

import threading

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform

from dpsk import (
    DPPCA,
    DPGridSearchCV,
    DPLogisticRegression,
    DPMLPClassifier,
    DPRandomizedSearchCV,
    DPRidge,
    DPTableVectorizer,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.testing import NoiseSeed
from tests.budget.test_sharing import X, Y, model
from tests.instruments import fix_runs


def test_a_seed_draws_anew_for_other_targets():
    other = np.where(np.arange(60) == 3, 1 - Y, Y)
    first, again, second = (
        DPRandomizedSearchCV(model(), {"alpha": loguniform(1e-3, 1.0)}, n_iter=1,
                             random_state=NoiseSeed(0)).fit(X, y).best_params_["alpha"]
        for y in (Y, Y, other))
    assert first == again != second


def test_a_seed_draws_anew_for_other_names_of_columns():
    """By which parameters may mean other columns, so that the same noise would meet other sums."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=[f"column {place}" for place in range(X.shape[1])])
    first, again, other = (
        DPRandomizedSearchCV(model(), {"alpha": loguniform(1e-3, 1.0)}, n_iter=1,
                             random_state=NoiseSeed(0)).fit(each, Y).best_params_["alpha"]
        for each in (table, table.copy(), table.set_axis(table.columns[::-1], axis=1)))
    assert first == again != other


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_of_the_settings_would_refuse_is_refused_first(order):
    """Wherever among others it stands."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) / 4
    with PrivacyBudget(30.0, 1e-2) as budget, pytest.raises(ValueError, match="class_weight"):
        DPGridSearchCV(model(), {"class_weight": [None, {7: 2.0}][::order]}, n_iter=1).fit(
                rows, (rows[:, 0] > 0).astype(int))
    assert budget.charges == []


@pytest.mark.parametrize("order", [1, -1])
def test_rows_that_one_of_the_settings_would_refuse_are_refused_first(order):
    """Steps may take what others do not, in any row."""
    rows = np.linspace(0.0, 1.0, 1200).reshape(400, 3)
    y = rows[:, 0].copy()
    rows[-1, 0] = np.nan
    steps = [DPPCA(data_norm=2.0), DPTableVectorizer()][::order]
    search = DPGridSearchCV(
        make_dp_pipeline(DPPCA(), DPRidge(target_bounds=(0.0, 1.0)), shares={"dppca": 0.3}),
        {"dppca": steps}, n_iter=1, score_bound=1.0)
    with PrivacyBudget(30.0, 1e-2) as budget, pytest.raises(ValueError, match="contains NaN"):
        search.fit(rows, y)
    assert budget.charges == []


@pytest.mark.parametrize(("model", "n"), [
    (DPMLPClassifier(hidden_layer_sizes=(512,), max_iter=2, batch_size=50), 300),
    (DPLogisticRegression(solver="gd", data_norm=8.0, max_iter=2), 1 << 15),
    (DPGridSearchCV(DPLogisticRegression(max_iter=2), {"alpha": [1.0]}, n_jobs=2), 300)])
def test_no_number_of_threads_tells_how_many_runs_there_were(model, n, monkeypatch):
    """Names and numbers of later threads and processes would show it."""
    rows = np.random.default_rng(0).normal(size=(n, 64))
    started, start = [], threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start",
                        lambda self: start(self) or started.append(self.name))
    name = "estimator__alpha" if isinstance(model, DPGridSearchCV) else "alpha"
    search = DPGridSearchCV(model, {name: [0.1, 1.0]}, epsilon=2.0, test_size=0.1)
    with parallel_config("threading"):
        model.fit(rows, rows[:, 0] > 0)
        of_one = len(started)
        fix_runs(monkeypatch, 3)
        search.fit(rows, rows[:, 0] > 0)
    assert len(started) == of_one
    # An executor without a name of its own would count those of the whole process.
    assert not any(each.startswith("ThreadPoolExecutor") for each in started)
