"""Bounds on what a release of normal noise costs, where row 0 turns around in the neighbor."""

import numpy as np
from audit_settings import EPSILON, LEVEL, gaussian_mu
from scipy.stats import chi2
from test_fits import DELTA, normal_threshold

from dpsk.auditing import epsilon_lower_bound, mu_lower_bound

__all__ = ["MU", "bounds", "scale_is_accepted"]

MU = gaussian_mu(EPSILON, DELTA)
#: Calls on each table.
_RUNS = 1200


def bounds(release, std, answers, share=0.99):
    """Return lower bounds on epsilon and mu of a release with the noise that is set.

    `release` goes from 1.0 or -1.0, which say the table, to an answer; `answers` are those
    without noise, and `std` is the noise of every number. One shows at least `share` of MU.
    """
    here, there = answers
    direction = (here - there) / std**2
    shift = np.linalg.norm((here - there) / std)
    # No release moves by more than it is charged for, and these come near.
    assert share * MU < shift < MU * (1 + 1e-3)
    # Where less shows, a fifth of the noise is what is found, and any threshold will do.
    best = normal_threshold(shift, _RUNS, DELTA, MU, -np.inf) if share > 0.8 else 0.0
    found = []
    for sign in (1.0, -1.0):
        ratios = [(release(sign) - (here + there) / 2) @ direction / shift for _ in range(_RUNS)]
        found += [int(np.sum(np.array(ratios) > best)), _RUNS]
    return (epsilon_lower_bound(*found, delta=DELTA, level=LEVEL),
            mu_lower_bound(*found, level=LEVEL))


def scale_is_accepted(noise):
    """Return whether noise over its declared scale passes a two-sided chi-square test.

    At level 1e-8.
    """
    total, law = np.square(noise).sum(), chi2(noise.size)
    return min(law.cdf(total), law.sf(total)) > 0.5e-8
