"""Noise of a search that repeats follows from all targets, and all settings are checked first."""

import numpy as np
import pytest
from scipy.stats import loguniform

from dpsk import DPGridSearchCV, DPRandomizedSearchCV, PrivacyBudget
from dpsk.testing import NoiseSeed
from tests.budget.test_sharing import X, Y, model


def test_a_seed_draws_anew_for_other_targets():
    other = np.where(np.arange(60) == 3, 1 - Y, Y)
    first, again, second = (
        DPRandomizedSearchCV(model(), {"alpha": loguniform(1e-3, 1.0)}, n_iter=1,
                             random_state=NoiseSeed(0)).fit(X, y).best_params_["alpha"]
        for y in (Y, Y, other))
    assert first == again != second


def test_what_one_of_the_settings_would_refuse_is_refused_first():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) / 4
    with PrivacyBudget(30.0, 1e-2) as budget, pytest.raises(ValueError):
        DPGridSearchCV(model(), {"class_weight": [None, {7: 2.0}]}, n_iter=1).fit(
                rows, (rows[:, 0] > 0).astype(int))
    assert budget.charges == []
