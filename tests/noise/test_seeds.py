"""A NoiseSeed keys all that is random in a fit, an int its public draws, None nothing."""

import copy
import pickle
import pprint

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpsk.testing
from dpsk import _fit
from dpsk._privacy.noise.seeds import check_random_state, noise_seed, public_seed
from dpsk._privacy.noise.streams import EntropyStream, KeyedStream
from dpsk.testing import NoiseSeed
from tests.registry import (
    coefficients,
    every_estimator,
    every_fit,
    every_row_estimator,
    is_linear,
    make_estimator,
    training_rows,
)


@pytest.mark.parametrize("seed", [0, 7, 2**31, 2**64 + 1, 2**700])
def test_a_seed_is_a_value(seed):
    key = NoiseSeed(seed)
    for same in (NoiseSeed(seed), copy.copy(key), copy.deepcopy(key), clone(key, safe=False),
                 pickle.loads(pickle.dumps(key)), eval(repr(key))):
        assert same == key and hash(same) == hash(key) and type(same) is NoiseSeed
        assert same.seed == seed
    assert key != NoiseSeed(seed + 1) and key != seed and key is not None
    with pytest.raises(AttributeError):
        key.seed = 1


def test_integers_of_numpy_are_ints():
    assert repr(NoiseSeed(np.int64(3))) == "NoiseSeed(3)"
    assert type(NoiseSeed(np.uint8(3)).seed) is int


@pytest.mark.parametrize("seed", [-1, 1.0, "0", None, True, np.True_, [0], NoiseSeed(0)])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"^seed=.*: must be an int >= 0"):
        NoiseSeed(seed)


def test_print_warns_and_repr_is_short():
    key = NoiseSeed(0)
    assert repr(key) == pprint.pformat(key) == "NoiseSeed(0)"
    assert str(key) == f"{key}" == "NoiseSeed(0): not private for anyone who knows the seed"


def test_the_public_module_offers_it_documented():
    assert dpsk.testing.__all__ == ["NoiseSeed"] and ">>> " in NoiseSeed.__doc__


@every_row_estimator
def test_estimators_carry_a_seed_through_copies_and_print_it(cls):
    key = NoiseSeed(5)
    model = cls(random_state=key)
    assert repr(model) == f"{cls.__name__}(random_state=NoiseSeed(5))"
    assert "NoiseSeed(5)" in model._repr_html_()
    model.fit(*training_rows(model))
    for copied in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)),
                   clone(make_pipeline(FunctionTransformer(), model))[-1]):
        assert copied.random_state == key
    assert model.get_params()["random_state"] is key


def test_what_is_keyed():
    key = NoiseSeed(4)
    assert noise_seed(None) is noise_seed(4) is noise_seed(np.int64(4)) is None
    assert public_seed(None) is None and public_seed(4) == public_seed(np.int64(4)) == key
    assert noise_seed(key) is public_seed(key) is key
    for value in (None, 4, np.int64(4), key):
        assert check_random_state(value) is value


@pytest.fixture
def streams(monkeypatch):
    """Return a list of (stream, words drawn from it), filled as fits open streams."""
    opened, open_stream = [], _fit.open_stream

    def recording(seed, context):
        stream, drawn = open_stream(seed, context), []
        words = stream.words

        def spied(count):
            drawn.append(words(count))
            return drawn[-1]

        stream.words = spied
        opened.append((stream, drawn))
        return stream

    monkeypatch.setattr(_fit, "open_stream", recording)
    return opened


@pytest.mark.covering(most=12)
@every_fit
def test_an_int_keys_the_public_draws_and_nothing_else(cls, solver, streams):
    """Nothing of rows, batches or splits is drawn from the stream that may be published."""
    model = make_estimator(cls, solver, random_state=4)
    public = []
    for n, seed in ((80, 0), (80, 1), (160, 0)):
        model.fit(*training_rows(model, n=n, seed=seed))
        (apart, drawn), (secret, noise) = streams
        assert isinstance(apart, KeyedStream) and isinstance(secret, EntropyStream)
        assert sum(map(len, noise)) > 0
        public.append(np.concatenate([np.empty(0, np.uint64), *drawn]))
        streams.clear()
    np.testing.assert_array_equal(public[0], public[1])
    # The rare tails of a start's normals take another word.
    assert len(public[2]) == pytest.approx(len(public[0]), rel=0.1)
    if is_linear(cls):
        assert len(public[0]) <= 1


@pytest.mark.covering(most=12)
@every_fit
def test_none_keys_nothing_and_a_noise_seed_everything(cls, solver, streams):
    for random_state, kind in ((None, EntropyStream), (NoiseSeed(4), KeyedStream)):
        model = make_estimator(cls, solver, random_state=random_state)
        model.fit(*training_rows(model))
        assert [type(stream) for stream, _ in streams] == [kind, kind]
        assert model.privacy_.reproducible is (kind is KeyedStream)
        streams.clear()


@every_estimator
def test_an_int_repeats_no_coefficient(cls):
    model = cls(random_state=4)
    X, y = training_rows(model)
    once, again = coefficients(model.fit(X, y)), coefficients(model.fit(X, y))
    # A lasso has zeros; two weights in single precision may agree by chance, one of a million.
    assert np.mean((once == again) & (once != 0)) < (1e-9 if is_linear(cls) else 0.01)
    assert not np.array_equal(once, again)
