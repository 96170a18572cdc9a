"""Validation of transitions; no error message carries a data value."""

import numpy as np

from dpsk._data.groups import groups_of, one_a_row
from dpsk._data.validation import check_next_rows, check_rows, refuse_source
from dpsk._parameters import check_real

__all__ = ["check_reward_bounds", "check_state_bounds", "check_transitions", "column_bounds"]


_UNIT = "transitions"


def check_reward_bounds(name, value):
    """Return the bounds of rewards as two floats, or raise a ValueError."""
    try:
        low, high = (check_real(name, end, low=-1e100, high=1e100, remedy="") for end in value)
        ordered = low < high
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise ValueError(f"{name}={value!r}: must be two finite public numbers (low, high) with "
                         "low < high, such as (0, 1); rewards are clipped to them, and they are "
                         "never read from the data.")
    return low, high


def check_state_bounds(name, value):
    """Return bounds of columns as an array of shape (2,) or (n_columns, 2), or None."""
    if value is None:
        return None
    try:
        bounds = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    shaped = bounds.shape == (2,) or (bounds.ndim == 2 and bounds.shape[1] == 2 and bounds.size)
    if not shaped:
        raise ValueError(f"{name} of shape {bounds.shape}: must be None, one pair (low, high) for "
                         "all columns, or one pair a column, shape (n_features, 2).")
    if not np.isfinite(bounds).all() or (np.abs(bounds) > 1e100).any():
        raise ValueError(f"{name}: every column needs finite bounds; give an unbounded one the "
                         "public range that matters, such as (-3, 3): states are clipped to it.")
    if not (bounds[..., 1] - bounds[..., 0] >= 1e-100).all():
        raise ValueError(f"{name}: low must be below high in every pair.")
    return bounds


def column_bounds(bounds, n_features):
    """Return bounds of every column, shape (n_features, 2), or None."""
    if bounds is None:
        return None
    if bounds.ndim == 2 and len(bounds) != n_features:
        raise ValueError(f"state_bounds of shape {bounds.shape}: must hold one pair for each of "
                         f"the {n_features} columns of states, shape ({n_features}, 2).")
    return np.broadcast_to(bounds, (n_features, 2)).copy()


def check_transitions(estimator, states, rewards, next_states, terminal, groups):
    """Return validated arrays of transitions.

    Returns
    -------
    states, next_states : ndarray of float64, shape (n, n_features)
    rewards, alive : ndarray of float64, shape (n,)
        `alive` is 0 where the episode ends with the transition, else 1.
    groups : Groups or None
    """
    refuse_source("states", states)
    states, rewards = check_rows(estimator, states, rewards, called="rewards", dtype=np.float64,
                                 y_numeric=True)
    if next_states is None:
        raise ValueError("next_states=None: a value rests on where each transition leads; pass "
                         "next_states= to fit, of the shape of states, and terminal= where "
                         "episodes end.")
    next_states = check_next_rows(estimator, "next_states", next_states, dtype=np.float64)
    count = len(states)
    if len(next_states) != count:
        raise ValueError(f"next_states of length {len(next_states)}: must be one state for each "
                         f"of the {count} transitions.")
    return (states, next_states, rewards, _alive(terminal, count),
            groups_of(groups, count, estimator.random_state, _UNIT))


def _alive(terminal, count):
    """Return 0 where an episode ends and 1 elsewhere."""
    if terminal is None:
        return np.ones(count)
    ends = one_a_row("terminal", terminal, count, _UNIT)
    if ends.dtype.kind not in "biuf" or not np.isin(ends, (0, 1)).all():
        raise ValueError("terminal: must be True where the episode ends with the transition, and "
                         "False elsewhere (or 1 and 0).")
    return 1.0 - ends.astype(np.float64)
