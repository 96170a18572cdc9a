"""Releases that come before the solver's own, and what they change for it."""

from dataclasses import dataclass, replace

import numpy as np

from dpsk._models import Preconditioner
from dpsk._oracle import CountOracle, MomentOracle, thresholded, whitening
from dpsk._privacy.events import Composed, Gaussian
from dpsk._solvers.counting import count_budget, shares
from dpsk._solvers.whitening import moment_budget, whitening_floor

__all__ = ["Counting", "Preceded", "Whitening"]


@dataclass(frozen=True)
class Preceded:
    """The declaration of `first` events, then of `rest`."""

    first: tuple
    rest: object

    def __call__(self, noise_multiplier):
        return Composed((*self.first, self.rest(noise_multiplier)))


class Whitening:
    """Release a noisy second moment and map the rows by its inverse root.

    Parameters
    ----------
    model : LinearModel
        Of the rows as they are.

    Attributes
    ----------
    matrix : ndarray of float64, shape (p, p)
        The preconditioner, once released.
    """

    def __init__(self, model):
        self._model = model
        self.matrix = None

    def event(self, problem):
        """Return what the release costs."""
        return Gaussian(moment_budget(problem))

    def release(self, problem, rows, stream, ledger):
        """Return the problem with what is known of whitened rows, and the whitened rows."""
        moments = MomentOracle(self._model, rows.X, self.event(problem).mu, stream, ledger)
        noisy = moments.second_moment()
        moment, entries = thresholded(noisy, moments.noise_std, self._model.fit_intercept)
        floor = whitening_floor(moments.noise_std, entries, problem.loss, self._model.data_norm)
        matrix, directions = whitening(moment, floor)
        left = float(np.linalg.eigvalsh(matrix @ noisy @ matrix)[-1])
        keeps_length = problem.loss.keeps_length
        # The usual row that keeps its length then has about norm 1.
        self.matrix = matrix / np.sqrt(directions) if keeps_length else matrix
        mapped = Preconditioner(self._model, self.matrix, keeps_length).transform(rows.X)
        problem = replace(problem, directions=directions, unevenness=max(1.0, left))
        return problem, replace(rows, X=mapped, owned=True)


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
