"""Defaults of values of states: docs/results/temporal_differences.md says what they rest on."""

import math

__all__ = ["BANDWIDTH", "NOISELESS_FEATURES", "feature_count"]

#: Deviation of random frequencies, for states in the unit ball.
BANDWIDTH = 2.6
#: Random features without a budget.
NOISELESS_FEATURES = 256
_FEWEST, _MOST = 8, 512


def feature_count(n_units, mu):
    """Return the number of random features, even: about the root of ``n mu``.

    More of them make noise larger in operator norm beside moments that stay as they are.
    """
    if not math.isfinite(mu):
        return NOISELESS_FEATURES
    return 2 * round(0.5 * min(max(math.sqrt(n_units * mu), _FEWEST), _MOST))
