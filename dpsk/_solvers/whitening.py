"""When and how rows are whitened: public rules for the share of the budget and the floor."""

import numpy as np

from dpsk._privacy import gdp

__all__ = ["MOST_COLUMNS", "moment_budget", "pays", "whitening_floor"]

#: Share of mu^2 spent on the second moment.
_SHARE = 0.2
#: The floor under eigenvalues over the size of the noise in operator norm.
_NOISE_FLOOR = 0.5
#: The least floor, over the squared norm bound of rows: finer directions drown in gradient noise.
_LEAST_FLOOR = 0.0026
#: Beyond this many columns the matrix is too large to be worth its time.
MOST_COLUMNS = 2000


def moment_budget(problem):
    """Return the mu that the second moment may cost."""
    return float(np.sqrt(_SHARE)) * gdp.mu(problem.epsilon, problem.delta)


def whitening_floor(noise_std, entries, loss, data_norm):
    """Return what is added to eigenvalues of a moment with `entries` noisy entries a row.

    Where rows keep their length a direction of noise alone must not lengthen them; elsewhere
    the floor stops at a share of the squared row bound.
    """
    least = 2.0 * noise_std if loss.keeps_length else _LEAST_FLOOR * data_norm**2
    return max(least, _NOISE_FLOOR * noise_std * np.sqrt(entries))


def pays(problem, is_sparse):
    """Return whether whitening is on by default, from public facts.

    Not where a penalty speaks of the coefficients of the rows as they are, not where the
    matrix would cost more than the fit, and not where its noise outweighs it.
    """
    penalty, columns = problem.penalty, problem.model.shape[0]
    penalised = penalty.smoothness > 0 or not penalty.is_smooth
    if is_sparse or penalised or columns > MOST_COLUMNS + 1 or problem.delta == 0:
        return False
    return columns < problem.n_samples * gdp.mu(problem.epsilon, problem.delta)
