"""No two fits share a stream, unless seed, data and parameters are all the same."""

import hashlib
import secrets
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse, stats

from dpsk._data.chunked import ChunkedRows, HeldChunks
from dpsk._data.content import table_digest
from dpsk._data.parted import Threads, in_places
from dpsk._data.source import Rows
from dpsk._privacy.noise.streams import EntropyStream, KeyedStream, open_stream
from dpsk.testing import NoiseSeed
from tests.noise.levels import LEVEL, binomial_fits
from tests.registry import (
    SETS,
    coefficients,
    every_fit,
    is_linear,
    make_estimator,
    training_rows,
)


def _words(seed, *context):
    return tuple(open_stream(NoiseSeed(seed), lambda: context).words(4).tolist())


def test_the_same_seed_and_context_repeat():
    assert _words(3, b"a", b"b") == _words(3, b"a", b"b")


def test_seeds_and_contexts_give_different_streams():
    streams = [_words(0, b"ab", b"c"), _words(1, b"ab", b"c"), _words(0, b"a", b"bc"),
               _words(0, b"abc"), _words(0, b"ab", b"c", b""), _words(0), _words(10),
               _words(1, b"0ab", b"c"), _words(2**64), _words(2**64 + 1), _words(2**640)]
    assert len(set(streams)) == len(streams)


def test_a_keyed_stream_goes_on_and_does_not_repeat():
    stream = KeyedStream(b"k" * 16)
    first, second = stream.words(1000), stream.words(1000)
    assert len(np.unique(np.concatenate([first, second]))) == 2000
    np.testing.assert_array_equal(KeyedStream(b"k" * 16).words(2000),
                                  np.concatenate([first, second]))


_KEY = bytes(range(7, 23))


def _flipped(key, bit):
    return (int.from_bytes(key, "little") ^ 1 << bit).to_bytes(len(key), "little")


def test_every_bit_of_the_key_matters():
    """A stream keyed by fewer bits repeats itself for some pair."""
    keys = [_KEY, *(_flipped(_KEY, bit) for bit in range(128))]
    keys += [_flipped(_flipped(_KEY, bit), (bit + 64) % 128) for bit in range(64)]
    assert len({tuple(KeyedStream(key).words(2).tolist()) for key in keys}) == len(keys)


def test_words_of_keys_that_differ_in_one_bit_are_unrelated():
    """Words differ in half of their bits; correct ones are rejected below twice `LEVEL`."""
    key, count = secrets.token_bytes(16), 512
    words = KeyedStream(key).words(count)
    differing = np.array([_distance(words, KeyedStream(_flipped(key, bit)).words(count))
                          for bit in range(128)])
    trials = 64 * count
    assert binomial_fits(int(differing.sum()), 128 * trials, 0.5)
    extreme = stats.binom(trials, 0.5).isf(LEVEL / 2 / 128)
    assert np.abs(differing - trials / 2).max() <= extreme - trials / 2


def _distance(words, others):
    return int(np.unpackbits((words ^ others).view(np.uint8)).sum())


def test_a_seed_gives_the_first_128_bits_of_its_hash_as_key():
    # HMAC by its definition: a longer or shorter key, or a digest cut, gives other words.
    context, seed = (b"method", b"rows"), 2**70 + 12345
    message = b"".join(len(part).to_bytes(8, "little") + part for part in context)
    padded = str(seed).encode().ljust(64, b"\0")
    inner = hashlib.sha256(bytes(c ^ 0x36 for c in padded) + message).digest()
    digest = hashlib.sha256(bytes(c ^ 0x5C for c in padded) + inner).digest()
    expected = np.random.Philox(key=int.from_bytes(digest[:16], "little")).random_raw(4)
    assert _words(seed, *context) == tuple(expected.tolist())


def test_every_bit_of_the_seed_matters():
    seed = 0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0
    seeds = [seed, *(seed ^ 1 << bit for bit in range(200))]
    assert len({_words(value, b"rows") for value in seeds}) == len(seeds)
    assert _words(np.int64(5), b"rows") == _words(5, b"rows")


def test_every_bit_of_the_context_matters():
    context = hashlib.sha256(b"rows").digest()
    contexts = [context, *(_flipped(context, bit) for bit in range(256))]
    assert len({_words(3, b"method", part) for part in contexts}) == len(contexts)


def test_the_entropy_stream_never_repeats_and_never_reads_the_context():
    def fail():
        raise AssertionError("the context was read")

    words = [open_stream(None, fail).words(1000) for _ in range(4)]
    assert len(np.unique(np.concatenate(words))) == 4000
    assert all(word.dtype == np.uint64 for word in words)


_SAME_NUMBER = """
import ctypes, os, sys
from dpsk._privacy.noise.streams import EntropyStream

def apart():
    if ctypes.CDLL(None).unshare(0x20000000 | (0x10000000 if os.getuid() else 0)):
        sys.exit(77)

apart()
if os.fork() == 0:
    EntropyStream().words(1)
    apart()
    inner = os.fork()
    if inner:
        os.waitpid(inner, 0)
    print(os.getpid(), *EntropyStream().words(4), flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="process namespaces are Linux's")
def test_a_process_and_its_child_of_the_same_number_draw_other_words():
    run = subprocess.run([sys.executable, "-c", _SAME_NUMBER], capture_output=True, text=True,
                         check=False)
    if run.returncode == 77:
        pytest.skip("no permission to open a process namespace")
    words = [line.split() for line in run.stdout.splitlines()]
    assert [line[0] for line in words] == ["1", "1"], run.stderr
    assert len({word for line in words for word in line[1:]}) == 8


def test_a_stream_says_whether_it_can_be_repeated():
    assert isinstance(open_stream(None, list), EntropyStream)
    assert not open_stream(None, list).reproducible
    keyed = open_stream(NoiseSeed(0), list)
    assert keyed.reproducible and "not private" in keyed.description


def digest(X, y=None, weights=None):
    """Return the digest of a table, whose targets are 0 where there are none."""
    y = np.zeros(X.shape[0]) if y is None else y
    return table_digest(Rows(X, y, weights))


def test_the_digest_sees_content_and_not_storage():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    same = [X.copy(), np.asfortranarray(X), np.where(X == 0, -0.0, X),
            np.repeat(X, 2, axis=0)[::2], np.hstack([X, X])[:, :4]]
    assert {digest(array) for array in same} == {digest(X)}
    moved = X.copy()
    moved[0] = np.roll(moved[0], 1)
    touched = X.copy()
    touched[29, 3] = np.nextafter(touched[29, 3], 9)
    few = [np.array([[5.0, 0, 0]]), np.array([[0, 5.0, 0]]), np.array([[5.0], [0], [0]])]
    other = [*few, X, X[::-1], X.T, X.reshape(60, 2), X[:29], moved, touched, -X,
             X[[1, 0, *range(2, 30)]]]
    assert len({digest(array) for array in other}) == len(other)


def test_the_digest_sees_targets_and_weights():
    X, y = np.ones((5, 2)), np.arange(5.0)
    ones, halves = np.ones(5), np.r_[0.5, np.ones(4)]
    assert digest(X, y) == digest(X, y.astype(np.int8)) == digest(X, y, ones)
    found = {digest(X, y), digest(X, y[::-1]), digest(X, -y), digest(X, y, halves),
             digest(X, y, halves[::-1]), digest(X, np.column_stack([y, y]))}
    assert len(found) == 6


def test_the_digest_of_many_rows_does_not_depend_on_the_block():
    X = np.random.default_rng(1).normal(size=(10_000, 2))
    assert digest(X) == digest(X.copy(order="F"))
    changed = X.copy()
    changed[9_999, 1] += 1e-9
    assert digest(X) != digest(changed)


@pytest.mark.parametrize("cuts", [[], [1], [4096], [17, 17, 900], range(1, 1000)])
def test_the_digest_does_not_depend_on_chunks_and_places(cuts):
    rng = np.random.default_rng(3)
    X, y, weights = rng.normal(size=(5000, 3)), rng.normal(size=5000), rng.random(5000)
    parts = np.split(X, list(cuts))
    sizes = tuple(map(len, parts))
    chunked = ChunkedRows(HeldChunks(parts), sizes, 3, X.dtype, False, y, weights)
    assert table_digest(chunked) == digest(X, y, weights)
    # Two places have every other chunk.
    starts, places = np.cumsum([0, *sizes[:-1]]), []
    for first in range(min(2, len(parts))):
        own = slice(first, None, 2)
        where = np.concatenate([np.arange(start, start + size) for start, size in
                                zip(starts[own], sizes[own], strict=True)]).astype(int)
        places.append(ChunkedRows(HeldChunks(parts[own]), sizes[own], 3, X.dtype, False,
                                  y[where], weights[where], offsets=tuple(starts[own].tolist())))
    parted = in_places(Threads(2), places)
    assert table_digest(parted) == digest(X, y, weights)


def test_the_digest_sees_no_container():
    X = np.random.default_rng(2).normal(size=(5000, 3))
    X[X < 0.3] = 0.0
    X[-1] = [0.0, 1.0, 0.0]
    rows = sparse.csr_matrix(X)
    explicit = sparse.csr_matrix((np.r_[rows.data, 0.0], np.r_[rows.indices, 0],
                                  np.r_[rows.indptr[:-1], rows.nnz + 1]), shape=X.shape)
    assert digest(rows) == digest(X)
    explicit.sort_indices()
    assert explicit.nnz == rows.nnz + 1 and digest(explicit) == digest(X)
    rows.data[7] = np.nextafter(rows.data[7], 9)
    assert digest(rows) != digest(X)


@pytest.mark.covering(most=12)
@every_fit
def test_a_seed_repeats_a_fit_and_its_noise_is_not_that_of_any_other_fit(cls, solver):
    model = make_estimator(cls, solver, random_state=NoiseSeed(0))
    X, y = training_rows(model)
    coef = coefficients(model.fit(X, y))
    np.testing.assert_array_equal(coefficients(model.fit(X, y)), coef)

    moved = X.copy()
    # Networks see rows in single precision, whatever they come in.
    moved[0] *= 1 + (1e-12 if is_linear(cls) else 1e-6)
    def build(**params):
        return make_estimator(cls, solver, **{"random_state": NoiseSeed(0), **params})

    others = [build(random_state=NoiseSeed(1)).fit(X, y), build(epsilon=1 + 1e-9).fit(X, y),
              build().fit(moved, y),
              *([] if getattr(model, "penalty", None) in SETS else
                [build(alpha=model.alpha + 1e-12).fit(X, y)]),
              *([build().fit(X.astype(np.float32), y)] if is_linear(cls) else []),
              build().fit(X, y, sample_weight=np.r_[1 + 1e-12, np.ones(len(X) - 1)])]
    for other in others:
        # The change is far too small to matter; what differs is the noise.
        assert np.abs(coefficients(other) - coef).max() > 1e-6


@pytest.mark.covering
@every_fit
@pytest.mark.parametrize("random_state", [None, 0, NoiseSeed(0)])
def test_no_stream_seed_or_key_is_left_on_the_estimator(cls, solver, random_state):
    model = make_estimator(cls, solver, random_state=random_state)
    before = set(vars(model))
    model.fit(*training_rows(model))
    left = set(vars(model)) - before
    assert left <= {"coef_", "intercept_", "offset_", "preconditioner_", "center_", "temperature_",
                    "classes_", "n_iter_", "n_features_in_", "privacy_", "coefs_", "intercepts_",
                    "n_layers_", "n_outputs_", "out_activation_", "scale_", "positive_ratio_",
                    "groups_", "group_weights_", "data_norm_", "target_bounds_", "_row_map",
                    "group_shares_", "linear_coef_", "_is_cut", "preconditioner_scales_",
                    "feature_scales_", "score_curvature_", "_noise_facts", "_fitted_names"}
