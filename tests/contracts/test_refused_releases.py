"""What the release refuses: all that an event is not declared for, or not the price of."""

from dataclasses import replace

import numpy as np
import pytest

from dpsk import DPLogisticRegression
from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._mechanism.session import Session
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.events import Gaussian, SampledGaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Gradients
from dpsk._solvers.first_order.gd import GradientDescent
from tests.registry import make_problem


def test_a_plan_that_does_not_hold_the_event_draws_and_reads_nothing():
    class Silent(EntropyStream):
        def words(self, count):
            raise AssertionError("drawn")

    problem = make_problem(n_samples=6)
    declared = Gradients(NoisySums(FullBatch(), 1), 1.0)
    rows = Rows(np.ones((6, 3)), np.zeros(6))
    oracle = declared.run((problem, rows), Session(Silent(), Ledger(declared(3.0))), 2.0)
    oracle._sums.gradient = None
    with pytest.raises(RuntimeError, match="plan"):
        oracle.gradient(np.zeros(4))


@pytest.mark.parametrize("asked, match", [
    ((SampledGaussian(0.1, 1.0), {"sensitivities": [Sensitivity(2.0, terms=9, size=3)]}),
     "give batches"),
    ((Gaussian(1.0), {"sensitivities": [Sensitivity(2.0, "gumbel", unit=1.0)]}), "give select"),
    ((Gaussian(1.0), {"sensitivities": [Sensitivity(2.0, unit=1.0, rounded=False)]}),
     "give select"),
    ((Gaussian(1.0), {"sensitivities": 2 * [Sensitivity(2.0, "gumbel", unit=1.0)],
                      "select": np.argmax}), "one Sensitivity")])
def test_what_an_event_is_not_the_price_of_is_neither_read_nor_charged(asked, match):
    event, given = asked
    session = Session(EntropyStream(), Ledger(event))
    with pytest.raises(RuntimeError, match=match):
        session(event, None, *given.pop("sensitivities"), **given)
    # The plan still holds it.
    session._ledger.charge(event)


@pytest.mark.parametrize("overlap", [False, True])
def test_all_rows_do_not_leave_at_the_price_of_a_batch(overlap):
    plan = PoissonBatches(0.1)
    event = plan.release(1.0)
    session = Session(EntropyStream(), Ledger(event))
    with pytest.raises(RuntimeError, match="read inside"):
        session(event, lambda inside: np.full(3, 100.0), Sensitivity(2.0, terms=9, size=3),
                batches=session.batches(plan, 90, 1), overlap=overlap)


def test_a_price_that_follows_from_what_a_stage_released_is_refused(monkeypatch):
    """The plan was priced before; what is asked for after it must cost the same."""
    queries, counts = GradientDescent.queries, iter((6, 7))

    def changing(self, problem):
        found = queries(self, problem)
        return replace(found, answers=replace(found.answers, count=next(counts)))

    monkeypatch.setattr(GradientDescent, "queries", changing)
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    with pytest.raises(RuntimeError, match="follows from what was released"):
        DPLogisticRegression(solver="gd", epsilon=2.0).fit(X, y)
