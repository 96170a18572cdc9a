"""One release: who may charge and draw, what units leave, and that no draw is used twice.

Tests of draws state how often a sound release fails them; the operating system keys streams."""

import ast
import re

import numpy as np
import pytest

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._mechanism import session as release
from dpsk._mechanism.sensitivity import Noise, Sensitivity, derived_scale, rounding_margin
from dpsk._mechanism.session import Batch, Session
from dpsk._models import MLP, LinearModel
from dpsk._models.clipping import HEADROOM
from dpsk._objective.losses import Logistic, Multinomial, Squared
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers, streams
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries.gradients import GradientOracle
from dpsk._sums import float_entry, network_sums, saddle_sums
from dpsk._sums.linear_sums import float_sums
from dpsk._sums.network_sums import NetworkSums
from dpsk.testing import NoiseSeed
from tests.loops import in_a_row
from tests.noise.levels import binomial_fits
from tests.registry import (
    ALL_SOLVERS,
    ESTIMATORS,
    documented_solvers,
    make_estimator,
    takes_groups,
    training_rows,
)
from tests.syntax import PACKAGE, tree

_FILES = [str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py"))]
_RELEASE, _PRICES = "_mechanism/session.py", "_mechanism/sensitivity.py"
_SAMPLERS = "dpsk._privacy.noise.samplers"
_NETWORK = pytest.param("network", marks=pytest.mark.audit)
every_module = in_a_row("name", _FILES)


# The syntax of the package.

def _sampling(parsed):
    """Return the names from the module of samplers, and the names that stand for the module."""
    names, modules = set(), set()
    for node in ast.walk(parsed):
        if isinstance(node, ast.ImportFrom) and node.module == _SAMPLERS:
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {alias.asname or alias.name for alias in node.names
                        if f"{node.module}.{alias.name}" == _SAMPLERS}
        elif isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names
                        if alias.name == _SAMPLERS}
    return names, modules


@every_module
def test_only_the_release_charges(name):
    charges = [node.lineno for node in ast.walk(tree(name))
               if isinstance(node, ast.Attribute) and node.attr == "charge"]
    assert bool(charges) == (name == _RELEASE), charges


@every_module
def test_only_the_release_draws_noise(name):
    names, modules = _sampling(tree(name))
    if name in (_RELEASE, _PRICES):
        assert modules == {"samplers"} and not names
    elif name == "_fit.py":
        # Public starts: from the stream of what is public, and nothing else.
        assert names == {"standard_normal"} and not modules
        uses = [ast.unparse(node) for node in ast.walk(tree(name)) if isinstance(node, ast.Call)
                and "standard_normal" in {n.id for n in node.args if isinstance(n, ast.Name)}]
        used = [node for node in ast.walk(tree(name))
                if isinstance(node, ast.Name) and node.id == "standard_normal"]
        assert uses == ["partial(standard_normal, apart)"] and len(used) == 1
    elif name == "_privacy/noise/public.py":
        # From a stream opened for it, or under a key that anyone can make.
        assert names == {"standard_normal"} and not modules
        calls = {ast.unparse(n) for n in ast.walk(tree(name)) if isinstance(n, ast.Call)}
        assert {call for call in calls if call.startswith("standard_normal")} == {
            "standard_normal(self._stream, shape)",
            "standard_normal(KeyedStream(key[:16]), shape)"}
    else:
        assert not (names or modules)


def test_public_numbers_are_asked_for_where_they_hide_nothing():
    users = {name for name in _FILES for node in ast.walk(tree(name))
             if isinstance(node, ast.ImportFrom) and node.module == "dpsk._privacy.noise.public"}
    assert users == {f"{name}.py" for name in (
        "additive/_noise", "auditing/_tables", "ensemble/_base", "generative/_base",
        "ensemble/_forest", "linear_model/_noise", "metrics/_table", "model_selection/_split",
        "_data/groups", "pipeline/_known", "reinforcement_learning/_td",
        "reinforcement_learning/_distillation", "_queries/critic", "tree/_classifier")}


def _definitions(parsed):
    """Yield every name that a tree defines, as often as it does."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_what_bounds_rest_on_is_defined_once():
    homes = {"HEADROOM": "_models/clipping.py", "clip_factors": "_models/clipping.py",
             "REPLACE_ONE": "_privacy/sensitivity.py", "rounding_margin": _PRICES}
    found = sorted((each, name) for name in _FILES for each in _definitions(tree(name))
                   if each in homes)
    assert found == sorted(homes.items())


def _constants(parsed):
    """Yield the values of all expressions of numbers alone."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.BinOp | ast.Constant) and all(isinstance(part, (
                ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Constant))
                for part in ast.walk(node)):
            try:
                yield eval(compile(ast.Expression(node), "", "eval"), {})
            except (ArithmeticError, TypeError):
                continue


@every_module
def test_no_module_has_a_head_room_or_margin_of_its_own(name):
    twins = [value for value in _constants(tree(name)) if isinstance(value, float) and value in (
        HEADROOM, 1.0 / HEADROOM, 1.0 + 2.0**-24)]
    assert len(twins) == (name == "_models/clipping.py")
    products = [ast.unparse(node) for node in ast.walk(tree(name))
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)]
    margins = [text for text in products
               if re.search(r"\*\* 2 \* 2\.0 \*\* \(?-53|2\.0 \*\* \(?-53\)? \* .*\*\* 2", text)]
    assert len(margins) == (name == _PRICES)


# The units of what leaves.

def _fitted(solver, **params):
    """Fit the first estimator that takes a solver, in batches where it draws some."""
    cls = next(cls for _, cls in sorted(ESTIMATORS.items()) if solver in documented_solvers(cls))
    settings = {"max_iter": 12, "batch_size": 24, **params}
    model = make_estimator(cls, solver, **{key: value for key, value in settings.items()
                                           if key not in ALL_SOLVERS[solver].ignores})
    X, y = training_rows(model)
    groups = {"groups": np.arange(len(y)) % 2} if takes_groups(cls) else {}
    return model.fit(X, y, **groups)


class Seen:
    """What went through the releases of fits."""

    def __init__(self, patch):
        self.noise, self.rows, self.answers, self.ends = [], [], [], []
        added, call, hidden, opened = (Noise.added, Session.__call__, Session.hidden,
                                       Batch.__init__)

        def watched_added(noise, total, drawn, divisor):
            symmetric = noise.sensitivity.law == "symmetric_normal"
            kept = drawn[np.triu_indices(len(drawn))] if symmetric else drawn
            self.noise.append(np.ravel(kept).copy())
            return added(noise, total, drawn, divisor)

        def watched_call(session, event, read, *known, divisor=1.0, select=None, **kwargs):
            answer = call(session, event, read, *known, divisor=divisor, select=select, **kwargs)
            arrays = answer if isinstance(answer, tuple) else (answer,)
            for one, array in zip(known, arrays, strict=True):
                self.answers.append((event, one, np.array(array), divisor, select))
            return answer

        def watched_hidden(session, event, run, unit):
            end = hidden(session, event, run, unit)
            self.ends.append((end.copy(), unit))
            return end

        def watched_open(inside, stream, rows):
            if rows is not None:
                self.rows.append(tuple(rows.tolist()))
            opened(inside, stream, rows)

        def drawn(law):
            draw = getattr(Batch, law)

            def watched(inside, shape):
                noise = draw(inside, shape)
                self.noise.append(np.ravel(noise).copy())
                return noise
            return watched

        for home, name, watched in (
                (Noise, "added", watched_added), (Session, "__call__", watched_call),
                (Session, "hidden", watched_hidden), (Batch, "__init__", watched_open),
                *((Batch, law, drawn(law)) for law in ("normal", "gamma_norm"))):
            patch.setattr(home, name, watched)


@pytest.fixture
def seen(monkeypatch):
    """Return what goes through releases for the rest of the test."""
    return Seen(monkeypatch)


every_solver = pytest.mark.parametrize("solver", sorted(ALL_SOLVERS))


def _is_whole(answer, divisor, unit):
    """Whether an answer is a whole number of units over a divisor, rounded once."""
    units = np.rint(answer * (divisor / unit))
    return bool(np.all(np.abs(units) < 2.0**50) and np.all(units / (divisor / unit) == answer))


@every_solver
@pytest.mark.parametrize("seed", [None, NoiseSeed(0)])
def test_every_float_that_leaves_is_a_whole_number_of_public_units(solver, seed, seen):
    _fitted(solver, random_state=seed)
    assert seen.answers or seen.ends
    for event, known, answer, divisor, select in seen.answers:
        if select is not None:
            # Nothing but a choice leaves.
            assert answer.shape == () and answer.dtype.kind == "i"
            continue
        unit, noise = known.noise(event).unit, derived_scale(event, known.moved, known.law)
        assert np.frexp(unit)[0] == 0.5 and 2.0**-41 * noise < unit < 2.0**-9 * noise
        assert _is_whole(answer, divisor, unit)
    for end, unit in seen.ends:
        assert np.frexp(unit)[0] == 0.5 and _is_whole(end, 1.0, unit)


def test_what_was_not_rounded_would_be_found():
    assert not _is_whole(np.array([np.pi]), 3.0, 2.0**-30)
    assert _is_whole(np.array([np.rint(np.pi * 2.0**30) / 2.0**30 / 3.0]), 3.0, 2.0**-30)


@pytest.mark.parametrize("size", [1, 7, 400])
@pytest.mark.parametrize("terms", [0, 10**6])
def test_the_scale_of_noise_covers_what_rounding_to_units_moves(size, terms):
    """Totals of neighbors, rounded: as far apart as the noise is for."""
    rng, mu = np.random.default_rng(0), 1.4
    known = Sensitivity(2e-3, terms=terms, size=size)
    noise = known.noise(Gaussian(mu))
    reach = noise.scale * mu
    assert reach >= known.moved * rounding_margin(terms) + noise.unit * np.sqrt(size) * 0.999
    silent = np.zeros(size)
    for _ in range(50):
        move = rng.choice([-1.0, 1.0], size=size)
        total = rng.normal(size=size)
        ends = [noise.added(total + 0.5 * sign * known.moved * move / np.sqrt(size),
                            silent.copy(), 1.0) for sign in (1.0, -1.0)]
        assert np.linalg.norm(ends[0] - ends[1]) <= reach


def test_an_array_of_another_size_is_refused():
    noise = Sensitivity(1.0, size=3).noise(Gaussian(1.0))
    with pytest.raises(ValueError, match="size"):
        noise.added(np.zeros(4), np.zeros(4), 1.0)


# Draws: blocks of every kind are made so short that an answer takes many, and many answers one.

@pytest.fixture(params=[3, 40])
def short_blocks(request, monkeypatch):
    # Noise of several answers comes in one block of 40; of 3 no block holds an answer.
    monkeypatch.setattr(release, "_NOISE_BLOCK", request.param)
    size = min(request.param, 7)
    for home, name in ((samplers, "_PART"), (streams, "_BLOCK"),
                       (network_sums, "SHORT_BLOCK"), (saddle_sums, "SHORT_BLOCK"),
                       (saddle_sums, "_ENTRIES"), (blocks, "_ENTRIES")):
        monkeypatch.setattr(home, name, size)
    monkeypatch.setattr(float_entry, "_BLOCK_BYTES", 8 * size)


#: Correlations of N independent pairs beyond this over sqrt(N) have chance below 1e-10 each.
_FAR = 6.5


def _correlations(one, other):
    """Return the correlations, times the root of their number, of columns of two samples."""
    one, other = ((part - part.mean(axis=0)) / part.std(axis=0) for part in (one, other))
    return one.T @ other / np.sqrt(len(one))


def _sums(kind, n_features=4, n=6):
    """Return sums over rows of zeros, so that answers are noise."""
    X, y = np.zeros((n, n_features)), np.zeros(n)
    if kind == "network":
        X = X.astype(np.float32)
        return NetworkSums(MLP(n_features, (2,), None, "tanh"), Squared(), Rows(X, y), 1.0)
    outputs = 3 if kind == "classes" else None
    return float_sums(LinearModel(n_features, outputs, False, 1.0),
                   Multinomial() if outputs else Logistic(), Rows(X, y.astype(int)), 1.0)


def _answers(sums, count, batches=None):
    declared = NoisySums(batches or FullBatch(), count)
    session = Session(EntropyStream(), Ledger(declared(50.0)))
    oracle = GradientOracle(sums, declared, 50.0, session)
    theta = np.zeros(sums.model.shape)
    return np.array([oracle.gradient(theta).ravel() for _ in range(count)])


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["scalar", "classes", _NETWORK])
def test_noise_of_an_answer_has_a_diagonal_covariance(kind, short_blocks):
    """At most 300 correlations of 2000 pairs: a sound one fails with chance below 3e-8."""
    sums, count = _sums(kind), 2000
    # Rows of zeros leave a network the gradient of its last bias, the same in every answer.
    noise = _answers(sums, count)
    p = noise.shape[1]
    within = _correlations(noise, noise)
    np.testing.assert_allclose(np.diag(within), np.sqrt(count))
    assert np.abs(within[~np.eye(p, dtype=bool)]).max() < _FAR
    # Nor does an answer tell of the next.
    assert np.abs(_correlations(noise[1:], noise[:-1])).max() < _FAR
    # Every coordinate has the same variance: (N - 1) s^2 has a spread of sqrt(2 N).
    expected = (50.0 * sums.clip_norm / sums.n_samples)**2
    assert np.abs(noise.var(axis=0) / expected - 1.0).max() < _FAR * np.sqrt(2.0 / count)


@pytest.mark.parametrize("kind", ["scalar", "classes"])
def test_noise_beyond_every_block_is_as_independent(kind):
    """Distances at which blocks end; ten correlations, a chance of failing below 1e-9."""
    size = 2 * max(release._NOISE_BLOCK, samplers._PART) + 5
    noise = _answers(_sums(kind, size, n=2), 2)
    for flat in noise:
        for step in (1, 3, samplers._PART, release._NOISE_BLOCK):
            assert np.abs(_correlations(flat[step:, None], flat[:-step, None])) < _FAR
    assert np.abs(_correlations(noise[0][:, None], noise[1][:, None])) < _FAR


def test_noise_that_repeats_or_is_shared_would_be_found():
    noise = np.random.default_rng(0).normal(size=(3000, 4))
    noise[:, 3] = noise[:, 0]
    assert np.abs(_correlations(noise, noise)[0, 3]) > _FAR
    noise[1::2] = noise[::2]
    assert np.abs(_correlations(noise[1:], noise[:-1])).max() > _FAR


@pytest.mark.covering(most=16)
@every_solver
def test_no_draw_repeats_within_a_fit(solver, seen, short_blocks):
    """Of 1e4 draws of 52 bits two are equal, but for the sign, with chance below 1e-7."""
    _fitted(solver)
    magnitudes = np.abs(np.concatenate(seen.noise))
    assert 0 < len(magnitudes) <= 10**4
    assert len(np.unique(magnitudes)) == len(magnitudes)


def _is_sampled(solver):
    return "batch_size" not in ALL_SOLVERS[solver].ignores and "stgd" not in solver


@pytest.mark.covering(most=6)
@pytest.mark.parametrize("solver", [name for name in sorted(ALL_SOLVERS) if _is_sampled(name)])
def test_every_answer_of_a_fit_has_a_batch_of_its_own(solver, seen, short_blocks):
    """Two Poisson batches of 80 rows at rate 0.3 are equal with chance below 1e-18."""
    # The public number of steps of "rrpsgd" is drawn, and may be one; the noise stays fresh.
    _fitted(solver, random_state=0)
    assert len(seen.rows) > 1
    assert len(set(seen.rows)) == len(seen.rows)


def test_batches_are_independent_of_those_before(short_blocks, seen):
    """Limits of `binomial_fits` are at its own level."""
    n, rate, count = 40, 0.3, 400
    _answers(_sums("scalar", n=n), count, PoissonBatches(rate))
    member = np.zeros((count, n), dtype=bool)
    for row, chosen in zip(member, seen.rows, strict=True):
        row[list(chosen)] = True
    assert binomial_fits(int(member.sum()), member.size, rate)
    again = member[:-1:2] & member[1::2]
    assert binomial_fits(int(again.sum()), again.size, rate**2)
