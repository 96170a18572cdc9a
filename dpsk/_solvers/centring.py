"""When and at what cost rows of a network are centred: public rules."""

import numpy as np

from dpsk._privacy import gdp

__all__ = ["center_norm", "centring_pays", "mean_budget", "shrunk"]

#: Share of mu^2 spent on the mean of the rows.
_SHARE = 0.03
#: The most noise on the mean, in units of the bound on rows, that is worth having by default.
_MOST_NOISE = 0.5


def mean_budget(problem):
    """Return the mu that the mean of the rows may cost."""
    return float(np.sqrt(_SHARE)) * gdp.mu(problem.epsilon, problem.delta)


def center_norm(n_features, data_norm):
    """Return the norm that rows are scaled to for their mean: that of features of size 1."""
    return float(np.sqrt(n_features)) if data_norm is None else float(data_norm)


def centring_pays(problem):
    """Return whether the noise on the mean is small beside the bound on rows."""
    if problem.delta == 0:
        return False
    noise = 2.0 * np.sqrt(problem.model.n_features)
    return noise <= _MOST_NOISE * problem.n_samples * mean_budget(problem)


def shrunk(mean, noise_std, bound):
    """Return a noisy mean scaled down by what is noise in its square, and to its public bound.

    Parameters
    ----------
    mean : ndarray
    noise_std : float
        On every coordinate.
    bound : float
        On the norm of the exact mean.

    References
    ----------
    James, Stein (1961), the positive part.
    """
    length = float(np.linalg.norm(mean))
    if length == 0.0:
        return mean
    noise = noise_std / length
    return mean * min(max(0.0, 1.0 - len(mean) * noise * noise), bound / length)
