"""An estimator that is fitted again: all attributes are those of one fit, the last."""

import threading

import numpy as np
import pandas as pd
import pytest

from dpsk import (
    DPLinearDiscriminantAnalysis,
    DPQuadraticDiscriminantAnalysis,
    DPRidge,
    DPStandardScaler,
    privacy_report,
)
from tests.bad_arguments import calls

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = np.arange(60) % 2
FITS = {name: call for name, call in calls().items() if call.is_estimator}


class _StopError(Exception):
    """Ends a fit at its first look at a parameter."""


@pytest.mark.parametrize("name", sorted(FITS))
def test_a_fit_starts_without_the_last_one_and_keeps_it_if_it_fails(name):
    call, seen = FITS[name], []
    model = call.made()
    # Of another estimator, because a real fit of each takes long.
    fitted = vars(DPStandardScaler().fit(X))
    earlier = {key: fitted[key] for key in set(fitted) - set(DPStandardScaler().get_params())}
    vars(model).update(earlier, note="kept", own_=2)

    class Watched(type(model)):
        @property
        def epsilon(self):
            seen.append(dict(vars(self)))
            raise _StopError

    vars(model).pop("epsilon")
    model.__class__ = Watched
    with pytest.raises(_StopError):
        call.fit(model)
    assert {"privacy_", "scale_"} <= set(earlier) and not set(earlier) & set(seen[0])
    assert seen[0]["note"] == "kept" and seen[0]["own_"] == 2
    assert all(vars(model)[key] is value for key, value in earlier.items())


@pytest.mark.parametrize("cls", [DPLinearDiscriminantAnalysis, DPQuadraticDiscriminantAnalysis])
def test_a_covariance_that_was_stored_does_not_outlive_its_certificate(cls):
    model = cls(np.inf, delta=1e-6, store_covariance=True, feature_range=(-5.0, 5.0),
                classes=[0, 1]).fit(X, LABELS)
    assert hasattr(model, "covariance_")
    model.set_params(epsilon=0.1, store_covariance=False).fit(X, LABELS)
    assert model.privacy_.is_private and not hasattr(model, "covariance_")
    assert privacy_report(model).is_private


def test_what_a_subclass_sets_before_the_fit_stays():
    class Centered(DPRidge):
        def fit(self, X, y):
            self.shift_ = y.mean()
            return super().fit(X, y - self.shift_)

    model = Centered(alpha=0.1)
    for y in (X[:, 0], X[:, 1] + 1.0):
        assert model.fit(X, y) is model and model.shift_ == y.mean()


class _Meanwhile:
    """Rows that let another thread fit the same estimator while they are read."""

    def __init__(self, rows, fit):
        self.rows, self.shape, self._fit, self.times = rows, rows.shape, fit, 0

    def __len__(self):
        return len(self.rows)

    def __array__(self, dtype=None, copy=None):
        if not self.times:
            other = threading.Thread(target=self._fit)
            other.start()
            other.join()
        self.times += 1
        return np.asarray(self.rows, dtype)


def test_two_fits_at_once_leave_one_of_them_whole():
    model, found = DPRidge(alpha=0.1, solver="gd", max_iter=2), []

    def fit_and_look():
        model.fit(pd.DataFrame(X[:40, :2], columns=["a", "b"]), X[:40, 0],
                  groups=np.arange(40) % 20)
        found.append(dict(vars(model)))
        model.set_params(alpha=0.2)

    rows = _Meanwhile(X, fit_and_look)
    model.fit(rows, X[:, 0])
    assert rows.times and found[0]["coef_"].shape == (2,) and model.coef_.shape == (3,)
    assert "group" in found[0]["privacy_"].relation and "group" not in model.privacy_.relation
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")
    assert model.alpha == 0.2
