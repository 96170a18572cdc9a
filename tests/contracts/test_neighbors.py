"""One row moves one row: of what enters an oracle, and of what it adds to a total.

All answers of a fit are replayed in fits to tables that differ from the first in one row, or in
all rows but that one, under one stream. Points, bounds and batches are then the same, so that
the exact totals tell of clips, of maps of rows and of prices, whatever the solver.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.contracts.tapes import (
    CASES,
    Table,
    Tape,
    fixed_streams,
    make,
    spent,
    table,
    taped,
)
from tests.registry import is_linear

pytestmark = pytest.mark.covering

#: The row that is replaced; rows of every kind take its place.
ROW = 5
HOSTILE = ("long", "zeros", "huge", "tiny", "constant", "inside")
#: Who compares two halves, which is no sum, before each answer.
_COMPARES = ("stgd", "minibatch_stgd")
#: Who releases where noiseless steps led, which is no sum either.
_LED = ("output_perturbation", "objective_perturbation", "last_iterate")


@dataclass(frozen=True)
class Runs:
    """Fits of one case to a table and to neighbors of it, that replay the first."""

    cls: type
    solver: str
    variant: str
    table: Table
    tape: Tape
    neighbors: dict
    tapes: dict

    def fitted(self, data):
        """Return the tape of a fit to other rows."""
        return _fitted(self.cls, self.solver, self.variant, data, self.tape.answers)


@pytest.fixture(scope="module", params=[
    pytest.param(case.values, id=case.id, marks=case.marks) for case in CASES])
def runs(request):
    """Return the fits of every case."""
    cls, solver, variant = request.param
    first = table(cls, variant)
    tape = _fitted(cls, solver, variant, first)
    others = {kind: first.with_row(ROW, table(cls, variant, kind), 30) for kind in HOSTILE}
    # The same features with the target of another row: opposite gradients.
    others["turned"] = replace(first, y=first.y.copy())
    others["turned"].y[ROW] = next(label for label in first.y[:3] if label != first.y[ROW])
    return Runs(cls, solver, variant, first, tape, others, {
        kind: _fitted(cls, solver, variant, data, tape.answers) for kind, data in others.items()})


def _fitted(cls, solver, variant, data, answers=None):
    with fixed_streams(), taped(answers) as tape:
        data.fit(make(cls, solver, variant))
    return tape


def test_no_row_moves_an_exact_total_by_more_than_its_event_is_priced_for(runs):
    largest = 0.0
    for kind, other in runs.tapes.items():
        for events, parts, here, there in zip(runs.tape.events, runs.tape.parts, runs.tape.totals,
                                              other.totals, strict=True):
            assert events, "nothing was charged"
            # The noise of a minimizer is in the objective, that of a last iterate in its steps.
            if runs.solver not in ("objective_perturbation", "last_iterate"):
                assert len(events) == 1 and parts
                moves = [a - b for a, b in zip(here, there, strict=True)]
                share = spent(events[0], parts, moves)
                assert share <= 1.0 + 1e-6, kind
                largest = max(largest, share)
    assert largest > 0.1 or runs.solver in _LED


def test_what_enters_an_oracle_differs_in_the_changed_row_only(runs):
    found = set()
    for kind, other in runs.tapes.items():
        (here,), (there,) = runs.tape.opened, other.opened
        assert repr(here.problem) == repr(there.problem)
        assert (here.asked, here.noise_multiplier) == (there.asked, there.noise_multiplier)
        changed = set().union(*(_differing(a, b) for a, b in zip(
            _entering(here), _entering(there), strict=True)))
        assert changed <= {ROW}, kind
        found |= changed
    assert found == {ROW}


def _entering(opened):
    """Return what the oracle gets of every row: features, target, and a weight if there are."""
    block = opened.rows.take(slice(0, len(opened.rows)))
    X = block.X.toarray() if opened.rows.is_sparse else block.X
    return [part for part in (X, *block[1:]) if part is not None]


def _differing(one, other):
    """Return where the bytes of two arrays differ, as a set of rows."""
    return {i for i, (a, b) in enumerate(zip(one, other, strict=True))
            if a.tobytes() != b.tobytes()}


def test_what_a_row_adds_to_a_total_does_not_depend_on_other_rows(runs):
    if runs.solver in _LED:
        # No sum over rows; what their oracle gets is compared above.
        return
    background = table(runs.cls, runs.variant, "other")
    base = runs.fitted(background.with_row(ROW, runs.table, ROW))
    # Single precision is what networks sum a block of rows in.
    rounding = 1e-12 if is_linear(runs.cls) and runs.variant != "layers" else 1e-5
    for kind in ("long", "constant", "turned"):
        moved = runs.fitted(background.with_row(ROW, runs.neighbors[kind], ROW))
        for k, parts in enumerate(runs.tape.parts):
            # How far ranks are from a quantile's is no sum either.
            if (runs.solver in _COMPARES and k % 2 == 0) or any(
                    part.sensitivity.law == "gumbel" for part in parts):
                continue
            for j, part in enumerate(parts):
                totals = [tape.totals[k][j] for tape in (runs.tapes[kind], runs.tape, moved, base)]
                step, alike = totals[0] - totals[1], totals[2] - totals[3]
                largest = max(np.abs(total).max(initial=0.0) for total in totals)
                largest += part.sensitivity.moved
                assert np.abs(step - alike).max() <= rounding * largest, (kind, k, j)
