"""Batch size, number of steps and step of networks, from public numbers.

docs/theory/networks.md says how each number was found.
"""

import math

import numpy as np

from dpsk._defaults.budgets import FEW_ROWS_FACTOR, are_few, are_many
from dpsk._defaults.losses import loss_defaults
from dpsk._defaults.noiseless import SAMPLE_MU

__all__ = ["ADAPTIVE_STEP", "MANY_WEIGHTS", "MOMENTUM", "USUAL_FACTOR", "carries_no_network",
           "few_rows_factor", "hidden_scale", "network_batch_size", "network_iterate",
           "network_step", "network_steps", "weighted_clip", "whitened_length"]

MOMENTUM = 0.7
#: From this many weights on, drawing noise in a thread of its own saves time.
MANY_WEIGHTS = 1 << 14
#: The step of adaptive directions, whose coordinates are about 1.
ADAPTIVE_STEP = 5e-3
#: Factor of the scores of two classes after training with clipped gradients.
USUAL_FACTOR = 0.65
#: With class weights: the ``n mu`` per unit of the clip norm, and the largest clip norm.
CLIP_SIGNAL, LONGEST_CLIP = 250.0, 10.0
#: The ``n mu`` below which rows are few, for scores and for predictions of targets.
_FEW_SIGNAL, _FEWER_SIGNAL = 40.0, 10.0
#: The signal at which predictions of targets from many columns are half noise.
_WIDE_SIGNAL = 2.0
#: Largest length of a usual whitened row, relative to the 1 of the biases.
_LONGEST_ROW = 4.0
#: Number of steps per unit of signal.
_STEPS = 6.0
_FEWEST, _MOST = 30, 2000
_BATCH_SHARE, _SMALLEST_BATCH, _LARGEST_BATCH = 15, 256, 8192
#: The same for whitened rows, which have few columns, so that noise exceeds sampling error.
_FEWEST_WHITENED, _MOST_WHITENED, _WHITENED_BATCH_SHARE = 60, 1000, 4
#: The longest step on whitened rows, over the usual one.
_LONGEST_STEP = 2.0
#: The longest step over the inverse curvature of whitened rows; with momentum 11 is stable.
_MOST_TURN = 2.0
#: The ``n mu`` for which the sum of steps is given; the largest ``n mu`` at which the factor of
#: hidden layers reaches 1; and, for few columns, that ``n mu`` per product of two columns.
_USUAL_SIGNAL, _HIDDEN_SIGNAL, _PRODUCT_SIGNAL = 6000.0, 20000.0, 20.0
#: The number of weights for which the sum of steps is given; the largest factor for smaller
#: networks, which have less noise; and the ``n mu`` from which the factor applies in full.
_USUAL_DIMENSION, _MOST_TRAVEL, _TRAVEL_SIGNAL = 7000.0, 6.0, 4000.0


def carries_no_network(budget):
    """Return whether there are too few rows to train a network, from public facts.

    `budget` counts the constant as a column. A fit would then be mostly noise, whose size depends
    on the unknown length of rows.
    """
    columns = budget.n_columns
    return (budget.is_private and budget.delta > 0
            and are_few(columns * budget.signal_to_noise, columns))


def weighted_clip(budget, ratio):
    """Return the default clip norm, for classes whose largest weights have this ratio."""
    if not (budget.is_private and budget.delta > 0):
        return 1.0
    signal = budget.n_columns * budget.signal_to_noise
    return max(1.0, min(LONGEST_CLIP, float(ratio), signal / CLIP_SIGNAL))


def few_rows_factor(budget, of_scores):
    """Return the factor that shrinks predictions that are mostly noise; 1 where they are not.

    Predictions of targets are shrunk at fewer rows than scores, because the biases of a network
    correct a noisy mean of targets.
    """
    if not (budget.is_private and budget.delta > 0):
        return 1.0
    few = budget.n_columns * budget.signal_to_noise < (_FEW_SIGNAL if of_scores else _FEWER_SIGNAL)
    if few or (of_scores and carries_no_network(budget)):
        return FEW_ROWS_FACTOR
    if of_scores or not are_many(budget.n_columns):
        return 1.0
    # Rows are not whitened, and every column adds its own noise.
    return budget.signal_to_noise / (budget.signal_to_noise + _WIDE_SIGNAL)


def hidden_scale(problem):
    """Return the factor of the hidden layers' output, which is added to a linear path.

    It is ``n mu / min(20000, 20 (p + 1)^2)`` for p columns, at most 1. Noise makes hidden layers
    a random function, whose size falls with the square of the factor. With few columns, even few
    rows show more than a linear function.
    """
    products = (problem.model.n_features + 1)**2
    whole = min(_HIDDEN_SIGNAL, _PRODUCT_SIGNAL * products)
    return float(min(1.0, problem.n_samples * problem.mu / whole))


def whitened_length(n_features):
    """Return the length of a usual whitened row: columns of size 1 up to 16, and 4 beyond."""
    return min(_LONGEST_ROW, math.sqrt(n_features))


def network_batch_size(problem, batch_size):
    """Return the expected batch size: a 15th of the rows, or a quarter of whitened rows.

    On whitened rows it is smaller where more steps are made. It is within [256, 8192].
    """
    share = _BATCH_SHARE
    if problem.geometry is not None:
        share = min(share, _WHITENED_BATCH_SHARE * _longer_travel(problem))
    default = np.clip(problem.n_samples // share, _SMALLEST_BATCH, _LARGEST_BATCH)
    return min(problem.n_samples, batch_size or int(default))


def network_iterate(problem):
    """Return which iterates are averaged: a key of ITERATES."""
    return "tail" if problem.geometry is None else "half"


def network_steps(problem):
    """Return the number of steps: ``6 n mu / sqrt(d)`` within [30, 2000].

    Without noise, mu is `SAMPLE_MU`, as more steps on few rows overfit. On whitened rows it is
    the sum of steps over the usual step, or over the longest stable one, within [60, 1000].
    """
    if problem.geometry is None:
        mu = SAMPLE_MU if math.isinf(problem.mu) else problem.mu
        return int(np.clip(np.round(_wanted_steps(problem, mu)), _FEWEST, _MOST))
    usual = min(loss_defaults(problem.loss).network_step, _stable_step(problem))
    return int(np.clip(np.round(_travel(problem) / usual), _FEWEST_WHITENED, _MOST_WHITENED))


def network_step(problem, clip_norm, n_steps):
    """Return the step: that of the loss over the clip norm, less where noise allows fewer steps.

    The noise of T steps of length s in theta has a norm of about ``2 s C T sqrt(d) / (n mu)``,
    whatever the batch size. Therefore the budget determines the sum of steps on whitened rows.
    With a strong penalty, steps are shorter, as longer ones would diverge.
    """
    usual = loss_defaults(problem.loss).network_step
    if problem.geometry is None:
        step = usual / clip_norm * min(1.0, _wanted_steps(problem, problem.mu) / n_steps)
    else:
        step = min(_LONGEST_STEP * usual, _stable_step(problem),
                   _travel(problem, problem.weight_mean) / n_steps) / clip_norm
    return step / (1.0 + step * problem.penalty.smoothness)


def _wanted_steps(problem, mu):
    return _STEPS * problem.n_samples * mu / np.sqrt(problem.model.dimension)


def _stable_step(problem):
    """Return the longest stable step on whitened rows, times the clip norm.

    The fewer the columns, the larger the curvature in each of them.
    """
    n_features = problem.model.n_features
    curvature = problem.loss.smoothness * whitened_length(n_features)**2
    return _MOST_TURN * (n_features + 1) / curvature


def _longer_travel(problem, weight_mean=1.0):
    """Return the factor of the sum of steps on whitened rows, for networks smaller than usual.

    The noise of these steps grows with the square root of the dimension. Rows of small weights
    count as fewer rows, but not in the number of steps and batches, which privacy costs depend on.
    """
    room = min(1.0, weight_mean * problem.n_samples * problem.mu / _TRAVEL_SIGNAL)
    room *= math.sqrt(_USUAL_DIMENSION / problem.model.dimension)
    return min(_MOST_TRAVEL, max(1.0, room))


def _travel(problem, weight_mean=1.0):
    """Return the sum of steps on whitened rows, times the clip norm."""
    numbers = loss_defaults(problem.loss)
    signal = problem.n_samples * problem.mu / _USUAL_SIGNAL
    longer = _longer_travel(problem, weight_mean)
    return longer * numbers.network_travel * signal**numbers.network_growth
