"""Processor time as a ratio to a job of known work, measured in turns within one process."""

import time

__all__ = ["processor_ratio"]


def processor_ratio(function, yardstick, repeats=7):
    """Return the least processor time of a function over that of a yardstick.

    The two run in turns, so that a busy or a slow machine meets both.
    """
    least = [float("inf")] * 2
    # One round more, which is not counted: caches and imports.
    for turn in range(repeats + 1):
        for i, each in enumerate((function, yardstick)):
            start = time.process_time()
            each()
            if turn:
                least[i] = min(least[i], time.process_time() - start)
    return least[0] / least[1]
