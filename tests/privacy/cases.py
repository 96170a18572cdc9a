"""Examples of every elementary event, for tests of what holds for all of them."""

import pytest

from dpsk._privacy.best_of import BestOf
from dpsk._privacy.event_dicts import ELEMENTARY
from dpsk._privacy.events import Composed, Disclosure, Dominated, Gaussian, Pure, SampledGaussian

__all__ = ["EXAMPLES", "LAWS", "NOTHING", "every_example", "every_kind"]

#: A few simplified events of each kind; a new kind needs an entry.
EXAMPLES = {
    Gaussian: (Gaussian(0.02), Gaussian(0.4), Gaussian(3.0)),
    SampledGaussian: (SampledGaussian(0.01, 1.0), SampledGaussian(0.3, 4.0)),
    Pure: (Pure(0.01), Pure(0.4), Pure(2.0)),
    Dominated: (Dominated(0.0, 0.3), Dominated(0.1, 0.2), Dominated(1.0, 2.0)),
    Disclosure: (Disclosure(1e-9), Disclosure(0.01)),
    BestOf: (BestOf(Gaussian(0.2), 10.0), BestOf(Pure(0.2), 3.0, 0.5),
             BestOf(Gaussian(1.0), 2.0, 3.0)),
}

#: Events of each kind by which nothing is released.
NOTHING = {
    Gaussian: (Gaussian(0.0),),
    SampledGaussian: (SampledGaussian(0.0, 1.0), SampledGaussian(0.0, 1e-3)),
    Pure: (Pure(0.0),),
    Dominated: (Dominated(0.0, 0.0),),
    Disclosure: (Disclosure(0.0),),
    BestOf: (BestOf(Gaussian(0.0), 10.0), BestOf(Composed(()), 3.0)),
}

#: Those whose loss has a law of its own; a disclosure is an infinite loss or none.
LAWS = [event for kind, events in EXAMPLES.items() for event in events if kind is not Disclosure]

every_kind = pytest.mark.parametrize("kind", ELEMENTARY, ids=lambda kind: kind.__name__)
every_example = pytest.mark.parametrize(
    "event", [event for events in EXAMPLES.values() for event in events], ids=repr)
