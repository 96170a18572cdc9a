"""Random events, for property-based tests."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from dpsk._privacy.best_of import BestOf
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Dominated,
    Gaussian,
    Pure,
    Repeated,
    SampledGaussian,
)

__all__ = ["ELEMENTS", "cheap_events", "elementary", "events", "quick"]

#: The same few examples in every run, so that a failure is a change of the code; `make audit`
#: asks for many, and for others each time.
_EXAMPLES = int(os.environ.get("DPSK_EXAMPLES", "0"))
quick = settings(derandomize=not _EXAMPLES, deadline=None, max_examples=_EXAMPLES or 40,
                 database=None, print_blob=True,
                 suppress_health_check=[HealthCheck.too_slow])


def _numbers(least, most):
    return st.floats(least, most, allow_nan=False)


#: Elementary events of every kind; a new kind needs an entry.
ELEMENTS = {
    Gaussian: st.builds(Gaussian, _numbers(0, 2)),
    # At rates below, the grid gives up and answers 1.
    SampledGaussian: st.builds(SampledGaussian, st.just(0.0) | _numbers(1e-9, 1),
                               _numbers(0.5, 20)),
    Pure: st.builds(Pure, _numbers(0, 1)),
    Dominated: st.builds(Dominated, _numbers(0, 0.5), _numbers(0, 0.5)),
    Disclosure: st.builds(Disclosure, st.just(0.0) | _numbers(1e-12, 0.1)),
    BestOf: st.builds(BestOf, st.builds(Gaussian, _numbers(0, 1))
                      | st.builds(Pure, _numbers(0, 1)), _numbers(1, 30),
                      st.just(1.0) | _numbers(0.1, 3)),
}

elementary = st.one_of(*ELEMENTS.values())


def _nested(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.builds(Repeated, inner, st.integers(0, 5)),
                                st.builds(lambda parts: Composed(tuple(parts)),
                                          st.lists(inner, max_size=3))),
        max_leaves=5)


events = _nested(elementary)
#: Those that have closed forms unless they are mixed.
cheap_events = _nested(st.one_of(ELEMENTS[Gaussian], ELEMENTS[Pure]))
