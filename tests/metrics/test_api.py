"""What is public of private evaluation is documented, with an example."""

import inspect

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

import dpsk.metrics

PUBLIC = {name: getattr(dpsk.metrics, name) for name in dpsk.metrics.__all__}


@pytest.mark.parametrize("thing", PUBLIC.values(), ids=PUBLIC)
def test_exports_have_parameters_or_attributes_and_a_doctest(thing):
    doc = inspect.getdoc(thing)
    assert doc.splitlines()[0].endswith(".") and ">>> " in doc
    assert "Attributes\n---" in doc or "Parameters\n---" in doc or not inspect.signature(
        thing).parameters


@pytest.mark.parametrize("thing", [thing for thing in PUBLIC.values() if inspect.isclass(thing)])
def test_public_methods_are_documented_with_their_parameters(thing):
    for name, method in inspect.getmembers(thing, callable):
        if name.startswith("_"):
            continue
        doc = inspect.getdoc(method)
        assert doc.splitlines()[0].endswith((".", ",")) or doc.splitlines()[1].endswith(".")
        for parameter in inspect.signature(method).parameters:
            assert parameter == "self" or parameter in doc, (name, parameter)


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.startswith("dp_")
                                  and name != "dp_cross_validate"])
def test_metrics_name_all_of_their_parameters(name):
    parameters = inspect.signature(PUBLIC[name]).parameters
    assert all(each.kind is not each.VAR_KEYWORD for each in parameters.values())
    assert {"epsilon", "delta", "groups", "random_state"} <= set(parameters)
    assert ("pos_label" in parameters) == (name in {
        "dp_roc_auc_score", "dp_average_precision_score", "dp_brier_score_loss", "dp_f1_score"})


@pytest.mark.parametrize(("name", "metric"), [
    ("dp_roc_auc_score", roc_auc_score), ("dp_average_precision_score", average_precision_score),
    ("dp_brier_score_loss", brier_score_loss)])
@pytest.mark.parametrize("pos_label", ["a", "b"])
def test_pos_label_is_the_label_that_scores_are_of(name, metric, pos_label):
    y, scores = np.array(["a", "b", "b", "a"] * 50), np.tile([0.25, 0.375, 0.5, 0.625], 50)
    found = PUBLIC[name](y, scores, pos_label=pos_label, epsilon=np.inf)
    right = (roc_auc_score(y == pos_label, scores) if metric is roc_auc_score
             else metric(y, scores, pos_label=pos_label))
    assert float(found) == pytest.approx(right, abs=1e-6)
