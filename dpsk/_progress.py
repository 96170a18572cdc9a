"""What a long fit says of how far it is: public facts only."""

import time

__all__ = ["Progress"]

#: Seconds between lines, so that a short fit prints none.
_EVERY = 1.0


class Progress:
    """Prints, at most once a second, how many of the planned answers have been asked for.

    Parameters
    ----------
    name : str or None
        Of the estimator; None: nothing is printed.
    total : int
        The number of answers that the plan holds.
    """

    def __init__(self, name=None, total=0):
        self._name, self._total, self._asked = name, total, 0
        self._start = self._last = time.monotonic()

    def __call__(self):
        """Count an answer that is asked for."""
        if self._name is None:
            return
        self._asked += 1
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            print(f"{self._name}: answer {self._asked} of {self._total}, "
                  f"{now - self._start:.0f} s", flush=True)

    def repeat(self, count):
        """Plan the same answers of each of `count` groups of rows."""
        self._total *= count
