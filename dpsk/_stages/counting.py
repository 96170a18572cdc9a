"""Shares of groups of rows, from noisy counts."""

from dataclasses import replace

import numpy as np

from dpsk._oracle import CountOracle
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import Gaussian

__all__ = ["Counting", "count_budget", "shares"]

#: Share of mu^2 spent on counts.
_SHARE = 0.01
#: Smaller shares than this, of a group, would be mostly noise.
_LEAST = 0.01


class Counting:
    """Release noisy counts of groups of rows, and give the loss their shares.

    Parameters
    ----------
    groups : ndarray of int, shape (n,)
        The group of every row.
    n_groups : int
    make_loss : callable
        From a tuple of shares, one a group, to the loss.

    Attributes
    ----------
    shares : tuple of float
        Once released.
    """

    def __init__(self, groups, n_groups, make_loss):
        self._groups, self._n_groups, self._make_loss = groups, n_groups, make_loss
        self.shares = None

    def event(self, problem):
        """Return what the release costs."""
        return Gaussian(count_budget(problem))

    def release(self, problem, rows, stream, ledger):
        """Return the problem with the loss of the noisy shares, and the rows."""
        oracle = CountOracle(self._groups, self._n_groups, self.event(problem).mu, stream, ledger)
        self.shares = shares(oracle.counts(), problem.n_samples)
        return replace(problem, loss=self._make_loss(self.shares)), rows


def count_budget(problem):
    """Return the mu that counts of groups may cost."""
    return float(np.sqrt(_SHARE)) * gaussian_mu(problem.epsilon, problem.delta)


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
