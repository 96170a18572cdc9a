"""Cross-validation by index: who pays for what, and what is refused."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    check_cv,
)

from dpsk import (
    DPGridSearchCV,
    DPLinearRegression,
    DPLogisticRegression,
    DPStandardScaler,
    PrivacyBudget,
    make_dp_pipeline,
    privacy_report,
)
from dpsk.accounting import compose, epsilon
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import (
    BinaryEvaluation,
    MulticlassEvaluation,
    RegressionEvaluation,
    dp_cross_validate,
)
from dpsk.testing import NoiseSeed

X, Y = make_classification(600, random_state=0)
MODEL = DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=5.0, solver="gd", max_iter=5,
                             precondition=False, temperature=False)


def test_a_row_pays_for_all_folds_but_its_own_and_for_one_score():
    result = dp_cross_validate(MODEL, X, Y, cv=5, epsilon=0.5, delta=1e-6)
    assert result.n_trainings == 4 and len(result.estimators) == 5
    # Calibrated to one epsilon, prices of folds differ by what the search leaves.
    dearest = max(result.estimators, key=lambda model: model.privacy_.delta_at(1.0)).privacy_
    most = compose([dearest] * 4, result.evaluation.privacy_)
    total = result.privacy_
    assert total.delta == pytest.approx(4e-5 + 1e-6)
    assert total.epsilon == pytest.approx(epsilon(most, total.delta), rel=1e-6)
    assert total.epsilon < epsilon(compose(most, dearest), total.delta)
    assert "4 trainings" in str(total) and "not checked" not in str(total)
    assert isinstance(result.evaluation, BinaryEvaluation)
    assert result.evaluation.n_samples == len(X)


@pytest.mark.parametrize("cv, trainings, held", [
    (KFold(3), 2, 600), (ShuffleSplit(1, test_size=0.3, random_state=0), 1, 180),
    ([(np.arange(300), np.arange(300, 600))], 1, 300),
    ([(np.arange(300), [400]), (np.arange(200, 500), [500])], 2, 2)])
def test_any_split_by_index_is_priced_by_the_row_that_pays_most(cv, trainings, held):
    result = dp_cross_validate(MODEL, X, Y, cv=cv)
    assert result.n_trainings == trainings
    assert result.evaluation.n_samples == held


@pytest.mark.parametrize("wrap", [list, iter, check_cv])
def test_folds_that_are_handed_over_are_taken_on_trust_and_said_so(wrap):
    """Here they follow from labels, which their indices do not show."""
    folds = wrap(list(StratifiedKFold(3).split(X, Y)))
    if hasattr(folds, "split"):
        with pytest.raises(TypeError, match="split by index alone"):
            dp_cross_validate(MODEL, X, Y, cv=folds)
        return
    with pytest.warns(PrivacyWarning, match="folds that are handed over"):
        result = dp_cross_validate(MODEL, X, Y, cv=folds)
    said, report = str(result.privacy_), privacy_report(result)
    assert not report.is_private and "handed over" in report.exposed[0].sentence
    # Two trainings of each row, and one evaluation.
    assert "in at most 3 fits" in report.model_card()
    assert "in which fold, as given" in said and "without a look at rows" not in said
    assert "without a look at rows" in str(dp_cross_validate(MODEL, X, Y, cv=3).privacy_)


class Stratifying(KFold):
    """A splitter of somebody's own, which sees labels that nobody hands to it."""


def _replaced(splitter, **attributes):
    vars(splitter).update(attributes)
    return splitter


@pytest.mark.parametrize("cv", [
    StratifiedKFold(3), GroupKFold(3), LeaveOneOut(), Stratifying(3),
    _replaced(KFold(3), split=StratifiedKFold(3).split),
    _replaced(RepeatedKFold(), cv=StratifiedKFold)])
def test_splits_that_look_at_rows_are_refused(cv):
    with pytest.raises(TypeError, match="split by index alone"):
        dp_cross_validate(MODEL, X, Y, cv=cv)


@pytest.mark.parametrize("form", ["bsr", "coo", "dia"])
def test_rows_of_any_sparse_format_are_split(form):
    X = sparse.random(60, 3, density=0.5, format=form, random_state=0)
    found = dp_cross_validate(DPLogisticRegression(max_iter=2), X, np.arange(60) % 2, cv=2)
    assert found.evaluation.n_samples == 60


@pytest.mark.parametrize("cv", [RepeatedKFold(), ShuffleSplit(5, test_size=0.5, random_state=0)])
def test_a_row_is_scored_once(cv):
    with pytest.raises(ValueError, match="more than once"):
        dp_cross_validate(MODEL, X, Y, cv=cv)


def test_folds_do_not_follow_from_rows():
    """The same int gives the same folds to another table of as many rows."""
    seen = []

    class Spy(DPLogisticRegression):
        def fit(self, X, y):
            seen.append(X["row"].tolist())
            return super().fit(X[["feature"]], y)

        def predict_proba(self, X):
            return super().predict_proba(X[["feature"]])

    # Folds that keep shares of classes would not tell these from the others alone.
    few = (np.arange(600) % 29 == 0).astype(int)
    for scale, labels in ((1.0, Y), (-3.0, 1 - Y), (1.0, few)):
        table = pd.DataFrame({"row": np.arange(600), "feature": scale * X[:, 0]})
        dp_cross_validate(Spy(), table, labels, cv=3, random_state=7)
    assert seen[:3] == seen[3:6] == seen[6:]
    assert sorted(seen[0]) != list(range(400))


def test_held_out_rows_are_scored_by_models_that_did_not_see_them():
    class Memory(DPLogisticRegression):
        def fit(self, X, y):
            self.rows_ = set(X[:, 0].tolist())
            return super().fit(X, y)

        def predict_proba(self, X):
            assert not self.rows_ & set(X[:, 0].tolist())
            return super().predict_proba(X)

    result = dp_cross_validate(Memory(data_norm=5.0), X, Y, cv=4, epsilon=np.inf)
    assert float(result.evaluation.roc_auc()) > 0.8
    assert not result.privacy_.is_private


def test_several_classes_and_numbers_are_evaluated_in_their_way():
    classes = dp_cross_validate(MODEL, X, np.arange(600) % 3, cv=3)
    assert isinstance(classes.evaluation, MulticlassEvaluation)
    features, numbers = make_regression(600, 4, random_state=0)
    model = DPLinearRegression(target_bounds=(-300, 300), data_norm=3.0)
    result = dp_cross_validate(model, features, numbers, cv=3, target_bounds=(-300, 300))
    assert isinstance(result.evaluation, RegressionEvaluation)
    assert result.evaluation.r2().interval()[1] <= 1.0
    assert "CrossValidation(" in repr(result)


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("places", [[0, 1], [0, 400]])
@pytest.mark.parametrize("model", [MODEL, make_dp_pipeline(DPStandardScaler(), MODEL),
                                   DPGridSearchCV(MODEL, {"alpha": [0.0, 1e-3]})])
def test_which_fold_lacks_a_label_makes_no_difference(model, places):
    """Whether both rows of a label are in one training part is data, and no error may tell."""
    rare = np.arange(600) % 2
    rare[places] = 2
    result = dp_cross_validate(model, X, rare, cv=KFold(3))
    assert all(fitted.classes_.tolist() == [0, 1, 2] for fitted in result.estimators)
    for stated in (result, *result.estimators):
        facts = "; ".join(stated.privacy_.public)
        assert "the set of 3 class labels (taken from y)" in facts
        assert "the set of 3 class labels (declared)" not in facts


def test_labels_that_are_declared_are_said_to_be():
    result = dp_cross_validate(clone(MODEL).set_params(classes=[0, 1, 7]), X, Y, cv=2)
    assert "the set of 3 class labels (declared)" in result.privacy_.public


def test_a_training_part_of_one_label_is_fitted_with_all():
    rare = np.zeros(600, int)
    rare[:200] = 1
    found = dp_cross_validate(MODEL, X, rare, cv=[(np.arange(200, 600), np.arange(200))])
    assert found.evaluation.labels == (0, 1)


def test_rows_that_are_predicted_only_are_checked_before_the_first_charge():
    rows, labels = X.copy(), Y
    split = ShuffleSplit(n_splits=1, random_state=0, test_size=0.2)
    _, held_out = next(split.split(rows))
    rows[held_out[0], 0] = np.nan
    with PrivacyBudget(100.0, 1e-3) as budget, pytest.raises(ValueError, match="NaN"):
        dp_cross_validate(DPLogisticRegression(delta=1e-6), rows, labels, cv=split)
    assert budget.charges == []


def test_a_later_training_part_that_is_refused_costs_nothing():
    parts = [(np.arange(500), [500]), ([0, 1], [501])]
    with PrivacyBudget(100.0, 1e-3) as budget, pytest.raises(ValueError, match="to train on"):
        dp_cross_validate(DPGridSearchCV(MODEL, {}, delta=1e-6), X, Y, cv=parts)
    assert budget.charges == []


def test_a_fit_that_took_over_a_name_is_not_tried_beforehand():
    """Nobody knows where it would be charged: it has all names, but is not the method."""
    calls = []

    class Counted(DPLogisticRegression):
        @functools.wraps(DPLogisticRegression.fit)
        def fit(self, *args, **kwargs):
            calls.append(len(args[0]))
            return super().fit(*args, **kwargs)

    X, y = make_classification(n_samples=300, random_state=0)
    dp_cross_validate(Counted(epsilon=1.0, delta=1e-6, data_norm=1.0, classes=[0, 1]), X, y,
                      epsilon=1.0, delta=1e-6, cv=3)
    assert calls == [200, 200, 200]


def test_rows_that_do_not_lie_in_memory_are_refused():
    frame = pytest.importorskip("dask.dataframe").from_pandas(
        pd.DataFrame({"a": [0.0, 1.0] * 20}), npartitions=2)
    with pytest.raises(ValueError, match="splits rows by their index"):
        dp_cross_validate(DPLogisticRegression(), frame, [0, 1] * 20)


@pytest.mark.parametrize("noise, hides", [(8.0, False), (0.02, True)])
def test_cross_validated_scores_have_errors_and_lie_within_their_range(noise, hides):
    y = (np.arange(600) % 30 == 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Without a seed the model predicts no row of the rare class in one fit of four.
        model = clone(MODEL).set_params(random_state=NoiseSeed(0))
        result = dp_cross_validate(model, X, y, cv=3, epsilon=noise, random_state=NoiseSeed(0))
        scores = result.scores
    hidden = [name for name, score in scores.items() if np.isnan(score.value)]
    assert bool(hidden) == hides and ("noise hides" in result._repr_html_()) == hides
    for name, score in scores.items():
        assert (name in hidden) == ("noise hides" in str(score.note))
        assert score.value == pytest.approx(getattr(result.evaluation, name)().value, nan_ok=True)
        assert name in hidden or score.bounds[0] <= score.value <= score.bounds[1]
        assert score.standard_error > 0.0


@pytest.mark.parametrize("small, dtype", [(1, np.uint64), (-1, object)])
def test_labels_beyond_signed_integers_are_told_apart(small, dtype):
    X = np.linspace(-1, 1, 300)[:, None]
    labels = [small, 2**63 + 1, 2**63 + 3]
    y = np.array([labels[place] for place in np.digitize(X[:, 0], [-0.3, 0.3])], dtype)
    model = DPLogisticRegression(5.0, classes=labels, random_state=NoiseSeed(0))
    assert model.fit(X, y).classes_.tolist() == labels
    if small > 0:
        found = dp_cross_validate(model, X, y, cv=3, epsilon=1.0, random_state=NoiseSeed(0))
        assert 0.0 <= float(found.scores["accuracy"]) <= 1.0


def test_warnings_after_the_first_charge_are_notes_and_those_before_cost_nothing():
    """Few rows are warned of for every fold, and the noise of the evaluation hides ratios."""
    y, rows = np.arange(60) % 2, np.linspace(-3.0, 3.0, 60)[:, None]
    model = DPLogisticRegression(0.2, data_norm="auto")
    with warnings.catch_warnings(), PrivacyBudget(10.0, 1e-2) as budget:
        warnings.simplefilter("error")
        with pytest.raises(PrivacyWarning, match="n=40 rows"):
            dp_cross_validate(model, rows, y, cv=3)
        assert not budget.charges
        warnings.filterwarnings("ignore", message="data_norm='auto'")
        result = dp_cross_validate(model, rows, y, cv=3)
        assert len(budget.charges) == 4
    assert len(result.notes) == 1 and "n=40 rows" in result.notes[0]
    assert result.notes[0] in repr(result)
