"""DPPCA: agreement with scikit-learn's, bounds, parameters, certificates, pipelines."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import DPPCA, Certificate, DPLogisticRegression, DPPipeline, make_dp_pipeline
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import gaussian_delta, tally
from tests.sklearn_checks import run_check

_CHECKS = parametrize_with_checks([DPPCA(random_state=seed) for seed in (None, NoiseSeed(0))])
without_noise = pytest.mark.filterwarnings("ignore:epsilon=inf:dpsk.exceptions.PrivacyWarning")


def rows(n=3000, seed=0, offset=5.0):
    """Return rows of six features, of which two directions vary most."""
    rng = np.random.default_rng(seed)
    scales = np.array([4.0, 2.0, 0.02, 0.02, 0.02, 0.02])
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    return (rng.normal(size=(n, 6)) * scales) @ turn + offset


def fitted(X=None, **params):
    return DPPCA(**{"epsilon": 4.0, "delta": 1e-5, "random_state": NoiseSeed(0), **params}).fit(
        rows() if X is None else X)


@pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")
@pytest.mark.parametrize(_CHECKS.args[0], list(_CHECKS.args[1]), ids=_CHECKS.kwargs["ids"])
def test_scikit_learns_checks(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


@pytest.mark.parametrize("name, value", [
    ("n_components", 0), ("n_components", 1.0), ("n_components", 1.5), ("n_components", "mle"),
    ("n_components", True), ("n_components", math.nan), ("whiten", "yes"), ("center", None),
    ("data_norm", 0.0), ("data_norm", "max"), ("epsilon", 0), ("delta", 0.0), ("verbose", -1)])
def test_a_bad_value_is_refused_before_rows_are_looked_at(name, value):
    with pytest.raises(ValueError, match=f"{name}=.*must be"):
        DPPCA(**{name: value}).fit(object())


def test_every_parameter_has_its_constraint_declared():
    for name, value in DPPCA().get_params().items():
        DPPCA._constraints[name](name, value)


@without_noise
@pytest.mark.parametrize("whiten", [False, True])
def test_without_noise_it_is_scikit_learns(whiten):
    X = rows(500)
    ours = DPPCA(np.inf, n_components=2, whiten=whiten).fit(X)
    theirs = PCA(2, whiten=whiten).fit(X)
    assert not ours.privacy_.is_private
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-5)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=1e-5)
    # The denominator is n.
    np.testing.assert_allclose(ours.explained_variance_ * 500 / 499, theirs.explained_variance_,
                               rtol=1e-4)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_,
                               rtol=1e-4)
    assert ours.noise_variance_ * 500 / 499 == pytest.approx(theirs.noise_variance_, rel=1e-3)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-2)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)),
                               theirs.inverse_transform(theirs.transform(X)), atol=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_directions_that_stand_out_are_found(seed):
    """Wrong at a chance below 1e-9 a seed: variances are far above the edge of the noise."""
    X = rows()
    pca = fitted(X, random_state=NoiseSeed(seed), n_components=2)
    exact = PCA(2).fit(X).components_
    assert np.linalg.svd(pca.components_ @ exact.T)[1].min() > 0.98
    assert np.linalg.norm(pca.mean_ - X.mean(axis=0)) < 1.0
    assert 0.8 < pca.explained_variance_ratio_.sum() < 1.1


def test_how_many_directions_are_kept():
    X = rows()
    assert fitted(X, n_components=None).components_.shape == (6, 6)
    assert fitted(X, n_components=0.5).n_components_ == 1
    # By default all of so few; the rest is noise, or not worth it.
    assert fitted(X).n_components_ == 6
    wide = np.hstack([X, np.zeros((len(X), 60))])
    assert fitted(wide).n_components_ == 32
    assert 2 <= fitted(X, n_components=0.9999).n_components_ < 6
    assert fitted(X, n_components=1).transform(X).shape == (3000, 1)
    with pytest.raises(ValueError, match=r"n_components=7: must be at most .* 6"):
        fitted(X, n_components=7)


def test_all_follows_from_one_released_moment():
    """Fits that differ in what is kept have the same releases, and the same first direction."""
    one, other = fitted(n_components=1), fitted(n_components=None)
    assert one.privacy_.event == other.privacy_.event
    gram = other.components_ @ other.components_.T
    np.testing.assert_allclose(gram, np.eye(6), atol=1e-12)
    assert (other.components_[np.arange(6), np.abs(other.components_).argmax(axis=1)] > 0).all()
    assert np.all(np.diff(other.explained_variance_) <= 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("whiten", [False, True])
def test_no_transformed_row_is_longer_than_its_bound(dtype, whiten):
    pca = fitted(rows().astype(dtype), whiten=whiten, n_components=4)
    largest = float(np.finfo(dtype).max)
    wild = np.vstack([rows(), 1e3 * rows(), 1e20 * rows(50), np.full((2, 6), largest),
                      -np.full((2, 6), largest), np.zeros((1, 6)), np.full((1, 6), 5e-324),
                          pca.mean_ + 1e5 * pca.components_])
    features = pca.transform(wild.astype(dtype))
    assert features.dtype == dtype and np.isfinite(features).all()
    norms = np.linalg.norm(features.astype(np.float64), axis=1)
    assert 0.9 * pca.row_norm_ < norms.max() <= pca.row_norm_
    if not whiten:
        assert pca.row_norm_ == pca.data_norm_


def test_whitened_coordinates_have_unit_variance_where_they_are_seen():
    """Wrong at a chance below 1e-7, and units that are a seventh too long or too short fail.

    Noise of deviation s = 0.057 on the diagonal moves the variances, 16 and 4, by at most its
    largest eigenvalue, which exceeds (sqrt(2 d) + 5.8) s = 0.53 at a chance below 1e-7.
    """
    X = rows()
    whitened = {"whiten": True, "data_norm": 30.0, "epsilon": 60.0, "random_state": None}
    found = fitted(X, n_components=2, **whitened).transform(X)
    np.testing.assert_allclose(found.var(axis=0), 1.0, atol=0.2)
    # What noise hides is divided by more than its own deviation.
    hidden = fitted(X, n_components=None, **whitened).transform(X)[:, -1]
    assert hidden.var() < 1.0


def test_rows_come_back_as_far_as_directions_tell_them():
    X = rows()
    pca = fitted(X, data_norm=100.0, n_components=None)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-6)
    with pytest.raises(ValueError, match="n_components_=6"):
        pca.inverse_transform(X[:, :2])


@pytest.mark.parametrize("params", [{}, {"data_norm": 10.0}, {"center": False}, {"whiten": True}])
def test_a_fit_costs_its_budget_and_the_certificate_says_so(params):
    with taped() as tape:
        pca = fitted(**params)
    certificate = pca.privacy_
    charged = [event for (event,) in tape.events]
    assert sum(tally(certificate.event).values()) == len(charged)
    # Without the accountant: squares of mu add.
    mu = math.sqrt(sum(event.mu**2 for event in charged))
    assert 0.999e-5 <= gaussian_delta(mu, 4.0) <= 1e-5
    bounds = 0 if "data_norm" in params else 1 + params.get("center", True)
    # A bound and a mean in each of four rounds and more.
    rounds = len(charged) - (bounds + params.get("center", True) + 1)
    assert rounds % 2 == 0 and (rounds >= 8 if bounds == 2 else rounds == 0)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.arithmetic == "grid"
    shown = {name for name in vars(pca) if name.endswith("_")}
    assert shown == {*certificate.released, "n_features_in_", "n_samples_", "privacy_"}
    origins = {line.name: line.origin for line in certificate.enforced}
    assert origins["data_norm"] == ("declared" if "data_norm" in params else "released")
    assert np.all(pca.mean_ == 0) == (not params.get("center", True))


@pytest.mark.parametrize("offset", [0.0, 100.0, -1e3])
def test_rows_far_from_0_have_the_components_of_those_about_it(offset):
    X = rows()
    pca = fitted(X + offset, epsilon=1.0, n_components=2)
    exact = PCA(2).fit(X)
    ratio = pca.explained_variance_.sum() / exact.explained_variance_.sum()
    assert 0.5 < ratio < 1.2
    assert np.linalg.norm(pca.components_ @ exact.components_.T)**2 > 1.9
    centered = X + offset - pca.mean_
    assert np.mean(np.linalg.norm(centered, axis=1) > pca.data_norm_) < 0.3


def test_few_rows_fall_back_to_a_constant_or_are_refused():
    with pytest.warns(PrivacyWarning, match="data_norm='auto': n=60 rows"):
        pca = fitted(rows(60), epsilon=0.1)
    assert pca.data_norm_ == pca.row_norm_ == 1.0
    with pytest.raises(ValueError, match="data_norm=None: n=60 rows"):
        fitted(rows(60), epsilon=0.1, data_norm=None)


def test_all_that_a_fit_shows_follows_from_its_releases(capfd):
    """What releases answered for one table, handed back in a fit to another."""
    def shown(X, answers=None):
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            pca = fitted(X, random_state=None, verbose=1)
        return (pickle.dumps(vars(pca)), pca.privacy_.to_json(), capfd.readouterr(), tape.public,
                [str(one.message) for one in warned]), tape

    X = rows()
    face, tape = shown(X)
    for other in (rows(seed=1), 1e6 * X, np.ones_like(X)):
        assert shown(other, tape.answers)[0] == face
        assert shown(other)[0][0] != face[0]


def test_copies_names_and_containers():
    X = pd.DataFrame(rows(), columns=list("abcdef"))
    pca = fitted(X).set_output(transform="pandas")
    assert pca.transform(X.head(3)).columns.tolist() == [f"dppca{k}" for k in range(6)]
    again = pickle.loads(pickle.dumps(pca))
    np.testing.assert_array_equal(again.transform(X), pca.transform(X))
    assert not hasattr(clone(pca), "components_")
    with pytest.raises(ValueError, match="feature names"):
        pca.transform(X.rename(columns={"a": "z"}))


def test_it_is_a_step_of_a_pipeline_that_knows_its_norm():
    X, y = load_digits(return_X_y=True)
    model = make_dp_pipeline(DPPCA(n_components=8), DPLogisticRegression(classes=range(10)),
                             epsilon=8.0, random_state=NoiseSeed(0)).fit(X, y)
    steps = model.named_steps_
    assert steps.dplogisticregression.data_norm_ == steps.dppca.row_norm_
    assert model.privacy_.delta_at(8.0) <= model.privacy_.delta
    assert "dppca.components_" in model.privacy_.released
    assert model.score(X, y) > 0.5
    last = DPPipeline([("pca", DPPCA())], epsilon=2.0).fit(X)
    assert last.privacy_.delta_at(2.0) <= last.privacy_.delta


def test_where_most_rows_are_zero_no_mean_is_far_above_the_others():
    """The chance of that is below 1e-9 at this price."""
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (400, 4))
    X[:360] = 0.0
    pca = DPPCA(1.4, n_components=2, random_state=0).fit(X)
    assert pca.data_norm_ < 64.0 and np.abs(pca.mean_).max() < 64.0
