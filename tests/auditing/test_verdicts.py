"""An audit ends with what it has shown and what it could have, or says that it saw nothing."""

import json
import mmap
import random
import time
import zlib

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder

from dpsk import DPLogisticRegression
from dpsk.auditing import audit
from tests.auditing.leaks import LEAKS, Leaky
from tests.auditing.makes import MADE
from tests.auditing.views import VIEWS
from tests.audits.faults import NoisyTotal

#: So rarely is a claim refuted that holds, where a test of every run says that it is not.
SURE = 1e-7
_ALL = LEAKS | VIEWS | MADE


@pytest.mark.covering(most=7)
@pytest.mark.parametrize("place", _ALL)
def test_a_row_is_found_wherever_it_is_kept(place):
    """Each is published without noise, and is missed with probability below 1e-7."""
    found = audit(_ALL[place], claim=(1.0, 1e-6), runs=40)
    assert found.verdict == "refuted" and found.power is None, found


@pytest.mark.thorough
def test_noise_alone_is_not_refuted():
    """False-alarm rate at most 1e-7."""
    found = audit(Leaky(), runs=200, level=SURE)
    assert found.verdict == "not refuted"


def _noise_in_texts(model, entry, X):
    drawn = np.random.default_rng()
    model.bytes_ = drawn.normal(size=9).tobytes()
    model.text_ = f"weight={drawn.normal():+.6f}\ncount={drawn.integers(1000)}"
    model.count_, model.counts_ = int(drawn.integers(2**40)), drawn.integers(0, 99, size=300)
    model.names_ = [f"column {each}" for each in drawn.integers(9, size=5)]


@pytest.mark.audit
def test_noise_in_texts_bytes_and_digits_is_not_refuted():
    """False-alarm rate at most 1e-7."""
    assert audit(Leaky(_noise_in_texts), runs=200, level=SURE).verdict == "not refuted"


@pytest.mark.thorough
def test_noisy_text_alone_is_tested():
    """False-alarm rate at most 1e-7."""
    found = audit(NoisyText(), runs=200, level=SURE, neighbors=_PAIR)
    assert found.verdict == "not refuted" and found.evidence


@pytest.mark.audit
def test_what_is_read_in_part_is_named():
    """False-alarm rate at most 1e-7."""
    found = audit(Leaky(_much_noise), runs=40, level=SURE, neighbors=_PAIR)
    assert not found.refuted and found.partial == ("much_",)
    assert "read of much_" in str(found) and found.to_dict()["partial"] == ["much_"]


def _map_of(noise):
    found = mmap.mmap(-1, 4096)
    found.write(noise.tobytes()[:4096])
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name, hidden", {
    "long text": ("much_", lambda noise: " ".join(map(str, noise))),
    "compressed": ("much_", lambda noise: zlib.compress(noise[:20].tobytes())),
    "map of memory": ("much_.content", _map_of)}.items())
def test_what_does_not_show_all_that_it_holds_is_named(name, hidden):
    """False-alarm rate at most 1e-7."""
    named, make = hidden

    def leak(model, entry, X):
        model.much_ = make(np.random.default_rng().normal(size=600))

    found = audit(Leaky(leak), runs=40, level=SURE, neighbors=_PAIR)
    assert not found.refuted and found.partial == (named,)


def test_what_a_part_of_a_column_keeps_of_the_whole_is_named():
    """False-alarm rate at most 1e-7."""
    arrow = pytest.importorskip("pyarrow", reason="texts of pandas are columns of Arrow")

    def leak(model, entry, X):
        texts = pd.Series(["none", f"{entry:.3g}"], dtype=pd.ArrowDtype(arrow.string()))
        model.example_ = texts.iloc[:1]

    found = audit(Leaky(leak), runs=40, level=SURE, neighbors=_PAIR)
    assert not found.refuted and "example_.buffers of array" in found.partial


def _much_noise(model, entry, X):
    model.much_ = np.random.default_rng().normal(size=600_000).astype(np.float32)


@pytest.mark.thorough
def test_more_objects_than_are_opened_are_named_and_hide_no_attribute(monkeypatch):
    """False-alarm rate at most 1e-7."""
    monkeypatch.setattr("dpsk.auditing._leaves._NODES", 60)

    def many(model, entry, X):
        model.__dict__ = {"many_": [{"number": i} for i in range(90)], **vars(model)}

    def many_and_the_row(model, entry, X):
        many(model, entry, X)
        model.row_ = X[0]

    found = audit(Leaky(many), runs=40, level=SURE, neighbors=_PAIR)
    assert not found.refuted and found.partial == ("objects after the first 60",)
    assert audit(Leaky(many_and_the_row), runs=40, neighbors=_PAIR).refuted


class Fresh(NoisyTotal):
    """Answers with another copy of itself each time, alone and in a pipeline."""

    @property
    def copy(self):
        return clone(self)

    @property
    def pipeline(self):
        return make_pipeline(Normalizer(), self.copy)


def test_copies_that_properties_make_are_read_to_an_end():
    found = audit(Fresh(), runs=40, neighbors=_PAIR)
    assert not found.partial


class NoisyText(BaseEstimator):
    """Publishes a noisy number, written as a text."""

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def fit(self, X, y=None):
        drawn = np.random.default_rng().laplace(scale=1.0 / self.epsilon)
        self.text_ = f"total={(np.asarray(X)[0, 0] > 0) + drawn:+.6f}"
        return self


class RandomizedResponse(BaseEstimator):
    """Publishes whether the first row is above 0, or the reverse, by a chance set by `true`."""

    def __init__(self, epsilon=1.0, true=1.0):
        self.epsilon, self.true = epsilon, true

    def fit(self, X, y=None):
        wrong = np.random.default_rng().uniform() < 1.0 / (1.0 + np.exp(self.true))
        self.bit_ = int((np.asarray(X)[0, 0] > 0) != wrong)
        return self


_PAIR = [tuple({"X": np.array([[value], [0.0]])} for value in (-1.0, 1.0))]


@pytest.mark.thorough
def test_the_power_is_what_an_audit_makes_of_a_leak_of_that_size():
    """A leak as far beyond passes with probability below 1e-7, one at the claim is refuted with
    1e-7 at most."""
    clean = audit(RandomizedResponse(), neighbors=_PAIR, runs=2000, level=SURE)
    assert clean.verdict == "not refuted" and 1.0 < clean.power.refutes_from < 2.0
    assert clean.power.refutes_from < clean.power.epsilon_max
    leak = RandomizedResponse(true=clean.power.refutes_from + 0.7)
    assert audit(leak, neighbors=_PAIR, runs=2000, level=SURE).refuted


@pytest.mark.thorough
def test_more_runs_have_more_power():
    few, many = (audit(NoisyTotal(), neighbors=_PAIR, runs=runs, level=SURE).power
                 for runs in (100, 1000))
    assert many.epsilon_max > few.epsilon_max and many.refutes_from < few.refutes_from


def test_no_audit_shows_more_than_its_power_allows():
    """What is published without noise is shown by exactly what the power states."""
    level = 1e-3
    clean = audit(NoisyTotal(epsilon=100.0), claim=100.0, neighbors=_PAIR, runs=100, level=level)
    assert clean.epsilon_lower <= clean.power.epsilon_max


@pytest.mark.thorough
def test_a_claim_that_no_leak_would_have_refuted_is_not_tested():
    found = audit(NoisyTotal(), claim=60.0, runs=40)
    assert found.verdict == "nothing tested" and "raise runs" in found.untested
    assert found.to_dict()["power"]["refutes_from"] is None


@pytest.mark.parametrize("estimator", [Normalizer(), RandomizedResponse(true=1e3)])
def test_nothing_that_varied_is_nothing_tested(estimator):
    pair = {"X": np.ones((4, 2))}, {"X": np.full((4, 2), 2.0)}
    found = audit(estimator, claim=1.0, neighbors=[pair], runs=40)
    assert found.verdict == "nothing tested" and not found.evidence and found.power is None
    assert "nothing that is published ever varied" in found.untested


@pytest.mark.thorough
def test_text_page_numbers_and_name_carry_verdict_and_power():
    clean = audit(RandomizedResponse(), neighbors=_PAIR, runs=400, level=SURE)
    for text in (str(clean), clean._repr_html_()):
        assert "not refuted" in text
        first, _, _ = text.partition(" is refuted")
        # Rounded up.
        stated = float(first.split("randomized response of epsilon ")[1])
        assert 0.0 <= stated / clean.power.refutes_from - 1.0 < 0.01
    data = json.loads(clean.to_json())
    assert data["verdict"] == "not refuted"
    assert data["power"]["refutes_from"] == clean.power.refutes_from
    assert "not refuted" in repr(clean) and "refutes_from" in repr(clean)
    nothing = audit(Normalizer(), claim=1.0, runs=40)
    for text in (str(nothing), nothing._repr_html_()):
        assert "NOTHING TESTED" in text
    assert json.loads(nothing.to_json())["power"] is None and "nothing tested" in repr(nothing)


class Refusing(BaseEstimator):
    """Refuses tables that start with a row of a kind."""

    def __init__(self, kind="below", epsilon=1.0):
        self.kind, self.epsilon = kind, epsilon

    def fit(self, X, y=None):
        if self.kind == "all" or np.asarray(X)[0, 0] < 0:
            raise ValueError("refused")
        self.noise_ = np.random.default_rng().normal()
        return self


@pytest.mark.thorough
def test_pairs_of_which_one_table_is_refused_are_named():
    """False-alarm rate at most 1e-7."""
    found = audit(Refusing(), runs=40, level=SURE)
    assert "sign of a long row among zeros: ValueError" in found.set_aside
    assert "set aside" in str(found) and found.to_dict()["set_aside"] == list(found.set_aside)
    with pytest.raises(ValueError, match=r"nothing is tested.*neighbors=.*refused"):
        audit(Refusing("all"), runs=40)


class TargetsAlone(Refusing):
    """Refuses tables of which not all rows are equal."""

    def fit(self, X, y):
        if np.ptp(X, axis=0).any():
            raise ValueError("refused")
        return super().fit(X)


@pytest.mark.thorough
def test_pairs_that_are_refused_on_both_tables_are_named_and_targets_alone_test_nothing():
    """False-alarm rate at most 2e-7."""
    found = audit(TargetsAlone(), runs=100, level=SURE)
    assert found.verdict == "nothing tested" and "neighbors=" in found.untested
    assert "another row twice or none: ValueError" in found.set_aside
    assert any(each.startswith("text: ") for each in found.set_aside)
    pair = tuple((np.zeros((4, 2)), np.array([target, 0.0, 0.0, 1.0])) for target in (0.0, 1.0))
    assert audit(TargetsAlone(), runs=100, level=SURE, neighbors=[pair]).verdict == "not refuted"


class Numbers(random.Random):
    """A generator of somebody's own."""


#: By kind: what a fit makes and keeps, that may draw the noise again.
_KEPT = {
    "generator": np.random.default_rng, "state": np.random.RandomState,
    "bits": np.random.PCG64, "seeds": np.random.SeedSequence, "random": Numbers,
    "method": lambda: np.random.default_rng().normal,
    "inside": lambda: {"a": [np.random.default_rng()]},
    "state of bits": lambda: np.random.default_rng().bit_generator.state,
    "words of a state": lambda: np.random.RandomState().get_state(),
    "words of Python": lambda: random.Random().getstate()}


def _kept(kind):
    return Leaky(lambda model, entry, X: setattr(model, "drawn_", _KEPT[kind]()))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", _KEPT)
def test_noise_that_a_kept_generator_draws_again_is_not_called_private(kind):
    found = audit(_kept(kind), runs=40, level=SURE, neighbors=_PAIR, claim=0.2)
    assert found.verdict == "nothing tested" and "drawn_" in found.untested
    assert all(place.startswith("drawn_") for place in found.generators)
    assert found.to_dict()["generators"] == list(found.generators) and "drawn_" in str(found)


@pytest.mark.thorough
def test_generators_of_parameters_and_of_the_system_are_not_named():
    """False-alarm rate at most 1e-7."""
    model = Leaky(lambda model, entry, X: setattr(model, "drawn_", [
        random.SystemRandom(), model.epsilon]), epsilon=np.random.default_rng(0))
    found = audit(model, runs=100, level=SURE, neighbors=_PAIR, claim=1.0)
    assert found.verdict == "not refuted" and not found.generators


@pytest.mark.thorough
@pytest.mark.parametrize("X", [
    pd.DataFrame({"city": ["a", "b", "c", "a"] * 9, "job": ["x", "y"] * 18}),
    pd.DataFrame({"city": ["a"] * 36, "size": np.arange(36.0)})])
def test_exact_categories_of_a_given_table_are_refuted(X):
    model = make_pipeline(OneHotEncoder(sparse_output=False), DPLogisticRegression(1.0))
    assert audit(model, X[["city"]], np.arange(36) % 2, runs=40, level=SURE).refuted


class Clocked(BaseEstimator):
    """Publishes how many fits there were before, how long this one took, and a fresh object."""

    fits = 0

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def fit(self, X, y=None):
        start = time.perf_counter()
        Clocked.fits += 1
        self.number_, self.parity_, self.object_ = Clocked.fits, Clocked.fits % 2, object()
        self.seconds_ = time.perf_counter() - start
        return self


@pytest.mark.thorough
def test_what_differs_between_any_two_fits_is_no_release():
    """False-alarm rate at most 1e-7: counts, times and addresses, in whatever order fits run."""
    assert not audit(Clocked(), runs=100, level=SURE, neighbors=_PAIR).refuted


@pytest.mark.audit
def test_claims_that_hold_are_refuted_no_more_often_than_the_level_says():
    """False-alarm rate below 1e-7: more than 30 of 200 at a level of 0.05."""
    found = [audit(RandomizedResponse(true=1.0), neighbors=_PAIR, runs=100).refuted
             for _ in range(200)]
    assert sum(found) <= 30


class KeepsUnder(BaseEstimator):
    """Keeps how far the farthest row is, under some name, nearly without noise."""

    def __init__(self, name="event_times_"):
        self.name = name

    def fit(self, X, y=None):
        noise = np.random.default_rng().uniform(1.0, 1.01)
        setattr(self, self.name, float((abs(X).max() + 1.0) * noise))
        return self


@pytest.mark.parametrize("name", ["event_times_", "n_timesteps_", "_timezone", "lead_time_hours",
                                  "_timer", "_time_left", "max_survival_time_", "fit_times_"])
def test_only_times_of_fits_and_scores_are_not_read(name):
    """The noise is a hundredth of what a row moves: missed with probability below 1e-7."""
    found = audit(KeepsUnder(name), claim=(1.0, 1e-5), runs=40)
    assert found.verdict == "refuted" and name in found.evidence[-1].of
