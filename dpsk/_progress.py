"""Progress of a long fit, in public facts only."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


__all__ = ["Progress", "opened_progress", "watching", "without_callbacks"]

#: Seconds between lines, so that a short fit prints none.
_EVERY = 1.0
#: Makes what is told of the answers of a plan, from its name and their number; or None.
_WATCHER: ContextVar[Callable[..., Any] | None] = ContextVar("watcher of answers",
                                                             default=None)


class Progress:
    """Prints, at most once a second, how many of the planned answers have been asked for.

    Parameters
    ----------
    name : str or None
        Of the estimator; None: nothing is printed.
    total : int
        The number of answers that the plan holds.
    tell : callable or None
        Called for every answer as well.
    """

    def __init__(self, name: str | None = None, total: int = 0,
                 tell: Callable[..., Any] | None = None) -> None:
        self._name, self._total, self._asked, self._tell = name, total, 0, tell
        self._start = self._last = time.monotonic()

    def __call__(self) -> None:
        """Count an answer that is asked for."""
        if self._tell is not None:
            self._tell()
        if self._name is None:
            return
        self._asked += 1
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            print(f"{self._name}: answer {self._asked} of {self._total}, "
                  f"{now - self._start:.0f} s", flush=True)


def opened_progress(name: str, total: int, verbose: int) -> Progress:
    """Return what counts the answers of a plan, for whoever prints or watches."""
    watcher = _WATCHER.get()
    tell = None if watcher is None or not total else watcher(name, total)
    return Progress(name if verbose else None, total, tell)


@contextmanager
def watching(watcher: Callable[..., Any] | None) -> Iterator[None]:
    """Tell `watcher(name, total)()` of every answer that is asked for inside; None: nobody."""
    before = _WATCHER.get()
    # Inside, as an interrupt may come once it is set.
    try:
        _WATCHER.set(watcher)
        yield
    finally:
        _WATCHER.set(before)


def without_callbacks(estimator: Any) -> Any:
    """Return an estimator that tells nobody of its fits, nor do those inside of it."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        # A parameter may be a class, whose dictionary is not its own to change.
        if not isinstance(part, type):
            getattr(part, "__dict__", {}).pop("_skl_callbacks", None)
    return estimator
