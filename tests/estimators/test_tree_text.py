"""The text of a decision tree takes what scikit-learn's `export_text` takes."""

import math

import numpy as np
import pytest

from dpsk import DPDecisionTreeClassifier
from dpsk.exceptions import PrivacyWarning
from dpsk.tree import export_text


@pytest.fixture
def model():
    y = np.repeat([0, 1], [100, 300])
    X = np.column_stack([np.ones(400), y])
    with pytest.warns(PrivacyWarning):
        return DPDecisionTreeClassifier(math.inf, max_depth=1).fit(X, y)


def test_the_text_names_features_and_classes_and_shows_their_rows(model):
    lines = export_text(model, feature_names=["one", "label"], class_names=["few", "many"],
                        show_weights=True, spacing=1, decimals=1).splitlines()
    assert lines[0].startswith("|- label <") and lines[2].startswith("|- label >")
    for line, name, counts in ((lines[1], "few", [100, 0]), (lines[3], "many", [0, 300])):
        shown, label = line.removeprefix("| |- weights: [").split("] ")
        # Shares of classes are smoothed.
        np.testing.assert_allclose(np.array(shown.split(", "), float), counts, atol=1.0)
        assert label.startswith(f"class: {name} (1.0")


@pytest.mark.parametrize("wrong", [
    {"feature_names": ["one"]}, {"class_names": "ab"}, {"class_names": ["a", "b", "c"]},
    {"spacing": 0}, {"show_weights": 2}])
def test_names_of_another_number_and_no_spaces_are_refused(model, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        export_text(model, **wrong)
