"""An interrupt, wherever it comes, leaves nothing that other fits are paid, told or muted by."""

import ast
import sys
import warnings
from functools import cache

import numpy as np
import pytest

from dpsk import DPGradientBoostingClassifier, DPLogisticRegression, PrivacyBudget
from dpsk.exceptions import PrivacyWarning
from tests.syntax import PACKAGE, tree

#: Files of what holds for as long as a fit lasts.
_FILES = ("_warnings.py", "_progress.py", "_rehearsal.py", "_charging/prepaid.py",
          "_charging/carried.py", "_charging/facts.py", "_callbacks.py")
X = np.arange(80.0).reshape(40, 2) / 80.0
Y = np.arange(40) % 2


@cache
def _undoing(path):
    """Return the lines by which something is undone: no interrupt comes between two of them."""
    return {line for node in ast.walk(tree(path)) if isinstance(node, ast.Try)
            for each in (*node.finalbody, *node.handlers)
            for line in range(each.lineno, each.end_lineno + 1)}


class Interrupt:
    """Raises KeyboardInterrupt before a line that no fit was interrupted at before."""

    def __init__(self):
        self.seen, self.is_over = set(), False

    def __call__(self, frame, event, argument):
        path = frame.f_code.co_filename.removeprefix(f"{PACKAGE}/")
        if path not in _FILES:
            return None
        place = path, frame.f_lineno
        if event == "line" and place not in self.seen and place[1] not in _undoing(path):
            self.seen.add(place)
            sys.settrace(None)
            raise KeyboardInterrupt
        return self

    def fit(self, model):
        before = sys.gettrace()
        sys.settrace(self)
        try:
            model.fit(X, Y)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def test_an_interrupt_leaves_nothing_behind():
    interrupt, times, model = Interrupt(), 0, DPGradientBoostingClassifier(max_iter=1)
    before = dict(vars(model))
    with warnings.catch_warnings(), PrivacyBudget(1e6, 0.5) as budget:
        warnings.simplefilter("ignore", PrivacyWarning)
        while interrupt.fit(model):
            times += 1
            assert vars(model) == before
            charged = len(budget.charges)
            with pytest.warns(PrivacyWarning, match="weak"):
                DPLogisticRegression(epsilon=0.5, delta=0.2, solver="gd", max_iter=1).fit(X, Y)
            assert len(budget.charges) == charged + 1
            with pytest.warns(UserWarning, match="of others"):
                warnings.warn("of others", stacklevel=1)
    assert times > 40
