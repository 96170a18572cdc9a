"""Fits that learn the bound on rows and on targets: price, statement, and what prediction uses."""

import warnings

import numpy as np
import pytest

from dpsk import DPHuberRegressor, DPLinearRegression, DPPoissonRegressor
from dpsk.accounting import Pure
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import KINDS, table, taped
from tests.contracts.test_neighbors import HOSTILE, ROW, spent
from tests.contracts.test_replay import shown
from tests.contracts.test_time import reads
from tests.estimators.pairs import build
from tests.events import tally
from tests.registry import SOLVER_PARAMS, documented_solvers, every_bounded_regressor

#: Solvers whose price rests on a penalty want declared bounds.
FITS = [pytest.param(cls, solver, id=f"{cls.__name__}-{solver}")
        for cls in (DPHuberRegressor, DPLinearRegression, DPPoissonRegressor)
        for solver in sorted(documented_solvers(cls) - set(SOLVER_PARAMS))
        if cls is DPHuberRegressor or solver in ("gd", "sufficient_statistics")]
every_fit = pytest.mark.parametrize("cls, solver", FITS)


def make(cls, solver, **params):
    """Return an estimator that learns its bounds from few rows."""
    if solver == "objective_perturbation":
        # Determinants, a moment and quantiles together exceed a small budget, and are refused.
        params.setdefault("precondition", False)
    return build(cls, solver, **{"epsilon": 80.0, "delta": 1e-4, "max_iter": 6, "batch_size": 21,
                                 "random_state": 0, "data_norm": None, "target_bounds": None,
                                 **params})


def rows(n=4000, scale=300.0, seed=0):
    """Return rows of norm about `scale`, and targets of five units about 40 of their own."""
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, 3)) / np.sqrt(3)
    return X, 40.0 + 15.0 * X[:, 0] / scale + rng.normal(size=n)


def rounds_of(model):
    """Return the number of rounds in which a fit centered its rows."""
    bounds = {line.name: line.value for line in model.privacy_.enforced}
    return len(bounds.get("center_norms", []))


@pytest.mark.covering(most=6)
@every_fit
def test_all_that_a_fit_shows_follows_from_its_releases(cls, solver, capsys):
    model = make(cls, solver, verbose=1)
    faces, tape = shown(model, table(cls, "plain"), capsys)
    for kind in KINDS:
        other, _ = shown(make(cls, solver, verbose=1), table(cls, "plain", kind), capsys,
                         tape.answers)
        assert [name for name in faces if faces[name] != other[name]] == [], kind


@every_fit
def test_what_is_read_does_not_follow_the_rows(cls, solver):
    if solver != "objective_perturbation":
        counts = [reads(make(cls, solver), table(cls, "plain", kind))
                  for kind in ("ordinary", *KINDS)]
        assert all(count == counts[0] for count in counts)


@every_fit
def test_no_row_moves_scores_by_more_than_the_price_and_others_stay(cls, solver):
    first = table(cls, "plain")
    with taped() as tape:
        model = first.fit(make(cls, solver))
    count = 2 * rounds_of(model) + (2 if cls is DPPoissonRegressor else 3)
    for kind in HOSTILE:
        with taped(tape.answers) as other:
            first.with_row(ROW, table(cls, "plain", kind), 30).fit(make(cls, solver))
        for k in range(count):
            moves = [a - b for a, b in zip(tape.totals[k], other.totals[k], strict=True)]
            assert spent(tape.events[k][0], tape.parts[k], moves) <= 1.0 + 1e-9
        (here,), (there,) = tape.opened, other.opened
        assert repr(here.problem) == repr(there.problem) and here.asked == there.asked
        before, after = (one.rows.take(slice(0, len(first.X))) for one in (here, there))
        for a, b in zip(before[:2], after[:2], strict=True):
            same = np.array([x.tobytes() == z.tobytes() for x, z in zip(a, b, strict=True)])
            assert same[np.arange(len(a)) != ROW].all(), kind


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_no_row_moves_a_median_of_few_rows_or_octaves_about_it_by_more(far):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), far + rng.normal(size=600)

    def fit(targets):
        return DPLinearRegression(1.1, delta=1e-5, max_iter=2).fit(X, targets)

    with taped() as tape:
        first = 2 * rounds_of(fit(y))
    # After the rounds that center rows: a norm, a median, and octaves.
    worst = np.zeros(3)
    for target in (0.0, -1e30, 1e30, y.max(), float(np.median(y))):
        other_y = np.array(y)
        other_y[rng.integers(600)] = target
        with taped(tape.answers) as other:
            fit(other_y)
        for k in range(3):
            answer = first + k
            moves = [a - b for a, b in zip(tape.totals[answer], other.totals[answer], strict=True)]
            worst[k] = max(worst[k], spent(tape.events[answer][0], tape.parts[answer], moves))
    assert worst[0] == 0.0 and (worst[1:] > 0.2).all() and (worst <= 1.0 + 1e-9).all(), worst


def test_the_unit_of_rows_and_of_targets_does_not_matter():
    scores = []
    for scale, unit in ((1e-6, 1e-2), (1.0, 1.0), (1e7, 1e6)):
        X, y = rows(scale=scale)
        model = DPHuberRegressor(8.0, random_state=NoiseSeed(1)).fit(X, unit * y)
        scores.append(model.score(X, unit * y))
    print(scores)
    assert min(scores) > 0.9


def test_public_rows_are_mapped_like_the_others():
    X, y = rows(300)
    model = make(DPHuberRegressor, "stgd", solver_options={"holdout": "public"})
    with taped() as tape:
        model.fit(X, y, public_X=X[:30], public_y=y[:30])
    (opened,) = tape.opened
    training, public = opened.rows, opened.rows.holdout
    np.testing.assert_array_equal(public.X, training.X[:30])
    np.testing.assert_array_equal(public.y, training.y[:30])


def test_nothing_is_drawn_before_a_refusal(monkeypatch):
    X, y = rows(60)
    monkeypatch.setattr("dpsk._fit.opened_session", None)
    with pytest.raises(ValueError, match=r"^data_norm=None: n=60 rows at "):
        DPHuberRegressor(1.0, data_norm=None).fit(X, y)


def test_without_delta_every_event_is_pure():
    X, y = rows()
    model = make(DPHuberRegressor, "objective_perturbation", epsilon=3.0, delta=0.0).fit(X, y)
    events = tally(model.privacy_.event)
    assert all(isinstance(event, Pure) for event in events)
    assert sum(event.epsilon * count for event, count in events.items()) <= 3.0 * (1 + 1e-12)
    assert 200 < model.data_norm_ < 700


@pytest.mark.parametrize("far", [0.0, 1e6])
@every_bounded_regressor
def test_few_rows_are_predicted_hardly_worse_than_by_their_mean(cls, far):
    """Bounds of (-1, 1) made R2 -50 near 0, and -1e12 far from it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (150, 4))
    y = far + 20.0 + 3.0 * X[:, 0] + rng.normal(size=150)
    scores = []
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            scores.append(cls(1.0, random_state=NoiseSeed(seed)).fit(X, y).score(X, y))
    # Far from `lowest`, counts are predicted anywhere within a narrow part of the window.
    assert np.median(scores) > (-5.0 if cls is DPPoissonRegressor and far else -1.0), scores
