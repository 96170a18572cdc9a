"""Defaults at an infinite epsilon, where there is no noise; see docs/epsilon_inf.md."""

import math

__all__ = ["PAIR_MU", "SAMPLE_MU", "SAMPLE_PRECISION", "noiseless_descent",
           "noiseless_penalty"]

#: Without noise, rows are still a sample. Shape functions have as many knots, and boosted trees
#: are shrunk as much, as at the first mu; pairs of columns are chosen as at the second.
#: Coefficients of shape functions have a normal prior with this precision.
SAMPLE_MU, PAIR_MU, SAMPLE_PRECISION = 3.0, 6.0, 0.3

_STEPS = 1000


def noiseless_penalty(n_samples):
    """Return the default `alpha` of classifiers: that of scikit-learn's C = 1."""
    return 1.0 / n_samples


def noiseless_descent(problem, clip_norm, learning_rate, max_iter):
    """Return the last three arguments, where None becomes no clip, the inverse smoothness, 1000.

    Raise a ValueError where no step is known to be short enough.
    """
    if learning_rate is None and math.isinf(problem.smoothness):
        raise ValueError("learning_rate=None: sample weights have no bound from which a step "
                         "without noise would follow; set learning_rate, or leave "
                         "solver='auto'.")
    if learning_rate is None:
        learning_rate = 1.0 / (problem.smoothness + problem.penalty.smoothness)
    return (math.inf if clip_norm is None else clip_norm), learning_rate, max_iter or _STEPS
