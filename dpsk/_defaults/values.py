"""Defaults of values of states: docs/results/temporal_differences.md says what they rest on."""

import math

__all__ = ["BANDWIDTH", "NOISELESS_FEATURES", "feature_count", "values_solver"]

#: Deviation of random frequencies, for states in the unit ball.
BANDWIDTH = 2.6
#: Random features without a budget.
NOISELESS_FEATURES = 256
_FEWEST, _MOST = 8, 512
#: Discounts up to which the fixed point stands the noise of its moments.
_SHORT_DISCOUNT = 0.75


def feature_count(n_units, mu):
    """Return the number of random features, even: about the root of ``n mu``.

    More of them make noise larger in operator norm beside moments that stay as they are.
    """
    if not math.isfinite(mu):
        return NOISELESS_FEATURES
    return 2 * round(0.5 * min(max(math.sqrt(n_units * mu), _FEWEST), _MOST))


def values_solver(gamma, plain):
    """Return the name of the solver that "auto" stands for.

    Solving for the fixed point multiplies the noise of its moments by the horizon; steps do not,
    at the price of time. `plain` says that values are linear, under noise, and single transitions
    what is protected: of others steps were not found to be better.
    """
    return "td" if plain and gamma > _SHORT_DISCOUNT else "lstd"
