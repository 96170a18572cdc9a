"""Defaults of training a generator and its critic, from public numbers.

docs/results/synthetic_data.md says how each number was found.
"""

import numpy as np

__all__ = ["AVERAGING", "CRITIC_STEPS", "LEARNING_RATE", "MOMENTUM",
           "START_SHARE", "adversarial_rounds", "generator_rate"]

LEARNING_RATE = 2e-3
#: Step of the generator, from random weights and from released distributions. Adam's steps are as
#: long in constant pixels as in others, so longer ones lose more than the critic can teach.
_FAR_RATE, _NEAR_RATE = 5e-4, 1e-5
MOMENTUM = 0.5
CRITIC_STEPS = 2
AVERAGING = 0.99
#: Share of mu^2 of the released distributions that a generator starts from.
START_SHARE = 0.5
#: Rounds per unit of mu, the fewest and the most, from random weights and from released
#: distributions. More rounds with more noise each gave worse synthetic data.
_FAR_ROUNDS, _NEAR_ROUNDS = (85.0, 50, 1000), (10.0, 10, 100)


def adversarial_rounds(problem, near):
    """Return the number of rounds: ``85 mu`` within [50, 1000].

    From released distributions (`near`), it is ``10 mu`` within [10, 100].
    """
    rounds, fewest, most = _NEAR_ROUNDS if near else _FAR_ROUNDS
    return int(np.clip(round(rounds * min(problem.mu, most)), fewest, most))


def generator_rate(near):
    """Return the step of the generator: 5e-4, or 1e-5 from released distributions."""
    return _NEAR_RATE if near else _FAR_RATE
