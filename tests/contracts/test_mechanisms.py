"""A run of a mechanism charges what its event declares, at any noise multiplier, and no more."""

import math
from collections import Counter
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from dpsk import _fit, cluster, covariance, generative, preprocessing
from dpsk._data.source import Rows
from dpsk._mechanism.core import Choices, Composite, Fixed, Mechanism, Priced, Share, Statistic
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._privacy.events import Composed, Gaussian, NotPrivate, Repeated, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics.moments import noisy_mean
from tests.contracts import test_sampler_neighbors, test_transformer_neighbors
from tests.contracts.tapes import fixed_streams, taped
from tests.preprocessing.numbers import NUMERIC, SETTINGS

N = 90
MULTIPLIERS = (0.3, 2.0, 40.0)
CODERS = {
    "DPOneHotEncoder": [{}, {"max_categories": 2}, {"n_buckets": 4},
                        {"columns": {"town": ["n", "s"]}}],
    "DPTableVectorizer": [{}, {"max_categories": 2}, {"n_knots": 5, "missing_indicator": True},
                          {"columns": {"age": (0.0, 1.0, 9.0)}}]}


def settings():
    """Yield every transformer and sampler with settings that its other contracts are held at."""
    for name, cls in NUMERIC.items():
        for params in ({}, *SETTINGS.get(name, ()), {"columns": {0: (-2.0, 2.0)}}):
            yield cls, {key: value for key, value in params.items() if value != ["age"]}
    for name, several in CODERS.items():
        yield from ((getattr(preprocessing, name), params) for params in several)
    yield preprocessing.DPStandardScaler, {"with_mean": False, "with_std": False}
    yield from test_transformer_neighbors.CASES.values()
    yield from test_sampler_neighbors.CASES.values()


CASES = [pytest.param(cls, params, id=f"{cls.__name__}-{params}") for cls, params in settings()]


def rows(cls):
    """Return rows of numbers, or of numbers and words, and labels of samplers."""
    X, y = next(test_sampler_neighbors.tables(np.float64))
    if cls.__name__ in CODERS:
        town = pd.Series(np.where(X[:, 1] > 0, "n", "s"), dtype=object)
        frame = pd.DataFrame({"town": town, "age": X[:, 0]})
        return (frame[["town"]] if cls is preprocessing.DPOneHotEncoder else frame,)
    return (X, y) if cls.__name__ in generative.__all__ else (X,)


def charged(cls, params, noise_multiplier):
    """Return what a fit at a noise multiplier charges, and what its mechanism declares."""
    declared = []

    def calibrated(mechanism, budget):
        declared.append(mechanism(noise_multiplier))
        return noise_multiplier, declared[-1]

    given = {"epsilon": 3.0, "delta": 1e-4, "random_state": 0, **params}
    if given.get("classes", 0) is None:
        given.pop("classes")
    data = rows(cls)
    with fixed_streams(), taped() as tape, mock.patch.object(_fit, "_calibrated", calibrated):
        cls(**given).fit(*data)
    return Counter(event for events in tape.events for event in events), declared


@pytest.mark.parametrize("noise_multiplier", MULTIPLIERS)
@pytest.mark.parametrize("cls, params", CASES)
def test_a_run_charges_what_its_mechanism_declares(cls, params, noise_multiplier):
    found, declared = charged(cls, params, noise_multiplier)
    assert len(declared) == bool(found)
    whole = tally(Composed(tuple(declared)))
    # The tables of pairs are left out where no pair is worth one.
    assert found == whole or (cls is generative.DPTreeSampler and found <= whole)


def test_every_estimator_without_a_solver_is_held_to_it():
    assert {case.values[0].__name__ for case in CASES} == {
        *preprocessing.__all__, *generative.__all__, *cluster.__all__, *covariance.__all__}


def session(event):
    return Session(EntropyStream(), Ledger(event))


MEAN = (LinearModel(2, None, False, 1.0), Rows(np.zeros((9, 2)), np.zeros(9)))


@dataclass(frozen=True)
class Forgetful(Composite):
    """Runs two parts of the same price, and declares some of them."""

    declared: int

    @property
    def parts(self):
        return (Share(Statistic(noisy_mean), 0.5),) * self.declared

    def run(self, data, session, noise_multiplier):
        for _ in range(2):
            Share(Statistic(noisy_mean), 0.5).run(data, session, noise_multiplier)


@pytest.mark.parametrize("declared", [0, 1, 2])
def test_a_part_that_runs_and_is_not_among_the_parts_is_refused(declared):
    one = Forgetful(declared)
    opened = session(one.event(2.0))
    if declared == 2:
        one.run(MEAN, opened, 2.0)
        return
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        one.run(MEAN, opened, 2.0)


@pytest.mark.parametrize("share, noise_multiplier", [(0.4, 2.0), (0.5, 1.0)])
def test_a_part_at_another_share_or_multiplier_is_refused(share, noise_multiplier):
    opened = session(Share(Statistic(noisy_mean), 0.5).event(2.0))
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        Share(Statistic(noisy_mean), share).run(MEAN, opened, noise_multiplier)


@pytest.mark.parametrize("noise_multiplier", MULTIPLIERS)
def test_prices_are_those_of_the_place_of_a_mechanism(noise_multiplier):
    mu = 1.0 / noise_multiplier
    mean, none = Statistic(noisy_mean), Composed(())
    assert mean(noise_multiplier) == mean.event(noise_multiplier) == Gaussian(mu)
    assert Share(mean, 0.25).event(noise_multiplier).mu == pytest.approx(0.5 * mu)
    assert Share(mean, 0.0).event(noise_multiplier) == none
    assert Fixed(mean, 0.5).event(noise_multiplier) == Gaussian(2.0)
    assert Priced(Gaussian(0.7), print).event(noise_multiplier) == Gaussian(0.7)
    assert Choices(print, 0).event(noise_multiplier) == none
    several = Choices(print, 4).event(noise_multiplier)
    assert several == Repeated(Gaussian(0.5 * mu), 4)
    assert mean.event(0.0) == Share(mean, 0.5).event(0.0) == NotPrivate()


def test_a_mechanism_at_no_share_releases_nothing():
    nothing = Share(Fixed(Statistic(noisy_mean), 1.0), 0.0)
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        nothing.run(MEAN, session(nothing.event(1.0)), 1.0)


def test_choices_are_made_at_the_price_of_one():
    def best(scores, price, session):
        moved = Sensitivity(2.0, "gumbel", unit=1.0, rounded=False)
        return [int(session(price, lambda batch: scores.copy(), moved, select=np.argmax))
                for _ in range(3)]

    several = Choices(best, 3)
    assert several.run((np.array([0.0, 1e9]),), session(several.event(0.1)), 0.1) == [1, 1, 1]
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        Choices(best, 3).run((np.zeros(2),), session(Choices(best, 2).event(0.1)), 0.1)


def test_mechanisms_are_compared_by_their_numbers():
    assert Share(Statistic(noisy_mean), 0.5) == Share(Statistic(noisy_mean), 0.5)
    assert hash(Forgetful(1)) == hash(Forgetful(1)) and Forgetful(1) != Forgetful(2)
    with pytest.raises(TypeError, match="abstract"):
        Mechanism()
    assert math.isinf(Share(Statistic(noisy_mean), 0.0).own(1.0))
