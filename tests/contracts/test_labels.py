"""Which label sets are taken follows from what is declared, and not from which rows occur."""

from inspect import signature

import numpy as np
import pytest

from dpsk import DPGroupDROClassifier
from dpsk._data.labels import encode_labels
from tests.data.test_containers import CLASSIFIERS
from tests.registry import ALL_ESTIMATORS

_X = np.eye(20)[:, :3]


@pytest.mark.covering
@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("classes", [
    [0.0, 1.5], [0.5, 1], np.array([0.25, 1.0], dtype=np.float32),
    np.array([0, np.float32(1.5)], dtype=object), [0.0, np.nan], (0.0, np.inf)],
    ids=["floats", "one", "single", "objects", "nan", "infinity"])
@pytest.mark.parametrize("y", [np.zeros(20), np.arange(20) % 2, np.arange(20) * 0.5])
def test_declared_labels_that_are_not_whole_are_refused_whatever_occurs(cls, classes, y):
    with pytest.raises(ValueError, match=r"^classes=.*words or whole numbers.*use strings"):
        cls(classes=classes).fit(_X, y)


def test_groups_follow_the_same_rule():
    y = np.arange(20) % 2
    for groups in (np.zeros(20), y, 0.5 * y):
        with pytest.raises(ValueError, match=r"^group_labels=.*words or whole numbers"):
            DPGroupDROClassifier(group_labels=[0.0, 0.5]).fit(_X, y, groups=groups)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("classes", [[0, 1], [0.0, 1.0], ["0", "1"], [False, True]])
def test_a_row_of_another_label_is_refused_in_the_same_words_whatever_it_is(cls, classes):
    y = np.asarray(classes)[np.arange(20) % 2]
    others = ["2", "0.5", "no"] if y.dtype.kind == "U" else [2.0, 0.5, -1e300]
    said = set()
    for other in others:
        rows = y.astype(object if y.dtype.kind == "U" else float)
        rows[3] = other
        with pytest.raises(ValueError, match="a label outside classes=") as caught:
            cls(classes=classes).fit(_X, rows)
        said.add(str(caught.value))
    assert len(said) == 1


def test_labels_equal_to_declared_ones_have_their_codes_whatever_their_type():
    for y in (np.array([1, 0, 1]), np.array([1.0, 0.0, 1.0]), np.array([True, False, True])):
        for classes in ([0, 1], [1.0, 0.0], [False, True]):
            known, codes = encode_labels(y, classes, "Model")
            np.testing.assert_array_equal(codes, [1, 0, 1])
            np.testing.assert_array_equal(known, np.unique(classes))


def test_labels_that_were_not_declared_are_refused_as_scikit_learn_does():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        encode_labels(np.array([0.0, 1.0, 0.5]), None, "Model")


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "m8[s]"])
def test_label_sets_are_those_that_occur_up_to_the_ends_of_a_type(dtype):
    ends = np.iinfo(f"i{np.dtype(dtype).itemsize}")
    for low, high in ((-2, 3), (ends.max - 3, ends.max), (ends.min + 1, ends.max)):
        y = np.array([high, low, low, high, high - 1]).astype(dtype)
        classes, codes = encode_labels(y, None, "DPClassifier")
        assert classes.dtype == y.dtype
        np.testing.assert_array_equal(classes, np.unique(y))
        np.testing.assert_array_equal(classes[codes], y)


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array(["no", "yes"], object),
                                    np.array([0, None], object)])
def test_labels_of_another_kind_are_outside_the_declared_ones(labels):
    with pytest.raises(ValueError, match=r"^y holds a label outside classes=\[0, 1\]; declare"
                                         ".*drop rows with a missing label"):
        encode_labels(labels[np.arange(20) % 2], [0, 1], "Model")


def test_many_declared_labels_are_not_all_listed():
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.\];"):
        encode_labels(np.array([-1]), range(400), "Model")


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize(("missing", "message"), [
    (np.nan, "^Input y contains NaN"), (None, "y holds labels of several kinds, or a missing")])
def test_a_missing_label_is_said_to_be_one(cls, missing, message):
    y = np.array(["no", "yes"] * 10, dtype=object)
    y[3] = missing
    with pytest.raises(ValueError, match=message):
        cls().fit(_X, y)


@pytest.mark.parametrize(("make", "message"), [
    (lambda y: y.astype(object), r"^Unknown label type: y holds .*or objects; .*astype\(str\)"),
    (lambda y: np.where(y, None, 0), r"^Unknown label type: y holds .*or objects; leave out"),
    (lambda y: y.astype("S"), "^Support for labels represented as bytes is not supported")])
def test_labels_of_no_known_kind_are_refused_with_a_remedy_by_all(make, message, silent):
    """Objects were taken for a regression target, and bytes could not be read."""
    classifiers = [cls for cls in ALL_ESTIMATORS.values()
                   if "classes" in signature(cls).parameters]
    assert len(classifiers) > 12
    for cls in classifiers:
        with pytest.raises((TypeError, ValueError), match=message):
            cls().fit(_X, make(np.arange(20) % 2))
