"""The share of the budget for counts of groups, and what is made of noisy counts."""

import numpy as np

from dpsk._privacy import gdp

__all__ = ["count_budget", "shares"]

#: Share of mu^2 spent on counts.
_SHARE = 0.01
#: Smaller shares than this, of a group, would be mostly noise.
_LEAST = 0.01


def count_budget(problem):
    """Return the mu that counts of groups may cost."""
    return float(np.sqrt(_SHARE)) * gdp.mu(problem.epsilon, problem.delta)


def shares(counts, n_samples):
    """Return shares of at least 1 % that sum to 1, from noisy counts; a tuple of float."""
    least = min(_LEAST, 0.5 / len(counts))
    raised = np.maximum(counts / n_samples, least)
    # What exceeds the least is scaled so that the sum is 1 and no share falls below.
    room = raised - least
    spare = 1.0 - least * len(counts)
    total = room.sum()
    room = room * (spare / total) if total > 0 else np.full(len(counts), spare / len(counts))
    return tuple(float(share) for share in least + room)
