"""Coefficients beside the noise of their fit, over the registry of linear models."""

import pickle
import warnings
from functools import partial, wraps

import numpy as np
import pytest
from scipy.stats import f as f_law
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from dpsk import DPAUCMaximizer, DPGroupDROClassifier, DPLogisticRegression, PrivacyBudget
from dpsk.linear_model import DPLinearRegression
from tests.estimators.pairs import build
from tests.registry import LINEAR, documented_solvers, pair_marks

N, P = 1500, 3
#: A correct ratio of variances is beyond these in one of 10^7 coefficients, on either side.
FITS, DRAWS, RARE = 40, 40, 1e-7
PAIRS = [pytest.param(cls, solver, id=f"{cls.__name__}-{solver}", marks=pair_marks(cls, solver))
         for _, cls in sorted(LINEAR.items()) for solver in sorted(documented_solvers(cls))]


def table(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P))
    score = X @ [1.0, -0.5, 0.0]
    if is_classifier(kind):
        return X, (score + rng.logistic(size=N) > 0).astype(int)
    return X, np.clip(score + 0.5 * rng.normal(size=N) + 3.0, 0.0, 6.0)


def bounded(cls):
    return {} if is_classifier(cls()) else {"target_bounds": (0.0, 6.0)}


@pytest.mark.parametrize(("cls", "solver"), PAIRS)
def test_noise_is_a_number_or_a_reason(cls, solver):
    X, y = table(cls())
    model = build(cls, solver, delta=1e-3, max_iter=10).fit(X, y)
    summary = model.summary(n_draws=10)
    for value, std in ((model.coef_, summary.coef_std),
                       (model.intercept_, summary.intercept_std)):
        assert np.shape(std) == np.shape(value)
        assert np.isnan(std).all() if summary.unknown else not (np.asarray(std) < 0.0).any()
    assert (summary.n_draws == 0) == (summary.unknown is not None)
    assert "(intercept)" in str(summary)
    assert "<table>" in summary._repr_html_()


@pytest.mark.parametrize("name", [
    name if name == "DPLogisticRegression" else pytest.param(name, marks=pytest.mark.thorough)
    for name in sorted(LINEAR)])
def test_noise_is_that_of_fits(name):
    """It would notice a deviation that is 1.6 times too large, or as much too small."""
    cls = LINEAR[name]
    model = cls(epsilon=30.0, delta=1e-5, **bounded(cls))
    X, y = table(model)
    fits = [clone(model).fit(X, y) for _ in range(FITS)]
    summary = fits[0].summary(n_draws=DRAWS)
    if summary.unknown:
        pytest.skip(summary.unknown)
    ratios = np.square(np.std([each.coef_ for each in fits], axis=0, ddof=1) / summary.coef_std)
    law = f_law(FITS - 1, DRAWS - 1)
    # Rows that are drawn have the released moment, not the real one, and residuals a usual size.
    assert np.isfinite(ratios).any()
    assert not (ratios < law.ppf(RARE) / 1.6**2).any()
    assert not (ratios > law.isf(RARE) * 1.6**2).any()


def told_over_real(model, X, y, count=FITS):
    """Return the deviations that a summary tells over those of fits, the intercept's last."""
    fits = [clone(model).fit(X, y) for _ in range(count)]
    found = np.std([[*np.ravel(each.coef_), *np.ravel(each.intercept_)] for each in fits],
                   axis=0, ddof=1)
    told = fits[0].summary(n_draws=count)
    return np.array([*np.ravel(told.coef_std), *np.ravel(told.intercept_std)]) / found


@pytest.mark.parametrize("params", [{"data_norm": 0.4}, {"class_weight": {1: 8.0}}],
                         ids=["short rows", "class_weight"])
def test_drawn_rows_are_those_that_a_fit_changed(params):
    """As long as they came, with classes as frequent; else it is 0.3 for the intercept."""
    X, y = table(DPLogisticRegression())
    # By fewer the least ratio would fall below its bound once in some hundred runs.
    ratios = told_over_real(DPLogisticRegression(epsilon=8.0, temperature=False, **params),
                            X, y, count=2 * FITS)
    assert (ratios < 3.0).all()
    assert (ratios > 0.45).all()


def test_large_tables_are_stood_for_by_small_ones():
    """At as much signal; it would notice a budget or a number of rows that is off by 2.5 times."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30_000, 2))
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    fits = [DPLogisticRegression(epsilon=1.0).fit(X, y) for _ in range(FITS)]
    told = fits[0].summary(n_draws=DRAWS).coef_std
    ratios = np.square(np.std([each.coef_ for each in fits], axis=0, ddof=1) / told)
    law = f_law(FITS - 1, DRAWS - 1)
    assert (ratios > law.ppf(RARE) / 1.6**2).all()
    assert (ratios < law.isf(RARE) * 1.6**2).all()


def test_coefficients_that_a_penalty_holds_back_have_no_noise_that_is_known():
    """Else a tenth of the deviation would be told."""
    model = DPLogisticRegression(epsilon=8.0, alpha=1.0)
    assert "was not released" in model.fit(*table(model)).summary(10).unknown


def test_coefficients_of_noise_alone_have_none_that_is_known():
    """Half of the fits predict less than their noise does; none of 12 in one of 4000 runs."""
    X, _ = table(DPLogisticRegression())
    y = np.random.default_rng(2).integers(2, size=len(X))
    fits = [DPLogisticRegression(epsilon=1.0).fit(X, y) for _ in range(12)]
    assert any("explains all" in (fit.summary(10).unknown or "") for fit in fits)


def test_noise_of_collinear_columns_is_not_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    summary = DPLogisticRegression(epsilon=2.0).fit(np.column_stack([X, X[:, 2]]), y).summary(10)
    assert np.isfinite(summary.coef_std[0, :2]).all()
    assert np.isnan(summary.coef_std[0, 2:]).all()
    assert "; nan: not known" in str(summary)


def test_rows_keep_their_lengths_where_noise_hides_all_other_directions():
    """Else deviations would be told to be many times what they are.

    Logarithms of these ratios deviate by .3; few fits take their scores for those of few rows.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40))
    X[:, 0] *= 6.0
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    fits = [DPLogisticRegression(epsilon=2.0).fit(X, y) for _ in range(FITS)]
    found = np.std([[*fit.coef_[0], *fit.intercept_] for fit in fits], axis=0, ddof=1)
    # Noise hides the intercept, too, in one fit of ten.
    told = next(each for each in (fit.summary(FITS) for fit in fits[:8])
                if each.unknown is None and np.isfinite(each.intercept_std).all())
    ratios = np.array([*told.coef_std[0], *told.intercept_std]) / found
    assert np.isnan(ratios[1:-1]).all()
    assert (ratios[[0, -1]] > 0.2).all() and (ratios[[0, -1]] < 5.0).all()


def test_summary_costs_no_budget_and_changes_nothing(tmp_path):
    X, y = table(DPLogisticRegression())
    with PrivacyBudget(2.0, 1e-6) as budget:
        model = DPLogisticRegression(epsilon=1.0, delta=1e-7).fit(X, y)
        spent, before = budget.spent, pickle.dumps(model)
        model.summary(n_draws=10)
        assert budget.spent == spent
        assert pickle.dumps(model) == before
        # The next fit to data is charged as ever.
        clone(model).fit(X, y)
        assert budget.spent != spent


class Fits(dict):
    """Options of a solver that fit a model to data when they are read, as a signal might."""

    def __init__(self, model):
        super().__init__()
        self.model, self.fitted = model, []

    def __deepcopy__(self, memo):
        return self

    def __bool__(self):
        if self.model is not None:
            model, self.model = self.model, None
            self.fitted.append(model().fit(*table(model())))
        return False


def test_what_is_fitted_to_data_meanwhile_is_charged():
    options = Fits(None)
    with PrivacyBudget(3.0, 1e-5) as budget:
        model = DPLogisticRegression(delta=1e-7, solver="gd", solver_options=options).fit(
            *table(DPLogisticRegression()))
        options.model = partial(DPLogisticRegression, delta=1e-7)
        model.summary(n_draws=10)
    assert [charge.name for charge in budget.charges] == ["DPLogisticRegression"] * 2
    assert len(options.fitted) == 1


def test_summary_costs_nothing_of_a_budget_that_came_along(monkeypatch):
    with PrivacyBudget(2.0, 1e-6) as budget:
        model = DPLogisticRegression(delta=1e-7).fit(*table(DPLogisticRegression()))
        sent = pickle.dumps(model)
    monkeypatch.setattr("dpsk._charging.account._ORIGIN", ("another container", 0))
    pickle.loads(sent).summary(n_draws=10)
    assert len(budget.charges) == 1


def test_classes_and_names_are_told():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=["age", "<b>"])
    y = np.array(["a", "b", "c"])[rng.integers(3, size=600)]
    with warnings.catch_warnings():
        # Predictions for synthetic rows need no names.
        warnings.simplefilter("error")
        summary = DPLogisticRegression(epsilon=5.0).fit(X, y).summary(n_draws=10)
    assert summary.coef_std.shape == (3, 2)
    assert "b: age" in str(summary)
    assert "<b>" not in summary._repr_html_()


def test_a_shift_of_all_classes_is_no_coefficient():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(3000, 3))).argmax(axis=1)
    model = DPLogisticRegression(epsilon=5.0).fit(X, y)
    summary = model.summary(n_draws=10)
    np.testing.assert_allclose(summary.coef.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(summary.intercept.mean(), 0.0, atol=1e-6)
    np.testing.assert_allclose(np.diff(summary.coef, axis=0), np.diff(model.coef_, axis=0),
                               atol=1e-5)
    assert np.isfinite(summary.coef_std).all()


def test_summary_needs_no_budget_to_be_there(monkeypatch, tmp_path):
    model = DPLogisticRegression(epsilon=5.0).fit(*table(DPLogisticRegression()))
    monkeypatch.setenv("DPSK_BUDGET", str(tmp_path / "nowhere"))
    assert model.summary(n_draws=10).unknown is None
    with pytest.raises(FileNotFoundError, match="DPSK_BUDGET"):
        DPLogisticRegression(epsilon=5.0).fit(*table(DPLogisticRegression()))


def test_intervals_widen_with_confidence():
    X, y = table(DPLinearRegression())
    summary = DPLinearRegression(epsilon=5.0, target_bounds=(0.0, 6.0)).fit(X, y).summary(20)
    (low, high), (lower, higher) = summary.interval(0.5), summary.interval(0.99)
    assert (lower < low).all()
    assert (low < summary.coef).all()
    assert (higher > high).all()
    with pytest.raises(ValueError, match=r"confidence=1\.5"):
        summary.interval(1.5)


@pytest.mark.parametrize("fit, words", [
    (lambda X, y: DPLogisticRegression(epsilon=np.inf).fit(X, y), "no noise"),
    (lambda X, y: DPLogisticRegression(precondition=False).fit(X, y), "no second moment"),
    (lambda X, y: DPLogisticRegression().fit(X, y, sample_weight=np.ones(len(X))),
     "sample_weight"),
    (lambda X, y: DPLogisticRegression(alpha=0.01, penalty="l1", data_norm=3.0, solver="gd",
                                       precondition=True).fit(X, y), "penalty='l1'"),
    (lambda X, y: DPLogisticRegression().fit(X, y, groups=np.arange(len(X)) // 2),
     "with groups=, how many rows each person has"),
    (lambda X, y: DPGroupDROClassifier(epsilon=5.0, group_labels=["a", "b"]).fit(
        X, y, groups=np.where(X[:, 2] > 0.0, "a", "b")), "which group")])
def test_unknown_noise_has_a_reason(fit, words):
    X, y = table(DPLogisticRegression())
    with pytest.warns() if words == "no noise" else np.errstate():
        summary = fit(X, y).summary()
    assert words in summary.unknown
    assert np.isnan(summary.coef_std).all()
    assert np.isnan(summary.interval()[0]).all()


@pytest.mark.parametrize("method, taken", [("fit", ()), ("_check_rows", ()),
                                           ("fit", ("__module__", "__qualname__"))])
def test_code_of_a_subclass_is_not_run_at_no_charge(method, taken):
    """It might read rows; neither the name of a method nor of a class says whose it is."""
    ours, calls = getattr(DPLogisticRegression, method), []

    @wraps(ours)
    def theirs(self, *args, **kwargs):
        calls.append(self)
        return ours(self, *args, **kwargs)

    names = {name: getattr(DPLogisticRegression, name) for name in taken}
    kind = type("Mine", (DPLogisticRegression,), {method: theirs, **names})
    model = kind().fit(*table(kind()))
    calls.clear()
    summary = model.summary(n_draws=10)
    assert "code of its own" in summary.unknown
    assert np.isnan(summary.coef_std).all()
    assert not calls


def test_summary_refuses_by_name():
    with pytest.raises(NotFittedError):
        DPLogisticRegression().summary()
    X, y = table(DPLogisticRegression())
    with pytest.raises(ValueError, match="n_draws=3"):
        DPLogisticRegression().fit(X, y).summary(3)
    network = DPAUCMaximizer(hidden_layer_sizes=(4,), max_iter=5).fit(X, y)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        network.summary()
