"""What stages may spend, and when they are worth it: docs/theory/whitening.md, networks.md and
temperature.md say on what each number was found."""

import math

from dpsk._privacy.closed_forms import gaussian_mu

__all__ = ["COUNT_SHARE", "LEAST_FLOOR", "LEAST_SHARE", "MEAN_SHARE", "MOMENT_SHARE",
           "MOST_COLUMNS", "MOST_MEAN_NOISE", "NOISE_FLOOR", "SLOPES_SHARE", "SLOPE_CLIP_SHARE",
           "mu_of_share"]

#: Shares of mu^2: of the second moment, of the mean of rows, of counts, of slopes.
MOMENT_SHARE, MEAN_SHARE, COUNT_SHARE, SLOPES_SHARE = 0.2, 0.03, 0.01, 0.02
#: Beyond this many columns the second moment is too large to be worth its time.
MOST_COLUMNS = 2000
#: The floor under eigenvalues over the size of the noise in operator norm.
NOISE_FLOOR = 0.5
#: The least floor, over the squared norm bound of rows: finer directions drown in gradient noise.
LEAST_FLOOR = 0.0026
#: The most noise on a mean, in units of the bound on rows, that is worth having by default.
MOST_MEAN_NOISE = 0.5
#: Smaller shares of a group than this would be mostly noise.
LEAST_SHARE = 0.01
#: Clip norm of a slope over the bound on weighted scores, which few rows come near.
SLOPE_CLIP_SHARE = 0.3


def mu_of_share(problem, share):
    """Return the mu that a share of mu^2 allows."""
    return math.sqrt(share) * gaussian_mu(problem.epsilon, problem.delta)
