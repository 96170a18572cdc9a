"""How scikit-learn's checks of estimators are run here."""

from functools import cache

import pytest
from sklearn.utils import estimator_checks

from dpsk.testing import NoiseSeed

__all__ = ["WEIGHTS", "ids_of", "run_check"]

#: Why checks of weights fail, and are meant to.
WEIGHTS = ("n is public, divides every sum and sets the noise: a row of weight 2 is one row, not "
           "two, and a row of weight 0 is not removed")
#: scikit-learn's checks that fit twice under one int and compare, whatever the tags say.
_REPEATS = {"check_classifier_data_not_an_array", "check_regressor_data_not_an_array",
            "check_supervised_y_2d", "check_regressors_int", "check_fit_idempotent"}


def ids_of(checks):
    """Return what names the checks; the text of an estimator is made once for all of them."""
    return cache(checks.kwargs["ids"])


def run_check(estimator, check, monkeypatch):
    """Run a check; skip it where it wants noise that repeats of an estimator without a seed."""
    if estimator.random_state is not None:
        # The checks set an int, under which noise is fresh: the seed would be lost.
        monkeypatch.setattr(estimator_checks, "set_random_state", _set_noise_seed)
    elif check.func.__name__ in _REPEATS:
        pytest.skip("wants one int to repeat the noise")
    check(estimator)


def _set_noise_seed(estimator, random_state=0):
    estimator.set_params(random_state=NoiseSeed(random_state))
