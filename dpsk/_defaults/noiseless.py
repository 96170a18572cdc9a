"""Defaults at an infinite epsilon, where there is no noise; docs/epsilon_inf.md."""

import math

__all__ = ["PAIR_MU", "SAMPLE_MU", "SAMPLE_PRECISION", "noiseless_descent",
           "noiseless_penalty"]

#: Without noise rows are still a sample. Curves are as fine, and leaves of boosted trees as short,
#: as at the first mu, and pairs of columns are chosen as at the second. Coefficients of curves
#: have a normal prior law of this precision.
SAMPLE_MU, PAIR_MU, SAMPLE_PRECISION = 3.0, 6.0, 0.3

_STEPS = 1000


def noiseless_penalty(n_samples):
    """Return the `alpha` of classifiers where none is given: that of scikit-learn's C = 1."""
    return 1.0 / n_samples


def noiseless_descent(problem, clip_norm, learning_rate, max_iter):
    """Return the three with every None filled: no clip, the inverse smoothness, 1000 steps.

    A ValueError where no step is known to be short enough.
    """
    if learning_rate is None and math.isinf(problem.smoothness):
        raise ValueError("learning_rate=None: sample weights have no bound from which a step "
                         "without noise would follow; set learning_rate, or leave "
                         "solver='auto'.")
    if learning_rate is None:
        learning_rate = 1.0 / (problem.smoothness + problem.penalty.smoothness)
    return (math.inf if clip_norm is None else clip_norm), learning_rate, max_iter or _STEPS
