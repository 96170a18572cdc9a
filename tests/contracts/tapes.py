"""Fits of every kind, tables of the same public facts, and what passes through their releases."""

import inspect
import math
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from dpsk import _fit, _queries
from dpsk._mechanism.sensitivity import Noise
from dpsk._mechanism.session import Batch, Session
from dpsk._privacy.closed_forms import bounded_range_mu
from dpsk._privacy.events import Gaussian, Pure, SampledGaussian
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._stages import ROW_STAGES
from tests.estimators.pairs import build
from tests.instruments import ordered_groups
from tests.registry import (
    ALL_SOLVERS,
    ESTIMATORS,
    documented_solvers,
    is_linear,
    is_tried_by_a_classifier,
    pair_marks,
    plain_bounds,
    takes_groups,
    takes_no_set,
    takes_several_classes,
)

__all__ = ["CASES", "KINDS", "Table", "Tape", "every_case", "fixed_streams", "kinds_of", "make",
           "spent", "table", "taped"]

# Enough rows for a hold-out of several batches, few enough for thousands of fits.
N, D = 42, 4
#: Settings beside the plain fit, by name. Those of `_variants` apply to some fits only.
SETTINGS = {
    "whitened": {"precondition": True},
    "free": {"fit_intercept": False, "data_norm": 3.0},
    "rescaled": {"temperature": True, "clip_norm": 0.2, "fit_intercept": False},
    "layers": {"hidden_layer_sizes": (3,), "precondition": True},
    "inner": {"data_norm_inf": 0.4},
    "public": {"solver_options": {"holdout": "public"}},
    "pure": {"delta": 0.0},
    "ridge": {"alpha": 0.1, "max_iter": None},
    # So large a budget that these few rows are enough to learn their scales and bound from.
    "learnt": {"epsilon": 80.0},
    "bounded": {"data_norm": 0.6},
    **{name: {"precondition": name} for name in ROW_STAGES},
}


def _variants(cls, solver):
    """Yield the names of the ways in which a pair is fitted."""
    family, names = ALL_SOLVERS[solver], inspect.signature(cls).parameters
    yield from ("plain", "single", "weights")
    if is_linear(cls):
        yield from ("sparse", "free", "inner")
        if family.whitens:
            yield "whitened"
            # What "whitening" is the name of has been whitened above.
            yield from (name for name, stage in ROW_STAGES.items() if name != "whitening"
                        and (is_classifier(cls()) or not stage.normalizes))
    if "hidden_layer_sizes" in names and family.takes_networks:
        yield "layers"
    if getattr(cls, "_whitens", False):
        yield from ("learnt", "bounded")
    if is_classifier(cls()) and takes_several_classes(cls, solver):
        yield "several"
    if "temperature" in names and family.takes_temperature:
        yield "rescaled"
    if takes_groups(cls):
        yield "groups"
    if "holdout" in family.options():
        yield "public"
    pure = solver in ("stgd", "output_perturbation", "objective_perturbation", "frank_wolfe")
    if pure and not takes_no_set(cls, solver):
        yield "pure"
    if solver == "output_perturbation":
        # To the minimizer, which takes the place of the last of some steps.
        yield "ridge"


def _marks(cls, solver, variant):
    twice = variant in ("single", "sparse", "free", "inner")
    again = twice and is_tried_by_a_classifier(cls, solver)
    return pytest.mark.audit if again else pair_marks(cls, solver)


CASES = [pytest.param(cls, solver, variant, id=f"{name}-{solver}-{variant}",
                      marks=_marks(cls, solver, variant))
         for name, cls in sorted(ESTIMATORS.items()) for solver in sorted(documented_solvers(cls))
         for variant in _variants(cls, solver)]
every_case = pytest.mark.parametrize("cls, solver, variant", CASES)


def make(cls, solver, variant="plain", **params):
    """Return the estimator of a case."""
    given = {"epsilon": 4.0, "delta": 1e-4, "max_iter": 6, "batch_size": 21, "random_state": 0,
             **SETTINGS.get(variant, {}), **params}
    return build(cls, solver, **given)


@dataclass(frozen=True)
class Table:
    """The arguments of a fit."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    groups: np.ndarray | None
    public: tuple | None
    variant: str

    def fit(self, model):
        """Fit a model to the table, and return it."""
        X = self.X.astype(np.float32) if self.variant == "single" else self.X
        X = sparse.csr_matrix(X) if self.variant == "sparse" else X
        more = {"sample_weight": self.weights, "groups": self.groups}
        more = {key: value for key, value in more.items() if value is not None}
        if self.public is not None:
            more["public_X"], more["public_y"] = self.public
        return model.fit(X, self.y, **more)

    def with_row(self, i, other, j):
        """Return the table with row j of another in the place of row i."""
        parts = {}
        for name in ("X", "y", "weights", "groups"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is not None:
                mine = mine.copy()
                mine[i] = theirs[j]
            parts[name] = mine
        return Table(**parts, public=self.public, variant=self.variant)


#: What the rows of tables are like: each crosses some threshold that the ordinary ones do not.
KINDS = ("other", "inside", "long", "zeros", "constant", "huge", "tiny")


def kinds_of(variant):
    """Return the kinds of rows that a case is tried with: the plainest ones with all."""
    return KINDS if variant in ("plain", "weights") else ("inside", "long", "zeros", "huge")


def table(cls, variant, kind="ordinary", seed=0):
    """Return a table; all kinds of one case have the same public facts."""
    rng = np.random.default_rng([seed, (*KINDS, "ordinary").index(kind)])
    X = rng.normal(size=(N, D)) * rng.choice([0.1, 1.0], size=(N, 1))
    if variant == "sparse":
        X[rng.random(X.shape) < 0.4] = 0.0
    if kind in ("inside", "long", "huge", "tiny"):
        X *= {"inside": 1e-2, "long": 1e4, "huge": 1e30, "tiny": 1e-35}[kind]
    elif kind == "zeros":
        X[1:] = 0.0
    elif kind == "constant":
        X[:] = [0.6, -0.2, 0.0, 0.3]
    weights = None
    if variant == "weights":
        weights = rng.uniform(0.0, 2.0, size=N)
        # Far above any bound of a gradient without them.
        weights[::5] *= 1e3
        if kind in ("inside", "zeros", "huge"):
            weights[1:] = 0.0
    groups = None
    if takes_groups(cls):
        share = 0.8 if kind in ("ordinary", "zeros") else 0.2
        groups = np.where(np.arange(N) < share * N, "north", "south")
        groups[-1:] = "west"
    public = None
    if variant == "public":
        fixed = np.random.default_rng(9)
        public = fixed.normal(size=(12, D)), _targets(cls, variant, "ordinary", fixed, 12)
    return Table(X, _targets(cls, variant, kind, rng, N), weights, groups, public, variant)


def _targets(cls, variant, kind, rng, count):
    model = cls()
    if is_classifier(model):
        # Nearly all rows of one class, of one side in half of the kinds.
        y = np.full(count, "yes" if kind in ("inside", "long", "constant") else "no", dtype="<U5")
        y[:3] = ["yes", "no", "maybe" if variant == "several" else "no"]
        return y
    low, high = plain_bounds(model)
    if kind == "inside":
        return rng.uniform(0.0, 1e-3 * high, size=count)
    if kind in ("zeros", "constant"):
        return np.full(count, high)
    return rng.uniform(low, high, size=count)


#: Every class whose `run` opens an oracle.
QUERIES = [cls for cls in vars(_queries).values() if inspect.isclass(cls) and "run" in vars(cls)
           and cls is not _queries.Queries]


class Opened(NamedTuple):
    """Arguments of the `run` of some queries."""

    problem: object
    rows: object
    asked: object
    noise_multiplier: float


@dataclass
class Tape:
    """What passed through the releases of one fit, one entry an answer.

    Attributes
    ----------
    answers : list of ndarray, tuple or int
    events : list of tuple of Event
    parts : list of tuple of Noise
        That of every array; empty for what draws its own, or has none.
    public : list
        Scales, units and divisors: what must not follow rows.
    totals : list of tuple of ndarray
        Exact; empty for what draws its own noise.
    noise : list of ndarray
        All that was drawn to be added, of scale 1.
    opened : list of Opened
        What oracles were opened with.
    """

    answers: list = field(default_factory=list)
    events: list = field(default_factory=list)
    parts: list = field(default_factory=list)
    public: list = field(default_factory=list)
    totals: list = field(default_factory=list)
    noise: list = field(default_factory=list)
    opened: list = field(default_factory=list)


@contextmanager
def taped(answers=None):
    """Watch releases, and hand `answers` of another fit back in the place of theirs."""
    tape, call, hidden, added = Tape(), Session.__call__, Session.hidden, Noise.added
    given = iter(answers or ())

    def kept(answer):
        tape.answers.append(_copied(answer if answers is None else next(given)))
        return _copied(tape.answers[-1])

    def watched_call(session, event, read, *known, divisor=1.0, also=(), **kwargs):
        tape.events.append((event, *also))
        tape.parts.append(tuple(one.noise(event) for one in known) if event.protects else ())
        tape.totals.append([])
        tape.public.append((divisor, sorted(kwargs.keys() - {"batches", "ledger"})))
        return kept(call(session, event, read, *known, divisor=divisor, also=also, **kwargs))

    def watched_hidden(session, event, run, unit):
        tape.events.append((event,))
        tape.parts.append(())
        tape.totals.append([])
        tape.public.append(unit)
        return kept(hidden(session, event, run, unit))

    def watched_added(noise, total, drawn, divisor):
        assert drawn.shape == total.shape
        tape.totals[-1].append(total.copy())
        known = noise.sensitivity
        upper = np.triu_indices(drawn.shape[-1]) if known.law == "symmetric_normal" else ()
        # Of every matrix of a stack.
        tape.noise.append(drawn[(..., *upper)].ravel().copy())
        answer = added(noise, total, drawn, divisor)
        tape.public.append((noise.scale, noise.unit, known.moved, known.unit, known.terms,
                            known.size, divisor, total.shape))
        return answer

    def watched_draw(law):
        def draw(inside, shape):
            tape.noise.append(law(inside, shape))
            return tape.noise[-1].copy()
        return draw

    def watched_run(cls):
        run = cls.run

        def opened(asked, data, session, noise_multiplier):
            tape.opened.append(Opened(*data, asked, noise_multiplier))
            return run(asked, data, session, noise_multiplier)
        return mock.patch.object(cls, "run", opened)

    with (ExitStack() as stack,
          mock.patch.object(Session, "__call__", watched_call),
          mock.patch.object(Session, "hidden", watched_hidden),
          mock.patch.object(Noise, "added", watched_added),
          mock.patch.object(Batch, "normal", watched_draw(Batch.normal)),
          mock.patch.object(Batch, "gamma_norm", watched_draw(Batch.gamma_norm))):
        for queries in QUERIES:
            stack.enter_context(watched_run(queries))
        yield tape
    assert answers is None or next(given, None) is None, "fewer answers were asked for"


def _copied(answer):
    if isinstance(answer, tuple):
        return tuple(map(np.copy, answer))
    return answer.copy() if isinstance(answer, np.ndarray) else answer


def spent(event, parts, moves, apart=False):
    """Return what a move of the exact arrays costs over what the event allows, by its law.

    Of scores that move together a choice tells nothing: with `apart` how far they part counts.
    """
    scaled = [np.abs(move) / part.scale for part, move in zip(parts, moves, strict=True)]
    length = math.sqrt(sum(float(np.vdot(one, one)) for one in scaled))
    laws = {part.sensitivity.law for part in parts}
    laws = {law if isinstance(law, str) else "standard_normal" for law in laws}
    if laws == {"gumbel"}:
        # What is out of the question is so on both tables.
        steps = (moves[0] / parts[0].scale)[np.isfinite(moves[0])]
        width = float(np.ptp(steps)) if apart else 2.0 * float(scaled[0].max())
        return width / event.epsilon if isinstance(event, Pure) else (
            bounded_range_mu(width) / event.mu)
    if isinstance(event, Pure):
        (law,) = laws
        return {"laplace": float(scaled[0].sum()), "gamma_norm": length}[law] / event.epsilon
    assert laws <= {"standard_normal", "symmetric_normal"}
    if isinstance(event, SampledGaussian):
        return length * event.noise_multiplier / 2.0
    assert isinstance(event, Gaussian)
    return length / event.mu


@contextmanager
def fixed_streams():
    """Let fits draw the same, whatever the rows."""
    streams = iter([KeyedStream(b"public draws 0123"), KeyedStream(b"noise 0123456789")])
    with mock.patch.object(_fit, "open_stream", lambda *_: next(streams)), ordered_groups():
        yield
