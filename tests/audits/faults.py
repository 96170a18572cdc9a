"""Estimators with known faults, and the same without them, for audits to find."""

import os
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpsk._fit
from dpsk import DPLogisticRegression
from dpsk._mechanism.sensitivity import Noise
from dpsk._models.linear import LinearModel
from dpsk._privacy.noise.streams import KeyedStream
from dpsk._queries.gradients import GradientOracle
from dpsk._sums.clip import Clip

_draw, _gradient = Noise.draw, GradientOracle.gradient


class NoisyTotal(BaseEstimator):
    """The number of rows that start with more than 0, with Laplace noise that may be too weak."""

    def __init__(self, epsilon=1.0, noise=1.0):
        self.epsilon = epsilon
        self.noise = noise

    def fit(self, X, y=None):
        noise = np.random.default_rng().laplace(scale=self.noise / self.epsilon)
        self.total_ = np.count_nonzero(np.asarray(X)[:, 0] > 0) + noise
        return self


class _Faulty(DPLogisticRegression):
    """Logistic regression, with something of the package replaced during a fit."""

    def fit(self, X, y):
        with ExitStack() as replaced:
            for thing, name, value in self._faults():
                replaced.enter_context(patch.object(thing, name, value))
            return super().fit(X, y)


class NoClip(_Faulty):
    """Neither rows nor gradients are shortened."""

    def _faults(self):
        yield LinearModel, "row_scales", lambda self, X: (
            np.ones(len(X)), np.sqrt(np.einsum("ij,ij->i", X, X)))
        yield Clip, "limits", lambda self, norms, *sizes: np.full(len(norms), np.inf)


class HalfNoise(_Faulty):
    """Every other coordinate is released without noise."""

    def _faults(self):
        def draw(noise, stream, shape):
            drawn = _draw(noise, stream, shape)
            drawn[1::2] = 0.0
            return drawn

        yield Noise, "draw", draw


class OffByTwo(_Faulty):
    """The sensitivity is that of a row that is removed: half of the noise."""

    def _faults(self):
        yield Noise, "draw", lambda noise, stream, shape: np.rint(
            0.5 * _draw(noise, stream, shape))


class WeighedDivisor(_Faulty):
    """Sums are divided by the size of the drawn batch, as the weights of rows count it."""

    def _faults(self):
        yield GradientOracle, "gradient", lambda oracle, theta: _divided(oracle, theta, True)


class CountedDivisor(_Faulty):
    """Sums are divided by the number of rows in the drawn batch."""

    def _faults(self):
        yield GradientOracle, "gradient", lambda oracle, theta: _divided(oracle, theta, False)


def _divided(oracle, theta, weighed):
    sums = oracle._sums

    def read(inside):
        weights = sums.entry.rows.weights if weighed else None
        size = len(inside.rows) if weights is None else weights[inside.rows].sum()
        return sums.gradient(theta, inside.rows) * (oracle._divisor / max(size, 1.0))

    return oracle._session(oracle._event, read, oracle._moved, divisor=oracle._divisor,
                           batches=oracle._batches)


class SharedNoise(BaggingClassifier):
    """All members draw their noise from streams with one key, as forked workers may."""

    def fit(self, X, y):
        key = os.urandom(16)
        with patch.object(dpsk._fit, "open_stream", lambda seed, context: KeyedStream(key)):
            return super().fit(X, y)


#: Few short steps, whose end shows as much as was released.
_SHORT = dict(epsilon=1.0, precondition=False, learning_rate=0.1, clip_norm=0.4)
_GD = dict(**_SHORT, solver="gd", max_iter=4,
           solver_options={"accelerate": False, "iterate": "last"})
_SGD = dict(**_SHORT, solver="sgd", max_iter=8, batch_size=16)
_MEMBERS = dict(n_estimators=2, bootstrap=False, max_features=3, random_state=0)


def _ensemble(cls):
    return cls(DPLogisticRegression(epsilon=0.5, precondition=False), **_MEMBERS)


#: By name: the faulty estimator, and what it would be without the fault.
FAULTS = {
    "no clip": (NoClip(**_SGD), DPLogisticRegression(**_SGD)),
    "noise on half of the coordinates": (HalfNoise(**_GD), DPLogisticRegression(**_GD)),
    "noise shared by members": (_ensemble(SharedNoise), _ensemble(BaggingClassifier)),
    "sensitivity off by two": (OffByTwo(**_GD), DPLogisticRegression(**_GD)),
    "exact scaler": (make_pipeline(StandardScaler(), DPLogisticRegression(**_GD)),
                     DPLogisticRegression(**_GD)),
    "divisor of the drawn batch": (
        WeighedDivisor(**_SGD, class_weight={0: 1.0, 1: 100.0}),
        DPLogisticRegression(**_SGD, class_weight={0: 1.0, 1: 100.0})),
}
