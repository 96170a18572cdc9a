"""Sums over rows of whole groups: what a group adds is bounded as one row is, of any size."""

import numpy as np
import pytest

from dpsk._data import groups as module
from dpsk._data.groups import Groups, groups_of
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import MLP, LinearModel, WhitenedModel
from dpsk._objective.losses import Multinomial, Squared
from dpsk._privacy.events import Gaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._statistics.moments import noisy_mean, noisy_second_moment
from dpsk._sums.group_sums import GroupSums
from dpsk._sums.linear_sums import float_sums
from dpsk._sums.network_sums import NetworkSums
from dpsk.testing import NoiseSeed
from tests.contracts.columns import spread
from tests.instruments import ranked
from tests.loops import in_a_row
from tests.registry import every_loss, make_loss, make_model, make_raw, make_targets

_CLIP = 0.2
#: Of what a group adds, beside the same of its rows.
_GROUP_CLIP = 0.07
_MAP = np.array([[1.0, 0.25, 0.0, 0.0], [0.25, 2.0, 0.0, 0.5],
                 [0.0, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 1.0]])


def _plain(model, loss, rows, clip):
    return GroupSums(model, loss, rows, _CLIP, clip)


def _whitened(model, loss, rows, clip):
    return GroupSums(WhitenedModel.of(model, _MAP), loss, rows, _CLIP, clip)


KINDS = {"plain": _plain, "whitened": _whitened}
every_kind = in_a_row("kind", sorted(KINDS))


def table(name, sizes, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    return (scale * rng.normal(size=(n, 3)), make_targets(name, n, rng), rng.exponential(size=n),
            np.repeat(np.arange(len(sizes)), sizes))


def rows_of(X, y, weights, labels):
    return Rows(X, y, weights, 2.0, groups=ranked(labels))


def sums_of(kind, name, rows, clip=np.inf):
    with np.errstate(all="ignore"):
        return KINDS[kind](make_model(name, 3), make_loss(name), rows, clip)


def row_sums_of(kind, name, rows):
    model = make_model(name, 3)
    model = WhitenedModel.of(model, _MAP) if kind == "whitened" else model
    with np.errstate(all="ignore"):
        return float_sums(model, make_loss(name), rows, _CLIP)


def gradient(sums, theta, units=None):
    with np.errstate(all="ignore"):
        return sums.gradient(theta, units)


@every_loss
@every_kind
@in_a_row("clip", [np.inf, _GROUP_CLIP])
def test_a_group_adds_the_clipped_average_of_its_rows_clipped_gradients(name, kind, clip):
    X, y, weights, labels = table(name, [1, 4, 7, 12])
    sums = sums_of(kind, name, rows_of(X, y, weights, labels), clip)
    theta = make_raw(name, 4, np.random.default_rng(1))
    expected = np.zeros(sums.model.shape)
    for group in range(4):
        members = np.flatnonzero(labels == group)
        average = sum(gradient(row_sums_of(kind, name, Rows(
            X[i:i + 1], y[i:i + 1], weights[i:i + 1], 2.0)), theta) for i in members)
        average /= len(members)
        expected += average * min(1.0, clip / np.linalg.norm(average))
    np.testing.assert_allclose(gradient(sums, theta), expected, rtol=0, atol=1e-6)
    assert sums.n_samples == 4 and sums.clip_norm == min(clip, _CLIP)


def hostile(name, length, seed):
    """Return rows that want to move a sum as far as they can, all of them the same way."""
    rng = np.random.default_rng(seed)
    row = rng.choice([-1.0, 1.0], size=3) * rng.choice([1e-150, 1e-3, 1.0, 1e9, 1e200])
    y = np.repeat(make_targets(name, 1, rng), length)
    return np.tile(row, (length, 1)), y, np.full(length, rng.choice([1e-300, 1.0, 1e300]))


@pytest.mark.covering(most=4)
@every_loss
@every_kind
@in_a_row("clip", [_CLIP, _GROUP_CLIP])
def test_no_group_moves_a_sum_by_more_than_twice_the_clip_norm(name, kind, clip):
    X, y, weights, labels = table(name, [2, 3, 6])
    theta = make_raw(name, 4, np.random.default_rng(2), 0.5)
    others = labels > 0
    longest = 0.0
    for seed in range(8):
        at, found = theta * (1.0, 100.0)[seed % 2], []
        for length, more in ((1, 0), (3, 100), (513, 200)):
            own = hostile(name, length, seed + more)
            parts = [np.concatenate([a, b[others]]) for a, b in zip(own, (X, y, weights),
                                                                    strict=True)]
            member = np.concatenate([np.zeros(length, int), labels[others]])
            sums = sums_of(kind, name, rows_of(*parts, member), clip)
            found.append(gradient(sums, at))
            assert np.linalg.norm(gradient(sums, at, np.array([0]))) <= clip
        longest = max(longest, *(np.linalg.norm(a - b) for a in found for b in found))
    assert 0.5 * clip < longest <= 2 * clip * (1 + 1e-12)


def test_units_that_are_drawn_are_whole_groups():
    labels = np.array([2, 0, 1, 0, 2, 2])
    groups = Groups.of(labels)
    assert sorted(groups.rows_of(np.array([2, 0]))) == [0, 1, 3, 4, 5]
    assert len(groups.rows_of(np.array([], dtype=int))) == 0
    assert [list(part) for part in groups.members()] == [[1, 3], [2], [0, 4, 5]]
    rows = Rows(np.arange(6.0)[:, None], np.zeros(6), groups=groups)
    (part,) = rows.parts(10, np.array([1, 0]))
    np.testing.assert_array_equal(rows.take(part).weights, [1.0, 0.5, 0.5])
    with pytest.raises(NotImplementedError, match="without the others"):
        rows.subset(np.array([0]))


def test_rows_of_a_group_keep_their_order():
    labels = np.random.default_rng(0).integers(50, size=700)
    np.testing.assert_array_equal(Groups.of(labels).order, np.argsort(labels, kind="stable"))


def test_rounding_is_priced_by_the_number_of_groups():
    few, many = (sums_of("plain", "logistic", rows_of(*table("logistic", [size] * 5)))
                 for size in (2, 200))
    ungrouped = row_sums_of("plain", "logistic", Rows(*table("logistic", [2] * 5)[:3], 2.0))
    assert few.rounding_terms(5) == many.rounding_terms(5) == ungrouped.rounding_terms(5) == 5


def networks(X, y, labels):
    groups = None if labels is None else ranked(labels)
    return NetworkSums(MLP(3, (18, 4), 3, "tanh"), Multinomial(),
                       Rows(X.astype(np.float32), y, groups=groups), _CLIP)


def network_table(sizes, seed=0):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    return (rng.normal(size=(n, 3)), rng.integers(3, size=n), np.repeat(
        np.arange(len(sizes)), sizes), rng.normal(size=MLP(3, (18, 4), 3, "tanh").shape))


def test_a_group_of_a_network_adds_the_average_of_its_rows():
    X, y, labels, theta = network_table([1, 40, 2, 3, *[2] * 60])
    expected = sum(networks(X[i:i + 1], y[i:i + 1], None).gradient(theta)
                   / np.sum(labels == labels[i]) for i in range(len(X)))
    whole = networks(X, y, labels).gradient(theta)
    np.testing.assert_allclose(whole, expected, atol=1e-4)
    chosen = np.array([63, 1, 2])
    kept = np.isin(labels, chosen)
    np.testing.assert_allclose(networks(X, y, labels).gradient(theta, chosen), networks(
        X[kept], y[kept], labels[kept]).gradient(theta), atol=1e-5)


@pytest.mark.parametrize("length", [1, 40, 2000])
def test_no_group_moves_a_sum_of_a_network_by_more_than_twice_the_clip_norm(length):
    X, y, labels, theta = network_table([3] * 100)
    rest = networks(X, y, labels).gradient(theta, np.arange(1, 100))
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        row = rng.normal(size=3) * rng.choice([1e-20, 1.0, 1e6])
        own = np.tile(row, (length, 1)), np.full(length, rng.integers(3)), np.zeros(length, int)
        parts = [np.concatenate([a, b[3:]]) for a, b in zip(own, (X, y, labels), strict=True)]
        found.append(networks(*parts).gradient(theta))
        assert np.linalg.norm(found[-1] - rest) <= _CLIP
    assert max(np.linalg.norm(a - b) for a in found for b in found) > 0.3 * _CLIP


@pytest.fixture
def noiseless(monkeypatch):
    for name in ("symmetric_normal", "standard_normal"):
        monkeypatch.setattr(samplers, name, lambda stream, shape: np.zeros(shape))


def moment(X, labels, mu=0.5, places=1):
    session = Session(KeyedStream(bytes(16)), Ledger(Gaussian(mu)))
    rows = Rows(X, np.zeros(len(X)), groups=ranked(labels))
    rows = rows if places == 1 else spread(rows, places)
    with np.errstate(all="ignore"):
        return noisy_second_moment(LinearModel(2, None, True, 1.0), rows, mu, session)


def test_moments_are_averages_of_groups_and_no_group_moves_them_further_than_a_row(noiseless):
    X, labels = np.random.default_rng(0).normal(size=(40, 2)), np.repeat(np.arange(8), 5)
    short = np.column_stack([X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], np.ones(40)])
    np.testing.assert_allclose(moment(X, labels), short.T @ short / 40, atol=1e-4)
    order = np.random.default_rng(1).permutation(40)
    np.testing.assert_array_equal(moment(X[order], labels[order]), moment(X, labels))
    found = []
    for length, angle in ((1, 0.0), (77, np.arccos(-0.25)), (500, 1.0)):
        own = np.tile(1e9 * np.array([np.cos(angle), np.sin(angle)]), (length, 1))
        total = 8 * moment(np.concatenate([own, X[5:]]),
                           np.concatenate([np.zeros(length), labels[5:]]))
        total[-1] *= 0.5
        total[:, -1] *= 0.5
        found.append(total)
    furthest = max(np.linalg.norm(a - b) for a in found for b in found)
    assert 1.2 < furthest <= np.sqrt(2) * 1.25


@pytest.mark.parametrize("places", [2, 3, 7])
def test_a_group_is_one_in_whatever_places_its_rows_are(noiseless, places):
    """Each of its rows weighs by how many there are in all, and not beside it."""
    X, labels = np.random.default_rng(0).normal(size=(40, 2)), np.repeat(np.arange(4), 10)
    np.testing.assert_allclose(moment(X, labels, places=places), moment(X, labels), atol=1e-6)
    whole = Rows(X, np.zeros(40), groups=ranked(labels))
    found = [noisy_mean(LinearModel(2, None, False, 1.0), rows, 0.5, Session(
        KeyedStream(bytes(16)), Ledger(Gaussian(0.5))))[0]
        for rows in (whole, spread(whole, places))]
    np.testing.assert_allclose(*found, atol=1e-6)


def test_means_are_those_of_groups(noiseless):
    session = Session(KeyedStream(bytes(16)), Ledger(Gaussian(0.5)))
    X = np.repeat([[0.5, 0.0], [0.0, 5.0]], [3, 1], axis=0)
    rows = Rows(X, np.zeros(4), groups=ranked([7, 7, 7, 1]))
    mean, std = noisy_mean(LinearModel(2, None, False, 1.0), rows, 0.5, session)
    np.testing.assert_allclose(mean, [0.25, 0.5], atol=1e-4)
    assert std == 2.0 / 0.5 / 2


@pytest.mark.parametrize("labels, message", [
    ([1.0, np.nan, 2.0], "NaN"), ([1, 1, 1], "one group alone"), ([1, 2], "shape"),
    ([["a"], ["b"], ["c"]], "shape"), (["a", None, "b"], "no number and no word")])
def test_labels_that_tell_nobody_apart_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        module.group_codes(labels, 3)


def test_labels_of_any_kind_tell_the_same_groups_apart_in_lists_and_arrays():
    for labels in ([1, 1.0, True, "a"], ["a", 2, "b", 2.0], [1, "1", b"1", "1"]):
        codes = module.group_codes(labels, 4)
        np.testing.assert_array_equal(codes, module.group_codes(np.array(labels, object), 4))
        same = [[one == other for other in labels] for one in labels]
        np.testing.assert_array_equal(codes[:, None] == codes, same)


@pytest.mark.parametrize("labels", [
    ["a", "b", "c"], [b"a", b"b", b"c"], [1, 2.5, 10**20], [3, "a", b"a"], [1, 2, 3]])
@pytest.mark.parametrize("random_state", [None, 0])
def test_the_index_of_a_group_follows_from_no_label_and_no_row(labels, random_state):
    """Splits and draws are by index: those of others may not follow from who is in the table."""
    found = [groups_of([labels[each] for each in (2, 1, 1, 0)], 4, random_state).codes
             for _ in range(300)]
    # A pair is missing by chance with a probability below 1e-50.
    assert {(row, index) for codes in found for row, index in enumerate(codes.tolist())} == {
        (row, index) for row in range(4) for index in range(3)}
    assert all(codes[1] == codes[2] and len(set(codes.tolist())) == 3 for codes in found)


def test_a_noise_seed_repeats_the_order_of_groups():
    labels = np.arange(50).repeat(2)
    one, again, other = (groups_of(labels, 100, NoiseSeed(seed)).codes for seed in (1, 1, 2))
    assert np.array_equal(one, again) and not np.array_equal(one, other)


@pytest.mark.parametrize("odd", [12.5, float(10**16), -1, "a", 2**70])
def test_no_label_of_a_list_merges_others(odd):
    """NumPy reads a list of whole numbers and one float as doubles, which merge long numbers."""
    labels = [2**63 + 1, *range(10**16 + 1, 10**16 + 20), odd]
    assert len(set(module.group_codes(labels, len(labels)))) == len(set(labels)) == len(labels)


@pytest.mark.parametrize("labels, error, words", [
    ([np.nan, "a", "b"], ValueError, "contains NaN"),
    (np.ma.array([1, 2, 3], mask=[False, True, False]), TypeError, "masked array")])
def test_labels_that_are_missing_are_refused_in_any_container(labels, error, words):
    with pytest.raises(error, match=words):
        module.group_codes(labels, 3)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("width, hidden, path", [
    (6, (20,), None), (6, (32,), 0.5), (50, (32, 7), None), (200, (100,), 1.0), (3, (1,), None)])
def test_how_many_rows_a_group_has_changes_nothing_of_others_in_networks(
        width, hidden, path, activation):
    """Others lie on their predictions, whose rounding has a sign that a low clip norm shows.

    In products of many rows that rounding hangs on the place of a row, with most kernels of BLAS
    and for most widths.
    """
    rng = np.random.default_rng(3)
    model, clip = MLP(width, hidden, None, activation, hidden_scale=path), 1e-7
    theta = 30.0 * rng.normal(size=model.dimension) / np.sqrt(width)
    X = rng.normal(size=(70, width)).astype(np.float32)
    labels = np.append(np.arange(1, 31), np.repeat(np.arange(31, 51), 2))
    y = model.forward(theta.astype(np.float32), X).raw.copy()

    def total(length):
        rows = Rows(np.concatenate([np.zeros((length, width), np.float32), X]),
                    np.append(np.full(length, 1e9, np.float32), y),
                    groups=ranked(np.append(np.zeros(length, int), labels)))
        return gradient(NetworkSums(model, Squared(), rows, clip), theta)

    found = [total(length) for length in (1, 2, 3, 5, 97, 482, 513)]
    # Rows of the first group are alike: so is what it adds.
    assert max(np.linalg.norm(one - found[0]) for one in found) < 0.02 * clip
