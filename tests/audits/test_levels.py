"""The error of an audit is shared by all that it judges, and its power by what it would see."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpsk.auditing import _power, _rounds, audit
from dpsk.auditing._tests import Test, chosen_tests
from tests.auditing.leaks import Leaky


@pytest.mark.thorough
@pytest.mark.parametrize("leak, given", [
    (None, {}), (lambda model, entry, X: setattr(model, "entry_", entry),
                 {"claim": 20.0, "neighbors": [(([[0.0]],), ([[1.0]],))]})],
    ids=["noise", "no noise"])
def test_all_that_is_judged_shares_one_level(leak, given, monkeypatch):
    """By the union bound over both limits of every test of every pair and round.

    Also where a difference without noise, too few fits for so weak a claim, is judged at once.
    """
    before, spent = Test.judge, []

    def judge(test, pair, claim, first, second, level):
        if pair != "planted":
            spent.append(2.0 * level)
        return before(test, pair, claim, first, second, level)

    # Where a pair has several tests they share what it would have had.
    monkeypatch.setattr(_rounds, "chosen_tests", lambda *given: chosen_tests(*given)[:1] * 3)
    monkeypatch.setattr(Test, "judge", judge)
    audit(Leaky(leak), runs=60, level=1e-3, **given)
    assert len(spent) >= 3 * len(_rounds.ROUNDS)
    assert sum(spent) == pytest.approx(1e-3)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_a_planted_leak_is_seen_in_all_but_one_of_twenty_cases(monkeypatch, epsilon):
    """Where tests judge, the bit is wrong two deviations more often than by its chance.

    In as many fits as judge, however few tests are learnt from.
    """
    seen = []

    def judge(pair, claim, first, second, level):
        wrong = int(first[:, -1].sum())
        seen.append(wrong)
        assert wrong == int((1.0 - second[:, -1]).sum())
        # The search is led to `epsilon`.
        return SimpleNamespace(epsilon=1.0, refutes=wrong <= n * _often(epsilon))

    def _often(epsilon):
        error = 1.0 / (1.0 + np.exp(epsilon))
        return error + 2.0 * np.sqrt(error * (1.0 - error) / n)

    n = 4000
    monkeypatch.setattr(_power, "chosen_tests", lambda *given: [SimpleNamespace(judge=judge)])
    learnt, fresh = (tuple(np.random.default_rng(0).normal(size=(2, size, 3)))
                     for size in (n // 4, n))
    layout = SimpleNamespace(names=["a"] * 3, is_label=np.zeros(3, bool))
    ended = [[np.zeros(size, dtype=bool)] * 2 for size in (n // 4, n)]
    found = _power.measured_power(learnt, fresh, ended, layout, [], None, 0.01)
    assert seen[0] == 0 and found.refutes_from == pytest.approx(epsilon, abs=0.03)
