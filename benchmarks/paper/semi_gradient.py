"""Noised semi-gradient steps for the values of a network: what the default was measured against.

A row's ``(r + gamma V(s') - V(s)) grad V(s)`` is clipped and summed over a Poisson batch, with the
noise that the accountant asks for. Its noise is NumPy's: for comparisons only.
"""

import numpy as np

from dpsk._models.states import NetworkValues
from dpsk._oracle.transition_sums import clipped
from dpsk._privacy.batches import PoissonBatches
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.plans import NoisySums

__all__ = ["SemiGradient"]


class SemiGradient:
    """Steps of temporal differences on one hidden layer."""

    def __init__(self, *, epsilon, gamma, reward_bounds, state_bounds, random_state, steps=400,
                 batch_size=2048, rate=4.0, clip=1.0, width=50):
        self.epsilon, self.gamma, self.seed = epsilon, gamma, random_state
        self.unit = max(map(abs, reward_bounds))
        self.bounds, self.steps, self.batch_size = state_bounds, steps, batch_size
        self.rate, self.clip, self.width = rate, clip, width

    def fit(self, states, rewards, *, next_states, terminal):
        n, rng = len(states), np.random.default_rng(self.seed)
        rate = min(1.0, self.batch_size / n)
        z = calibrate(NoisySums(PoissonBatches(rate), self.steps), self.epsilon, 1.0 / n**2)
        self.model = NetworkValues(states.shape[1], self.bounds, width=self.width)
        theta, kept = self.model.initial(lambda shape: rng.normal(size=shape)), 0.0
        for t in range(self.steps):
            batch = np.flatnonzero(rng.random(n) < rate)
            now = self.model.passed(theta, states[batch])
            later = self.model.values(theta, next_states[batch])
            delta = (rewards[batch] / self.unit + self.gamma * ~terminal[batch] * later
                     - now.values)
            total = clipped(delta[:, None] * now.gradients, self.clip).sum(axis=0)
            total += z * self.clip * rng.normal(size=len(theta))
            theta = theta + self.rate * (1.0 - t / self.steps) * total / (rate * n)
            if t >= self.steps // 2:
                kept = kept + theta
        self.theta = kept / (self.steps - self.steps // 2)
        return self

    def predict(self, states):
        return self.unit * self.model.values(self.theta, states)
