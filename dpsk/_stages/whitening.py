"""Rows mapped by the inverse root of their noisy second moment."""

from dataclasses import replace

import numpy as np

from dpsk._models import Preconditioner
from dpsk._oracle import MomentOracle, thresholded, whitening
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import Gaussian

__all__ = ["MOST_COLUMNS", "Whitening", "moment_budget", "whitening_floor", "whitening_pays"]

#: Share of mu^2 spent on the second moment.
_SHARE = 0.2
#: The floor under eigenvalues over the size of the noise in operator norm.
_NOISE_FLOOR = 0.5
#: The least floor, over the squared norm bound of rows: finer directions drown in gradient noise.
_LEAST_FLOOR = 0.0026
#: Beyond this many columns the matrix is too large to be worth its time.
MOST_COLUMNS = 2000


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


def moment_budget(problem):
    """Return the mu that the second moment may cost."""
    return float(np.sqrt(_SHARE)) * gaussian_mu(problem.epsilon, problem.delta)


def whitening_floor(noise_std, entries, loss, data_norm):
    """Return what is added to eigenvalues of a moment with `entries` noisy entries a row.

    Where rows keep their length a direction of noise alone must not lengthen them; elsewhere
    the floor stops at a share of the squared row bound.
    """
    least = 2.0 * noise_std if loss.keeps_length else _LEAST_FLOOR * data_norm**2
    return max(least, _NOISE_FLOOR * noise_std * np.sqrt(entries))


def whitening_pays(problem, is_sparse):
    """Return whether whitening is on by default, from public facts.

    Not where a penalty speaks of the coefficients of the rows as they are, not where the
    matrix would cost more than the fit, and not where its noise outweighs it.
    """
    penalty, columns = problem.penalty, problem.model.shape[0]
    penalised = penalty.smoothness > 0 or not penalty.is_smooth
    if is_sparse or penalised or columns > MOST_COLUMNS + 1 or problem.delta == 0:
        return False
    return columns < problem.n_samples * gaussian_mu(problem.epsilon, problem.delta)
