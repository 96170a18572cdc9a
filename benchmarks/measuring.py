"""How memory is measured."""

import tracemalloc

__all__ = ["traced_peak"]


def traced_peak(function):
    """Return the peak of memory traced during the call, in bytes."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
