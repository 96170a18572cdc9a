"""Outputs have the precision of rows where those of scikit-learn have it."""

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.utils import all_estimators

from tests.estimators.test_counterparts import ESTIMATORS, NAMED, OWN, X, fitted

_THEIRS = dict(all_estimators())
#: Outputs in double precision of scikit-learn's optimizers, which keep that of rows here.
_KEPT = {"DPHuberRegressor": "predict", "DPLinearSVC": "decision_function",
         "DPQuantileRegressor": "predict"}


@pytest.mark.covering(most=20)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted({
    # Codes of words and of bins are single, whatever the rows.
    *ESTIMATORS} - OWN - {"DPOneHotEncoder", "DPSplineTransformer"}))
def test_outputs_have_the_precision_of_rows_where_scikit_learns_have_it(name, dtype):
    rows, found = X.astype(dtype), []
    given = np.abs(rows) if name.endswith("NB") else rows
    cases = (_THEIRS[NAMED.get(name, name[2:])], {}), (ESTIMATORS[name], {"epsilon": 100.0})
    for cls, params in cases:
        model = fitted(cls, X=rows, **params)
        found.append({method: getattr(model, method)(given).dtype for method in (
            "decision_function", "predict", "predict_joint_log_proba", "predict_log_proba",
            "predict_proba", "transform") if hasattr(model, method)})
    theirs, ours = found
    kept = _KEPT.get(name)
    assert {method: np.dtype(dtype) if method == kept else each
            for method, each in theirs.items()} == {method: ours[method] for method in theirs}


@pytest.mark.covering(most=6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", sorted(
    name for name, cls in ESTIMATORS.items() if issubclass(cls, ClassifierMixin)
    and hasattr(cls, "predict_proba") and "Tuned" not in name))
def test_probabilities_in_single_precision_sum_to_1_and_agree_with_classes(name, n_classes):
    """Also where scores lie closer together than the spacing of probabilities."""
    rows = np.abs(X).astype(np.float32)
    model = ESTIMATORS[name](100.0)
    if n_classes > 2 and not model._takes_several:
        pytest.skip("two classes only")
    model.fit(rows, np.digitize(rows[:, 0], np.arange(1, n_classes) / n_classes))
    low, high = rows[rows[:, 0].argmin()], rows[rows[:, 0].argmax()]
    for _ in range(5):
        # Each line is a step of the last one that crosses a boundary, in the end by a digit.
        line = np.linspace(low, high, 65, dtype=np.float32)
        found, labels = model.predict_proba(line), model.predict(line)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
        np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], labels)
        places = np.flatnonzero(labels[1:] != labels[:-1])
        if not len(places):
            # Naive Bayes of counts may predict one class only.
            break
        low, high = line[places[0]:places[0] + 2]
