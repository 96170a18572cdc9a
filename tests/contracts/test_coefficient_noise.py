"""The noise that solvers say their coefficients have."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from dpsk import DPAdditiveClassifier, DPLinearRegression, DPLogisticRegression
from dpsk._objective.penalties import ElasticNet
from dpsk._privacy.noise.public import PublicDraws
from dpsk._solvers import SOLVERS
from dpsk.additive._noise import _with_moment, centered_values
from dpsk.linear_model import _noise
from dpsk.linear_model._synthetic import (
    feature_moment,
    partial_categories,
    shown_moment,
    synthetic_targets,
    whole_categories,
    with_rests,
)
from dpsk.testing import NoiseSeed

#: Every eigenvalue once.
CURVATURES = np.array([0.0, 0.01, 0.3, 1.0, 1.7])


class Squares:
    """Gradients of a square with its minimum at 0, with noise."""

    def __init__(self, curvatures, noise):
        self._curvatures, self._noise = curvatures[:, None], iter(noise)

    def gradient(self, theta):
        return self._curvatures * theta + next(self._noise)


@pytest.mark.parametrize("options", [
    {"accelerate": False, "iterate": "half"}, {"accelerate": True, "iterate": "half"},
    {"accelerate": True, "iterate": "last"}, {"accelerate": False, "iterate": "average"}])
def test_the_result_of_descent_is_the_noise_of_its_answers_by_their_weights(options):
    solver = SOLVERS["gd"](max_iter=7, learning_rate=0.9, clip_norm=1.0, **options)
    noise = np.random.default_rng(0).normal(size=(7, len(CURVATURES), 3))
    found = solver.minimize(Squares(CURVATURES, noise), ElasticNet(0.0),
                            np.zeros((len(CURVATURES), 3))).theta
    weights = solver.noise_weights(CURVATURES)
    np.testing.assert_allclose(found, -np.einsum("it,tij->ij", weights, noise), atol=1e-12)


def test_solvers_that_say_nothing_of_their_noise_have_none():
    assert SOLVERS["newton"]().noise_weights(CURVATURES) is None


@pytest.mark.parametrize("data_norm", [1.0, 3.0])
def test_a_fit_gives_back_the_moment_that_it_released(data_norm):
    """The noise on an entry is .0003 of the unit, and rows are not cut."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(3000, 4)) * data_norm + 0.1
    X[:, 3] += X[:, 0]
    X *= data_norm / np.linalg.norm(X, axis=1).max()
    model = DPLogisticRegression(300.0, data_norm=data_norm, solver="gd", precondition=True)
    moment = feature_moment(model.fit(X, X[:, 0] > 0.0))
    rows = np.column_stack([X, np.ones(len(X))])
    np.testing.assert_allclose(moment, rows.T @ rows / len(X), atol=0.01 * data_norm**2)


@pytest.mark.parametrize("bounds", [(-9.0, 9.0), (-1.2, 9.0)], ids=["wide", "one that cuts"])
def test_synthetic_targets_spread_as_learnt_bounds_say(bounds):
    """Residuals of a usual size would be up to 2.5 times as long."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = np.clip(X[:, 0] + 0.6 * rng.normal(size=4000), *bounds)
    model = DPLinearRegression(2.0, target_bounds=bounds, random_state=NoiseSeed(0)).fit(X, y)
    assert model.target_bounds_ != bounds
    drawn = synthetic_targets(model, X, PublicDraws(0), 1.0)
    assert 0.85 < np.std(drawn) / np.std(y) < 1.2
    assert drawn.min() >= bounds[0]


def test_columns_that_are_collinear_in_a_released_moment_are_so_in_synthetic_rows():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(2000, 3)), np.ones(2000)])
    given = rows.copy()
    given[:, 2] = given[:, 0]
    mapped, directions, hidden = _with_moment(rows[:, :3], given.T @ given / 2000, 1e-3)
    assert np.corrcoef(mapped.T)[0, 2] > 0.999 > 0.1 > abs(np.corrcoef(mapped.T)[0, 1])
    assert hidden.sum() == 1
    np.testing.assert_allclose(np.abs(directions[1, hidden]), 0.0, atol=0.1)


def test_collinear_columns_do_not_vary_by_the_noise_of_a_moment():
    """Of eight columns that are sums of eight others, which noise hides; of fixed seeds."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 16))
    given = np.column_stack([rows, np.ones(4000)])
    given[:, 8:16] = rows[:, :8]
    for deviation in (0.03, 0.06):
        noise = rng.normal(size=(17, 17)) * deviation
        moment = given.T @ given / 4000 + (noise + noise.T) / 2.0
        mapped, _, _ = _with_moment(rows, moment, deviation)
        varied = np.linalg.eigvalsh(np.cov(mapped.T))[:8]
        assert varied.max() < 2.0 * deviation and varied.mean() < 0.3 * deviation


def test_columns_that_noise_tells_little_of_keep_what_was_measured_of_them():
    """Two that share .36 of their variance; a bulk of noise would reach ratios up to .5."""
    mapped, hidden = mapped_with(0.6, 0.35)
    assert np.linalg.eigvalsh(np.cov(mapped.T))[0] > 0.3
    assert not hidden.any()


def test_columns_that_may_be_collinear_are_so_in_synthetic_rows():
    """Two that share .56 of their variance, which noise hides: bands were too narrow."""
    mapped, hidden = mapped_with(0.75, 0.35)
    assert np.linalg.eigvalsh(np.cov(mapped.T))[0] < 0.01
    assert hidden.sum() == 1


def mapped_with(correlation, deviation):
    """Return rows mapped to a moment with one correlation, and the hidden directions."""
    rows = np.random.default_rng(0).normal(size=(4000, 6))
    rows -= rows.mean(axis=0)
    given = np.column_stack([rows, np.ones(4000)])
    given[:, 1] = correlation * rows[:, 0] + np.sqrt(1.0 - correlation**2) * rows[:, 1]
    mapped, _, hidden = _with_moment(rows, given.T @ given / 4000, deviation)
    return mapped, hidden


def test_a_category_without_rows_is_shrunk_in_fits_that_tell_of_noise():
    """Left as it was, its noise was in the mean of the column, and so in all of its values."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(3, size=3000), rng.uniform(size=3000)])
    model = DPAdditiveClassifier(8.0, columns={0: [0.0, 1.0, 2.0], 1: (0.0, 0.5, 1.0)},
                                 random_state=NoiseSeed(0)).fit(X, rng.random(3000) < X[:, 1])
    linear, code = model._noise._model, model._code
    linear.coef_[..., code.slices[0].stop - 1] = 1000.0
    _, centered = centered_values(linear, code, model._signs)
    assert np.abs(centered[code.slices[0]]).max() < 100.0


@pytest.mark.parametrize("bend", [1.0, 2.0])
def test_the_size_of_synthetic_predictions_is_that_at_which_fits_predict_as_much(
        bend, monkeypatch):
    """Whether energies of fits grow with the square of the size, or less as shrinkage has it."""
    X = np.random.default_rng(0).normal(size=(500, 2))

    def fitted(model, X, size, epsilon, count):
        coef = np.array([[(0.1 + 0.9 * size**bend)**0.5, 0.0]])
        return (SimpleNamespace(coef_=coef) for _ in range(count))

    monkeypatch.setattr(_noise, "_fits", fitted)
    monkeypatch.setattr(_noise, "synthetic_targets", lambda model, X, draws, size: size)
    for wanted in (0.0, 0.3, 0.7, 1.5):
        model = SimpleNamespace(coef_=np.array([[(0.1 + 0.9 * wanted**bend)**0.5, 0.0]]))
        size, fits = _noise.sized_replays(model, X, 1.0, 16, None)
        assert len(fits) == 16 and abs(size - wanted) < 0.15


@pytest.mark.parametrize("solver, share", [
    ("gd", 0.2), pytest.param("gd", 1.0, marks=pytest.mark.thorough),
    pytest.param("newton", 0.2, marks=pytest.mark.thorough),
    pytest.param("newton", 1.0, marks=pytest.mark.thorough)])
def test_synthetic_scores_are_spread_as_those_of_a_fit(solver, share, monkeypatch):
    """Else noise would be told to be half of what it is.

    Of 15 summaries of one fit by gd the share was .22 to .24, its logarithm deviating by .034, so
    that the bounds are 20 deviations away.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4)) * (rng.random((4000, 4)) < share)
    score = X @ [2.0, -1.0, 0.5, 0.5] / np.sqrt(share)
    model = DPLogisticRegression(100.0, solver=solver, random_state=NoiseSeed(0)).fit(
        X, score + rng.logistic(size=4000) > 0.0)
    shares, drawn = [], _noise.synthetic_rows
    monkeypatch.setattr(_noise, "synthetic_rows",
                        lambda *given: shares.append(given[-1]) or drawn(*given))
    assert np.isfinite(model.summary(10).coef_std).all()
    assert (0.08 < shares[-1] < 0.5) if share < 1.0 else shares[-1] > 0.5


def test_scores_in_hidden_directions_are_in_synthetic_rows():
    """The others would else be told to vary by .6 of what they do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) * [0.12, 1.0, 1.0]
    model = DPLogisticRegression(4.0, random_state=NoiseSeed(1)).fit(
        X, 1.5 / 0.12 * X[:, 0] + X[:, 1] + rng.logistic(size=4000) > 0.0)
    moment, hidden = shown_moment(model, [])
    assert hidden[0] > 0.5 > 0.02 > hidden[1:3].max()
    assert 0.3 < moment[0, 0] * model.data_norm_**2 / 0.12**2 < 3.0


@pytest.mark.parametrize("model", [
    DPLogisticRegression(40.0), DPLinearRegression(40.0, target_bounds=(-3.0, 3.0))],
    ids=["classes", "numbers"])
def test_noise_of_all_indicators_of_a_category_is_known(model):
    """It lies in the direction without variance, of which normal rows told .7 or nearly none.

    The deviation of 30 draws is off by .13 of itself, so that the bounds are 5 deviations away.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([np.eye(4)[rng.choice(4, size=4000, p=[0.1, 0.2, 0.3, 0.4])],
                         rng.normal(size=4000)])
    y = 1.5 * X[:, 0] - X[:, 2] + X[:, 4] + rng.logistic(size=4000)
    y = np.clip(y, -3.0, 3.0) if "target_bounds" in model.get_params() else y > 0.0
    fits = [clone(model).set_params(random_state=NoiseSeed(seed)).fit(X, y)
            for seed in range(2, 42)]
    assert [list(group) for group in whole_categories(fits[0])] == [[0, 1, 2, 3]]
    told = np.ravel(fits[0].summary(30).coef_std)
    ratios = told / np.std([np.ravel(fit.coef_) for fit in fits], axis=0, ddof=1)
    assert (ratios > 0.4).all() and (ratios < 2.5).all()


@pytest.mark.parametrize("scale", [1.0, 3.0], ids=["dummies", "scaled"])
def test_noise_of_indicators_of_all_levels_but_a_rare_one_is_known(scale):
    """Rows of the rare level are cut as those that stand out; normal rows told .3 of the noise.

    The deviation of 30 draws is off by .13 of itself, so that the bounds are 4.5 deviations away.
    """
    rng = np.random.default_rng(0)
    shares = [0.02, 0.1, 0.15, 0.2, 0.23, 0.3]
    X = np.eye(6)[rng.choice(6, size=4000, p=shares)][:, 1:]
    y = X @ [1.5, -1.0, 0.5, 0.0, -1.5] + 0.7 + rng.logistic(size=4000) > 0.0
    if scale != 1.0:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    fits = [DPLogisticRegression(40.0, random_state=NoiseSeed(seed)).fit(X, y)
            for seed in range(40)]
    ((group, found),) = partial_categories(fits[0], [])
    order = np.argsort(group)
    assert group[order].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(found[order], shares[1:], atol=0.03)
    told = np.ravel(fits[0].summary(30).coef_std)
    ratios = told / np.std([np.ravel(fit.coef_) for fit in fits], axis=0, ddof=1)
    assert (ratios > 0.55).all() and (ratios < 2.0).all()


def indicators_and_classes(shares, columns):
    """Return dummies of all levels but the first beside normal columns, and classes."""
    rng = np.random.default_rng(0)
    X = np.eye(len(shares))[rng.choice(len(shares), size=4000, p=shares)][:, 1:]
    score = (X - X.mean(axis=0)) / X.std(axis=0) @ np.linspace(-1.0, 1.0, X.shape[1])
    X = np.column_stack([X, rng.normal(size=(4000, columns))])
    return X, 1.5 * score + rng.logistic(size=4000) > 0.0


def test_noise_is_unknown_where_the_moment_hardly_tells_how_long_rows_are():
    """Summaries of fits told from .15 to 1.3 of the noise, by the noise of their moment.

    The direction has a mean square of 5 deviations of noise; 8 are asked for, and 4.2 are not
    hidden.
    """
    shares = np.geomspace(1.0, 16.0, 9)
    X, y = indicators_and_classes(shares / shares.sum(), 0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = DPLogisticRegression(102.0, random_state=NoiseSeed(0)).fit(X, y)
    summary = model.summary(10)
    assert summary.unknown is not None and "noise hides" in summary.unknown
    assert np.isfinite(DPLogisticRegression(1000.0, random_state=NoiseSeed(0)).fit(
        X, y).summary(10).coef_std).all()


def test_rows_without_any_indicator_are_in_synthetic_rows_where_noise_hides_their_direction():
    """Else the other coefficients, and the intercept, were told up to 280 times their noise."""
    shares = np.geomspace(1.0, 16.0, 5)
    X, y = indicators_and_classes(shares / shares.sum(), 4)
    direction = np.array([-1.0] * 4 + [0.0] * 4 + [1.0])
    for seed in range(5):
        model = DPLogisticRegression(102.0, random_state=NoiseSeed(seed)).fit(X, y)
        moment, _ = with_rests(model, shown_moment(model, [])[0], partial_categories(model, []))
        at_center = 1.0 - model.center_[:4].sum()
        rows = direction * np.append(np.full(8, float(model.data_norm_)), at_center)
        assert 0.4 < rows @ moment @ rows / (1.0 / shares.sum()) < 2.5


def test_normal_and_uniform_columns_are_no_indicators():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(4000, 3)), rng.random((4000, 3))])
    model = DPLogisticRegression(40.0, random_state=NoiseSeed(0)).fit(X, X[:, 1] > 0.0)
    assert not partial_categories(model, [])


@pytest.mark.parametrize("epsilon, indicators", [(40.0, slice(1, 4)), (1.0, slice(0, 4))],
                         ids=["one dropped", "much noise"])
def test_indicators_that_may_be_of_all_levels_but_one_are_no_whole_category(epsilon, indicators):
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.choice(4, size=4000, p=[0.03, 0.27, 0.3, 0.4])][:, indicators]
    model = DPLogisticRegression(epsilon, random_state=NoiseSeed(0)).fit(X, X[:, 1] > 0.0)
    assert not whole_categories(model)
    if epsilon < 2.0:
        assert "noise hides" in model.summary(10).unknown
