"""How a generator and its critic are trained, from public numbers.

See docs/results/synthetic_data.md for what each number was found on.
"""

import numpy as np

__all__ = ["AVERAGING", "CRITIC_STEPS", "LEARNING_RATE", "MOMENTUM",
           "START_SHARE", "adversarial_rounds", "generator_rate"]

LEARNING_RATE = 2e-3
#: Of the generator: from weights of noise, and from released laws, of which longer steps by Adam,
#: as long in pixels that never change as in others, lose more than the critic has to say.
_FAR_RATE, _NEAR_RATE = 5e-4, 1e-5
MOMENTUM = 0.5
CRITIC_STEPS = 2
AVERAGING = 0.99
#: Of mu^2: what the laws that a generator starts from may cost.
START_SHARE = 0.5
#: Rounds over the budget, from weights of noise and from released laws, and their ends. More of
#: them at more noise each left worse rows.
_FAR_ROUNDS, _NEAR_ROUNDS = (85.0, 50, 1000), (10.0, 10, 100)


def adversarial_rounds(problem, near):
    """Return the number of rounds: ``85 mu`` within [50, 1000].

    From released laws, with `near`, they are ``10 mu`` within [10, 100].
    """
    rounds, fewest, most = _NEAR_ROUNDS if near else _FAR_ROUNDS
    return int(np.clip(round(rounds * min(problem.mu, most)), fewest, most))


def generator_rate(near):
    """Return the step of the generator: 5e-4, and from released laws 1e-5."""
    return _NEAR_RATE if near else _FAR_RATE
