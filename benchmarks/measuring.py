"""How time and memory are measured."""

import time
import tracemalloc

import numpy as np

__all__ = ["fastest", "traced_peak"]


def fastest(*functions, repeats, clock=time.process_time):
    """Return the least time of each function over interleaved runs, in seconds."""
    least = np.full(len(functions), np.inf)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = clock()
            function()
            least[i] = min(least[i], clock() - start)
    return least


def traced_peak(function):
    """Return the peak of memory traced during the call, in bytes."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
