"""Noisy moments of transitions: the joint price covers every replaced unit, and no more."""

import math

import numpy as np
import pytest

from dpsk._data import blocks
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models.states import LinearValues
from dpsk._objective.saddle.projected_bellman import ProjectedBellman
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._problem import Problem
from dpsk._queries import TransitionMoments
from tests.contracts.streams import SilentStream
from tests.instruments import ranked

_KEY = bytes(range(16))
_MU = 0.5
#: The squared movement of one replaced transition, in units of the noise on C.
_PRICE = 2.0 + 2.5 + 1.25**2 / 2.0
BOX = np.array([[-1.0, 1.0], [-2.0, 2.0]])
MODELS = {"linear": LinearValues(2, BOX), "ball": LinearValues(2, None, 2.0),
          "fourier": LinearValues(2, BOX, frequencies=np.array([[1.0, 3.0, -7.0],
                                                                [0.5, 4.0, 9.0]]))}
every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture
def noiseless(monkeypatch):
    monkeypatch.setattr(samplers, "symmetric_normal", lambda stream, shape: np.zeros(shape))
    monkeypatch.setattr(samplers, "standard_normal", lambda stream, shape: np.zeros(shape))


def opened(name, states, later, rewards, alive, groups=None, clip=None, mu=_MU, stream=None):
    model = MODELS[name]
    count = len(rewards) if groups is None else len(np.unique(groups))
    problem = Problem(n_samples=count, model=model, penalty=None, epsilon=1.0, delta=1e-5,
                      loss=ProjectedBellman(0.9, model.dimension, groups is not None, False))
    declared = TransitionMoments(clip)
    z = 2.0 / mu if mu else 0.0
    ledger = Ledger(declared(z))
    rows = Rows(np.hstack([states, later]), np.column_stack([rewards, alive]),
                groups=None if groups is None else ranked(groups))
    session = Session(stream or KeyedStream(_KEY), ledger)
    return declared.run((problem, rows), session, z), ledger


def moments(*args, **kwargs):
    return opened(*args, **kwargs)[0].moments()


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.uniform(-1.2, 1.2, (n, 2)), rng.uniform(-1.2, 1.2, (n, 2)),
            rng.uniform(-1, 1, n), (rng.random(n) < 0.8).astype(float))


def in_units(sums):
    """Return the three sums as one vector in units of the noise on the first."""
    return np.concatenate([sums[0].ravel(), sums[1].ravel(), sums[2] / 2.0])


def hostile():
    """Yield transitions at every corner, far outside, and inside."""
    points = [np.array([x, y]) for x in (-1.0, 0.0, 1.0, 1e300) for y in (-2.0, 0.3, 2.0, -1e300)]
    for state in points:
        for later in (points[0], points[5], -state):
            for reward in (-1.0, 1.0):
                for alive in (0.0, 1.0):
                    yield state, later, reward, alive


@every_model
def test_the_joint_price_covers_every_replaced_transition(noiseless, name):
    states, later, rewards, alive = table(2)
    found = []
    with np.errstate(all="ignore"):
        for one in hostile():
            changed = [np.array([first, old]) for first, old in zip(
                one, (states[1], later[1], rewards[1], alive[1]), strict=True)]
            found.append(in_units(moments(name, *changed)))
    found = np.array(found)
    furthest = max(np.square(found - point).sum(axis=1).max() for point in found)
    assert 0.4 * _PRICE < furthest <= _PRICE


def test_the_joint_price_is_the_largest_over_features_of_norm_one_and_is_attained():
    rng = np.random.default_rng(0)
    worst = 0.0
    for cosine in [0.625, *rng.uniform(-1, 1, 200)]:
        f, g = np.array([1.0, 0.0]), np.array([cosine, math.sqrt(1 - cosine**2)])
        # The next features and the reward turn around where the features keep their side.
        sign = -1.0 if cosine > 0 else 1.0
        moved = (np.outer(f, f) - np.outer(g, g), np.outer(f, f) - np.outer(g, sign * f),
                 f - sign * g)
        price = np.square(in_units(moved)).sum()
        assert price <= _PRICE * (1 + 1e-12)
        worst = max(worst, price)
    assert worst == pytest.approx(_PRICE, rel=1e-9)


@every_model
@pytest.mark.parametrize("mu", [0.02, 0.5, 9.0])
def test_answers_are_the_sums_with_the_noise_of_the_joint_price(monkeypatch, name, mu):
    states, later, rewards, alive = table(300)
    oracle, ledger = opened(name, states, later, rewards, alive, mu=mu)
    noisy, std = oracle.moments(), math.sqrt(_PRICE) / mu
    assert oracle.noise_std == pytest.approx(std)
    assert ledger.spent.events == (Repeated(Gaussian(mu), 1),)
    size, same = len(noisy[2]), KeyedStream(_KEY)
    noise = [samplers.symmetric_normal(same, (size, size)),
             samplers.standard_normal(same, (size, size)), samplers.standard_normal(same, (size,))]
    now = MODELS[name].features(states)
    after = MODELS[name].features(later) * alive[:, None]
    exact = now.T @ now, now.T @ after, now.T @ rewards
    for answer, total, drawn, factor in zip(noisy, exact, noise, (1.0, 1.0, 2.0), strict=True):
        # Features and rewards are cut to units that follow the noise.
        np.testing.assert_allclose(answer, total + factor * std * drawn,
                                   atol=2e-3 + 3e-4 * std)


def test_another_noise_would_be_noticed():
    states, later, rewards, alive = table(50)
    answers = [moments("linear", states, later, rewards, alive, mu=1.0,
                       stream=KeyedStream(bytes([i]) * 16))[1].ravel() for i in range(150)]
    spread = np.std(answers, axis=0)
    # 150 draws of 9 numbers: the pooled deviation is off by 10 % with probability 1e-12.
    assert np.sqrt(np.mean(spread**2)) == pytest.approx(math.sqrt(_PRICE), rel=0.1)


@every_model
@pytest.mark.parametrize("grouped", [False, True])
def test_sums_are_the_same_bits_in_any_order_and_block(noiseless, monkeypatch, name, grouped):
    parts = table(501)
    groups = np.arange(501) // 7 if grouped else None
    clip = 3.0 if grouped else None
    # The transitions of a group keep their order.
    order = np.random.default_rng(1).permutation(501)
    if grouped:
        order = order[np.argsort(groups[order], kind="stable")]
        order = np.concatenate([np.sort(order[groups[order] == group])
                                for group in np.random.default_rng(2).permutation(72)])
    whole = moments(name, *parts, groups, clip)
    permuted = moments(name, *(part[order] for part in parts),
                       groups[order] if grouped else None, clip)
    monkeypatch.setattr(blocks, "_ENTRIES", 70)
    for other in (permuted, moments(name, *parts, groups, clip)):
        for one, two in zip(whole, other, strict=True):
            np.testing.assert_array_equal(one, two)


@every_model
@pytest.mark.parametrize("clip", [0.3, 5.0])
def test_a_group_moves_the_sums_by_its_clip(noiseless, name, clip):
    fixed = table(5, seed=3)
    most = 2.0 * clip * 1.5

    def with_group(length, seed):
        rng = np.random.default_rng(seed)
        corner = rng.choice([-1.0, 1.0], size=2) * [1.0, 2.0]
        own = (np.tile(corner, (length, 1)), np.tile(-corner, (length, 1)),
               np.full(length, rng.choice([-1.0, 1.0])), np.ones(length))
        both = [np.concatenate([a, b]) for a, b in zip(own, fixed, strict=True)]
        groups = np.concatenate([np.zeros(length), np.full(5, 1)])
        return in_units(moments(name, *both, groups, clip))

    found = np.array([with_group(length, seed) for length in (1, 3, 40, 900)
                      for seed in range(6)])
    furthest = np.sqrt(max(np.square(found - point).sum(axis=1).max() for point in found))
    assert 0.3 * most < furthest <= most


@every_model
@pytest.mark.parametrize("clip", [0.3, 5.0])
def test_all_that_a_group_adds_is_no_longer_than_its_clip(noiseless, name, clip):
    """Rewards count as products of features do: what it adds is there once more with a twin."""
    longest, fixed = 0.0, table(5, seed=3)
    for corner in ([1.0, 2.0], [-1.0, 0.5], [0.0, 0.0], [1e-3, -1e-3]):
        for later, reward, alive in ((1.0, 1.0, 0.0), (-1.0, -1.0, 1.0), (1.0, 1.0, 1.0)):
            own = (np.tile(corner, (40, 1)), later * np.tile(corner, (40, 1)),
                   np.full(40, reward), np.full(40, alive))
            sums = []
            for twins in (1, 2):
                both = [np.concatenate([*[a] * twins, b]) for a, b in zip(own, fixed, strict=True)]
                groups = np.append(np.repeat(np.arange(twins), 40), np.full(5, twins))
                sums.append(in_units(moments(name, *both, groups, clip)))
            longest = max(longest, np.linalg.norm(sums[1] - sums[0]))
    assert 0.999 * 1.5 * clip < longest <= 1.5 * clip * (1.0 + 1e-6)


def test_short_groups_enter_whole(noiseless):
    parts, groups = table(30), np.arange(30) // 3
    whole = moments("fourier", *parts)
    for one, two in zip(whole, moments("fourier", *parts, groups, 100.0), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-3)


def test_without_noise_nothing_is_cut():
    states, later, rewards, alive = table(40)
    now = MODELS["fourier"].features(states)
    both, _, rewarded = moments("fourier", states, later, rewards, alive, mu=0.0)
    np.testing.assert_allclose(both, now.T @ now, rtol=1e-13)
    np.testing.assert_allclose(rewarded, now.T @ rewards, rtol=1e-12)


def test_nothing_is_drawn_before_the_ledger_has_agreed_and_it_agrees_once():
    oracle, _ = opened("linear", *table(3), stream=SilentStream(_KEY))
    oracle._event = Gaussian(9.0)
    with pytest.raises(RuntimeError, match="plan"):
        oracle.moments()
    oracle, _ = opened("linear", *table(3))
    oracle.moments()
    oracle._session._stream = SilentStream(_KEY)
    with pytest.raises(RuntimeError, match="plan"):
        oracle.moments()


@every_model
def test_features_are_never_longer_than_one(name):
    rng = np.random.default_rng(0)
    states = np.vstack([rng.normal(size=(1000, 2)) * 10.0**rng.integers(-300, 300, (1000, 1)),
                        np.zeros((1, 2)), [[1e308, -1e308]]])
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(MODELS[name].features(states), axis=1)
    assert np.isfinite(norms).all() and norms.max() <= 1.0
    if name == "fourier":
        assert norms.min() > 1.0 - 1e-6
