"""Events of certificates, counted and priced through the public accountant."""

import math
from collections import Counter

from dpsk.accounting import (
    Composed,
    Disclosure,
    Gaussian,
    Repeated,
    certificate_schema,
    delta,
    noise_multiplier,
)

__all__ = ["GROUP_RELATION", "RELATION", "disclosed", "gaussian_delta", "gaussian_mu", "tally",
           "total_mu"]

#: The relations of certificates: single rows, and groups of them.
RELATION, GROUP_RELATION = certificate_schema()["properties"]["relation"]["enum"]


def tally(event):
    """Count the elementary releases of an event."""
    if isinstance(event, Composed):
        return sum(map(tally, event.events), Counter())
    if isinstance(event, Repeated):
        return Counter({one: event.count * count for one, count in tally(event.event).items()
                        if event.count})
    return Counter([event])


def gaussian_delta(mu, epsilon):
    """Return the delta of one Gaussian release."""
    return delta(Gaussian(mu), epsilon)


def gaussian_mu(epsilon, delta):
    """Return the mu of the Gaussian release that costs a budget."""
    return 1.0 / noise_multiplier(lambda z: Gaussian(1.0 / z), epsilon, delta)


def total_mu(event):
    """Return the mu of the one Gaussian release that costs as much as all of an event."""
    return math.sqrt(sum(count * one.mu**2 for one, count in tally(event).items()
                         if isinstance(one, Gaussian)))


def disclosed(event):
    """Return the chances of an event's disclosures, added."""
    return sum(count * one.delta for one, count in tally(event).items()
               if isinstance(one, Disclosure))
