"""Fits turn off warnings that may depend on rows, and no others: in no other thread, for no time.
"""

import pickle
import threading
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPLogisticRegression, DPRidge, make_dp_pipeline

X = np.arange(80.0).reshape(40, 2) / 80.0
Y = np.arange(40) % 2


@pytest.fixture
def told():
    """Texts of all warnings that somebody sees."""
    texts = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: texts.append(str(message))
        yield texts


def test_fits_that_overlap_turn_no_warning_off_for_good(told):
    inside, both, over = threading.Event(), threading.Event(), threading.Event()

    def first(rows):
        warnings.warn("of rows", stacklevel=1)
        inside.set()
        assert both.wait(60)
        return rows

    def last(rows):
        assert inside.wait(60)
        both.set()
        assert over.wait(60)
        return rows

    def fitted(function, after):
        make_dp_pipeline(FunctionTransformer(function), DPRidge(
            target_bounds=(-1, 1), data_norm=2.0, epsilon=100.0)).fit(X, Y)
        after.set()

    threads = [threading.Thread(target=fitted, args=each)
               for each in ((first, over), (last, threading.Event()))]
    for each in threads:
        each.start()
    assert both.wait(60)
    DPLogisticRegression(epsilon=np.inf).fit(X, Y)
    assert any("no noise is added" in text for text in told)
    for each in threads:
        each.join(60)
    assert over.is_set() and "of rows" not in told
    warnings.warn("after", stacklevel=1)
    assert told[-1] == "after"


def test_filters_stay_few_and_travel_to_workers(told):
    for _ in range(5):
        warnings.simplefilter("always")
        warnings.filterwarnings("always", category=RuntimeWarning)
        DPRidge(target_bounds=(-1, 1)).fit(X, Y)
    assert sum("_First" in repr(each) for each in warnings.filters) == 1
    # As scikit-learn and joblib do; there they turn nothing off.
    others = pickle.loads(pickle.dumps(warnings.filters))
    assert not others[0][1].match("of rows")
    parts = ColumnTransformer([("a", FunctionTransformer(), [0])])
    assert parts.fit_transform(X).shape == (40, 1)
