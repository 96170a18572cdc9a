"""One rule for training networks: clip, batch, steps and their length, from public numbers.

See docs/theory/networks.md for what each number was found on.
"""

import math

import numpy as np

from dpsk._defaults.budgets import FEW_ROWS_FACTOR, are_few, are_many
from dpsk._defaults.losses import loss_defaults

__all__ = ["ADAPTIVE_STEP", "MANY_WEIGHTS", "MOMENTUM", "USUAL_FACTOR", "carries_no_network",
           "few_rows_factor", "hidden_scale", "network_batch_size", "network_iterate",
           "network_step", "network_steps", "whitened_length"]

MOMENTUM = 0.7
#: From here on a thread that draws the noise of an answer costs less than it saves.
MANY_WEIGHTS = 1 << 14
#: The step of adaptive directions, whose coordinates are about 1.
ADAPTIVE_STEP = 5e-3
#: What scores of two classes are multiplied by after clipped training.
USUAL_FACTOR = 0.65
#: The ``n mu`` below which rows are few: for scores on whitened rows, and for predictions of
#: targets on any.
_FEW_SIGNAL, _FEWER_SIGNAL = 40.0, 10.0
#: The signal at which predictions of targets from many columns are half noise.
_WIDE_SIGNAL = 2.0
#: The most length of a usual whitened row, beside the 1 of the biases.
_LONGEST_ROW = 4.0
#: The steps that a unit of signal pays for.
_STEPS = 6.0
_FEWEST, _MOST = 30, 2000
_BATCH_SHARE, _SMALLEST_BATCH, _LARGEST_BATCH = 15, 256, 8192
#: The same of whitened rows: few columns, of which the rows that are drawn say less than noise.
_FEWEST_WHITENED, _MOST_WHITENED, _WHITENED_BATCH_SHARE = 60, 1000, 4
#: Times the usual one, the longest step on whitened rows.
_LONGEST_STEP = 2.0
#: The longest step over the inverse curvature of whitened rows; momentum would bear 11.
_MOST_TURN = 2.0
#: The ``n mu`` that the sum of steps is given at, and that at which hidden layers count whole at
#: the latest; for few columns this many for each product of two.
_USUAL_SIGNAL, _HIDDEN_SIGNAL, _PRODUCT_SIGNAL = 6000.0, 20000.0, 20.0
#: The size of networks that the sum of steps is given for, by how much it is larger at most of
#: smaller ones, on which noise is shorter, and the ``n mu`` from which on it is.
_USUAL_DIMENSION, _MOST_TRAVEL, _TRAVEL_SIGNAL = 7000.0, 6.0, 4000.0


def carries_no_network(budget):
    """Return whether rows are too few to be whitened or for many columns, from public facts.

    `budget` counts the constant as a column. Noise is then most of what is learnt: its size
    follows the length of rows, which nobody knows.
    """
    columns = budget.n_columns
    return (budget.is_private and budget.delta > 0
            and are_few(columns * budget.signal_to_noise, columns))


def few_rows_factor(budget, of_scores):
    """Return what predictions are multiplied by, as noise is most of them; 1 where it is not.

    Constants of networks mend those of targets where the released mean is noisy.
    """
    if not (budget.is_private and budget.delta > 0):
        return 1.0
    few = budget.n_columns * budget.signal_to_noise < (_FEW_SIGNAL if of_scores else _FEWER_SIGNAL)
    if few or (of_scores and carries_no_network(budget)):
        return FEW_ROWS_FACTOR
    if of_scores or not are_many(budget.n_columns):
        return 1.0
    # Rows are not whitened, and noise has a part of its own in every column.
    return budget.signal_to_noise / (budget.signal_to_noise + _WIDE_SIGNAL)


def hidden_scale(problem):
    """Return the factor of what hidden layers say beside a linear path.

    ``n mu / min(20000, 20 (p + 1)^2)`` for p columns, at most 1. What noise makes of hidden layers
    is a random function whose size falls with the square of the factor; of few columns even few
    rows tell more than a line.
    """
    products = (problem.model.n_features + 1)**2
    whole = min(_HIDDEN_SIGNAL, _PRODUCT_SIGNAL * products)
    return float(min(1.0, problem.n_samples * problem.mu / whole))


def whitened_length(n_features):
    """Return the length of a usual whitened row: columns of size 1 up to 16, and 4 beyond."""
    return min(_LONGEST_ROW, math.sqrt(n_features))


def network_batch_size(problem, batch_size):
    """Return the expected batch size: a 15th of the rows, a quarter of whitened ones.

    Less of whitened ones where more steps are made. Within [256, 8192].
    """
    share = _BATCH_SHARE
    if problem.geometry is not None:
        share = min(share, _WHITENED_BATCH_SHARE * _longer_travel(problem))
    default = np.clip(problem.n_samples // share, _SMALLEST_BATCH, _LARGEST_BATCH)
    return min(problem.n_samples, batch_size or int(default))


def network_iterate(problem):
    """Return which iterates are averaged, a key of ITERATES."""
    return "tail" if problem.geometry is None else "half"


def network_steps(problem):
    """Return the number of steps: ``6 n mu / sqrt(d)`` within [30, 2000].

    On whitened rows the travel over the usual step, or one that is stable, within [60, 1000].
    """
    if problem.geometry is None:
        return int(np.clip(np.round(_wanted_steps(problem)), _FEWEST, _MOST))
    usual = min(loss_defaults(problem.loss).network_step, _stable_step(problem))
    return int(np.clip(np.round(_travel(problem) / usual), _FEWEST_WHITENED, _MOST_WHITENED))


def network_step(problem, clip_norm, n_steps):
    """Return the step: the loss's over the clip norm, less where noise allows fewer steps.

    The noise that T steps of length s leave in theta has norm of about
    ``2 s C T sqrt(d) / (n mu)``, whatever the batch: on whitened rows the sum of steps, the
    travel, follows the budget. Beside a strong penalty steps are shorter, as longer ones would
    diverge.
    """
    usual = loss_defaults(problem.loss).network_step
    if problem.geometry is None:
        step = usual / clip_norm * min(1.0, _wanted_steps(problem) / n_steps)
    else:
        step = min(_LONGEST_STEP * usual, _stable_step(problem),
                   _travel(problem) / n_steps) / clip_norm
    return step / (1.0 + step * problem.penalty.smoothness)


def _wanted_steps(problem):
    signal = problem.n_samples * problem.mu
    return _STEPS * signal / np.sqrt(problem.model.dimension)


def _stable_step(problem):
    """Return the longest step on whitened rows, times the clip norm, that curvature bears.

    Over few columns it is large in every one of them.
    """
    n_features = problem.model.n_features
    curvature = problem.loss.smoothness * whitened_length(n_features)**2
    return _MOST_TURN * (n_features + 1) / curvature


def _longer_travel(problem):
    """Return by how much steps on whitened rows add up to more than those of a usual network.

    The noise that they leave grows with the root of the dimension.
    """
    room = min(1.0, problem.n_samples * problem.mu / _TRAVEL_SIGNAL)
    room *= math.sqrt(_USUAL_DIMENSION / problem.model.dimension)
    return min(_MOST_TRAVEL, max(1.0, room))


def _travel(problem):
    """Return the sum of steps on whitened rows, times the clip norm."""
    numbers = loss_defaults(problem.loss)
    signal = problem.n_samples * problem.mu / _USUAL_SIGNAL
    return _longer_travel(problem) * numbers.network_travel * signal**numbers.network_growth
