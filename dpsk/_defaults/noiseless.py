"""Clip, step and number of steps of descent at an infinite epsilon, where there is no noise."""

import math

__all__ = ["noiseless_descent"]

_STEPS = 1000


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
