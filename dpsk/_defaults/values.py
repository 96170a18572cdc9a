"""Defaults of policy evaluation, measured in docs/results/temporal_differences.md."""

import math

__all__ = ["BANDWIDTH", "NOISELESS_FEATURES", "feature_count", "values_solver"]

#: Deviation of random frequencies, for states in the unit ball.
BANDWIDTH = 2.6
#: Random features without a budget.
NOISELESS_FEATURES = 256
_FEWEST, _MOST = 8, 512
#: Largest discount at which solving for the fixed point tolerates the noise of its moments.
_SHORT_DISCOUNT = 0.75


def feature_count(n_units, mu):
    """Return the number of random features, even: about the square root of ``n mu``.

    With more features the operator norm of the noise grows, while that of the moments does not.
    """
    if not math.isfinite(mu):
        return NOISELESS_FEATURES
    return 2 * round(0.5 * min(max(math.sqrt(n_units * mu), _FEWEST), _MOST))


def values_solver(gamma, plain):
    """Return the name of the solver that "auto" stands for.

    Solving for the fixed point multiplies the noise of its moments by the horizon. Steps do not,
    but take more time. `plain` says that values are linear, the fit is private, and single
    transitions are protected; in other cases, steps were not found to be better.
    """
    return "td" if plain and gamma > _SHORT_DISCOUNT else "lstd"
