"""Values of long horizons at default settings."""

import numpy as np
import pytest

from dpsk import DPTDRegressor


@pytest.mark.audit
def test_values_of_a_long_horizon_are_worth_having_by_default():
    """R2 above .5 in each of three fits, where it is about .97."""
    rng = np.random.default_rng(0)
    states = rng.uniform(size=(20_000, 1))
    later = states + 0.03 + 0.1 * rng.normal(size=states.shape)
    later = np.where(later >= 1.0, 0.1, np.clip(later, 0.0, 1.0))
    given = {"states": states, "rewards": 0.5 + 0.5 * np.sin(6.0 * states[:, 0]),
             "next_states": later}
    fits = [DPTDRegressor(epsilon, gamma=0.9, reward_bounds=(0, 1), state_bounds=(0, 1))
            for epsilon in (np.inf, 0.5, 0.5, 0.5)]
    exact, *noisy = (each.fit(**given).predict(states[:2000]) for each in fits)
    for values in noisy:
        assert np.mean((values - exact) ** 2) < 0.5 * np.var(exact)
