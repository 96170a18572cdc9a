"""How a generator and its critic are trained, from public numbers.

See docs/results/generative.md for what each number was found on.
"""

import numpy as np

__all__ = ["AVERAGING", "CRITIC_STEPS", "LEARNING_RATE", "MOMENTUM", "adversarial_batch_size",
           "adversarial_rounds"]

LEARNING_RATE, MOMENTUM = 5e-4, 0.5
CRITIC_STEPS = 2
AVERAGING = 0.99
_BATCH = 1024
#: Rounds over the budget; noise grows with their root.
_ROUNDS, _FEWEST, _MOST = 300.0, 100, 2000


def adversarial_batch_size(problem, batch_size):
    """Return the expected batch size: 1024, at most a tenth of the rows."""
    return batch_size or min(_BATCH, max(1, problem.n_samples // 10))


def adversarial_rounds(problem):
    """Return the number of rounds: ``300 mu`` within [100, 2000]."""
    return int(np.clip(round(_ROUNDS * min(problem.mu, _MOST)), _FEWEST, _MOST))
