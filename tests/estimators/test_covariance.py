"""DPEmpiricalCovariance: agreement with scikit-learn's, bounds, certificates, parameters."""

import math
import pickle

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import Certificate, DPEmpiricalCovariance
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import gaussian_delta
from tests.sklearn_checks import run_check

_CHECKS = parametrize_with_checks(
    [DPEmpiricalCovariance(random_state=seed) for seed in (None, NoiseSeed(0))])


def rows(n=20000, seed=0):
    """Return rows of four columns that depend on each other, of units far apart."""
    turn = np.random.default_rng(1).normal(size=(4, 4))
    return np.random.default_rng(seed).normal(size=(n, 4)) @ turn * [1.0, 10.0, 0.1, 100.0] + 3.0


def fitted(X=None, **params):
    return DPEmpiricalCovariance(**{"epsilon": 4.0, "random_state": NoiseSeed(0), **params}).fit(
        rows() if X is None else X)


@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


@pytest.mark.parametrize("name, value", [
    ("store_precision", "yes"), ("assume_centered", None), ("feature_range", (1, 0)),
    ("data_norm", 0.0), ("epsilon", 0), ("delta", 0.0), ("verbose", -1)])
def test_a_bad_value_is_refused_before_rows_are_looked_at(name, value):
    with pytest.raises(ValueError, match=f"{name}=.*must be"):
        DPEmpiricalCovariance(**{name: value}).fit(object())


@pytest.mark.filterwarnings("ignore:epsilon=inf:dpsk.exceptions.PrivacyWarning")
def test_without_noise_it_is_scikit_learns():
    X = rows(500)
    ours, theirs = DPEmpiricalCovariance(np.inf).fit(X), EmpiricalCovariance().fit(X)
    scale = np.sqrt(np.diag(theirs.covariance_))
    np.testing.assert_allclose(ours.covariance_ / np.outer(scale, scale),
                               theirs.covariance_ / np.outer(scale, scale), atol=1e-4)
    np.testing.assert_allclose(ours.location_, theirs.location_, rtol=1e-6)
    np.testing.assert_allclose(ours.mahalanobis(X), theirs.mahalanobis(X), rtol=1e-2)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-3)
    assert not ours.covariance_noise_.any()


@pytest.mark.parametrize("seed", range(3))
def test_covariances_are_within_their_noise_and_what_is_cut(seed):
    """Seeds are fixed; over 100 others no entry was off by more than 0.07 in units of columns."""
    X = rows()
    model, exact = fitted(X, random_state=NoiseSeed(seed)), np.cov(X.T, bias=True)
    scale = np.sqrt(np.diag(exact))
    off = np.abs(model.covariance_ - exact) / np.outer(scale, scale)
    assert off.max() < 0.1
    assert (model.covariance_noise_ / np.outer(scale, scale)).max() < 0.01
    np.testing.assert_allclose(model.get_precision() @ model.covariance_, np.eye(4), atol=1e-6)


def test_noise_that_outweighs_rows_leaves_a_covariance():
    model = fitted(rows(200), epsilon=0.1, feature_range=(-500.0, 500.0))
    assert np.linalg.eigvalsh(model.covariance_).min() > -1e-6
    assert np.isfinite(model.covariance_).all()
    with pytest.warns(PrivacyWarning, match="data_norm='auto'"):
        fitted(rows(60), epsilon=0.1, feature_range=None)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_every_covariance_has_an_inverse(seed, stored):
    """Noise left eigenvalues of 0, for which scores were -inf, and precisions up to 1e13."""
    X = np.random.default_rng(seed).normal(size=(300, 10)) * 10.0 ** np.arange(-5, 5)
    X[:, 1] = 10.0 * X[:, 0]
    model = fitted(X, epsilon=0.5, random_state=NoiseSeed(seed), store_precision=stored)
    scale = X.std(axis=0)
    found = model.get_precision() @ model.covariance_ * np.outer(scale, 1.0 / scale)
    np.testing.assert_allclose(found, np.eye(10), atol=1e-6)
    assert np.isfinite(model.score(X)) and np.isfinite(model.mahalanobis(X)).all()
    # In units of the ranges, no direction varies less than the noise on a variance.
    units = np.sqrt(np.diag(model.covariance_noise_))
    least = np.linalg.eigvalsh(model.covariance_ / np.outer(units, units)).min()
    assert least > 1.0 - 1e-6


def test_centered_rows_need_no_mean():
    with taped() as tape:
        model = fitted(assume_centered=True, feature_range=(-500.0, 500.0), data_norm=2.0)
    assert len(tape.events) == 1 and not model.location_.any()
    moment = np.mean(rows()[:, 3]**2)
    assert model.covariance_[3, 3] == pytest.approx(moment, rel=0.1)


@pytest.mark.parametrize("epsilon", [10.0, math.inf])
def test_centered_rows_that_are_skewed_lie_about_0(epsilon):
    """Moments were about the middle of learned ranges: variances 1.4 and 11, correlations .4."""
    X = np.random.default_rng(0).exponential(size=(3000, 4)) - 1.0
    model = DPEmpiricalCovariance(epsilon, assume_centered=True, random_state=NoiseSeed(0)).fit(X)
    assert not model.location_.any()
    np.testing.assert_allclose(model.covariance_, np.eye(4), atol=0.3)


def test_a_fit_costs_its_budget_and_the_certificate_says_so():
    with taped() as tape:
        model = fitted(delta=1e-5)
    certificate = model.privacy_
    mu = math.sqrt(sum(event.mu**2 for (event,) in tape.events))
    assert 0.999e-5 <= gaussian_delta(mu, 4.0) <= 1e-5
    # A median and two ends of each column, a bound, a mean, and a moment.
    assert len(tape.events) == 3 * 4 + 3
    assert Certificate.from_json(certificate.to_json()) == certificate
    shown = {name for name in vars(model) if name.endswith("_")}
    assert shown == {*certificate.released, "n_features_in_", "privacy_"}


def test_copies_and_precisions():
    model = fitted(store_precision=False)
    assert model.precision_ is None
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.mahalanobis(rows(5)), model.mahalanobis(rows(5)))
    with taped() as tape:
        fitted()
    answers = tape.answers
    with taped(answers):
        one = fitted(rows(seed=1), random_state=None)
    with taped(answers):
        other = fitted(rows() * 1e3, random_state=None)
    assert pickle.dumps(vars(one)) == pickle.dumps(vars(other))


def test_columns_that_are_mostly_zeros_keep_their_variance():
    """Range ends were in the gap below 1, and nine variances of ten nearly 0."""
    X = (np.random.default_rng(0).random((20_000, 12)) < 0.05).astype(float)
    model = DPEmpiricalCovariance(epsilon=1.5).fit(X)
    assert (np.diag(model.covariance_) > 0.5 * X.var(axis=0)).sum() >= 9


@pytest.mark.parametrize("n, share", [(2000, 0.3), (2000, 0.4), (4000, 0.25)])
def test_flags_of_many_ones_keep_their_variances(n, share):
    """Of 100 flags, 50 to 80 had none, as ends were learned in the gap between 0 and 1."""
    rng = np.random.default_rng(0)
    flags = (rng.random((n, 6)) < share).astype(float)
    X, lost = np.hstack([flags, rng.normal(size=(n, 4))]), 0
    for seed in range(4):
        found = fitted(X, epsilon=1.0, random_state=NoiseSeed(seed)).covariance_
        lost += np.count_nonzero(np.diag(found)[:6] < 0.1 * flags.var(axis=0))
    assert lost <= 6


def test_numbers_of_a_small_unit_keep_their_ranges():
    """Ranges of flags, which are 2 wide, would hide variances of 1e-4."""
    shift = [0.0, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0, 0.2]
    X, wide = 0.01 * (np.random.default_rng(0).normal(size=(2000, 10)) + shift), 0
    for seed in range(3):
        low, high = fitted(X, epsilon=1.0, random_state=NoiseSeed(seed)).feature_range_
        wide += np.count_nonzero(high - low > 1.9)
    assert wide <= 6
