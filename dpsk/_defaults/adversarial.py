"""How a generator and its critic are trained, from public numbers.

See docs/results/generative.md for what each number was found on.
"""

import numpy as np

__all__ = ["AVERAGING", "CRITIC_STEPS", "GENERATOR_RATE", "LEARNING_RATE", "MOMENTUM",
           "START_SHARE", "adversarial_rounds"]

#: Of the critic, of the generator.
LEARNING_RATE, GENERATOR_RATE = 2e-3, 5e-4
MOMENTUM = 0.5
CRITIC_STEPS = 2
AVERAGING = 0.99
#: Of mu^2: what the laws that a generator starts from may cost.
START_SHARE = 0.5
#: Rounds over the budget. More of them at more noise each left worse rows.
_ROUNDS, _FEWEST, _MOST = 85.0, 50, 1000


def adversarial_rounds(problem):
    """Return the number of rounds: ``85 mu`` within [50, 1000]."""
    return int(np.clip(round(_ROUNDS * min(problem.mu, _MOST)), _FEWEST, _MOST))
