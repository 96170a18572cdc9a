"""Progress of a long fit, from public facts only."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from dpsk._context import holding

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

__all__ = ["Progress", "opened_progress", "watching", "without_callbacks"]

#: Seconds between lines, so that a short fit prints none.
_EVERY = 1.0
#: Returns the function to call at every answer, from the plan's name and number; or None.
_WATCHER: ContextVar[Callable[..., Any] | None] = ContextVar("watcher of answers",
                                                             default=None)


class Progress:
    """Print, at most once a second, how many of the planned answers were asked for.

    Parameters
    ----------
    name : str or None
        Name of the estimator; None: nothing is printed.
    total : int
        Number of planned answers.
    tell : callable or None
        Called for every answer as well.
    """

    def __init__(self, name: str | None = None, total: int = 0,
                 tell: Callable[..., Any] | None = None) -> None:
        self._name, self._total, self._asked, self._tell = name, total, 0, tell
        self._start = self._last = time.monotonic()

    def __call__(self) -> None:
        """Count an answer."""
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
    """Return a counter of the answers of a plan, which prints or calls the watcher."""
    watcher = _WATCHER.get()
    tell = None if watcher is None or not total else watcher(name, total)
    return Progress(name if verbose else None, total, tell)


def watching(watcher: Callable[..., Any] | None) -> AbstractContextManager[None]:
    """Call ``watcher(name, total)()`` for every answer inside the block; None: no watcher."""
    return holding(_WATCHER, watcher)


def without_callbacks(estimator: Any) -> Any:
    """Return an estimator without callbacks, its inner estimators included."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        # A parameter may be a class, whose dictionary must not be changed.
        if not isinstance(part, type):
            getattr(part, "__dict__", {}).pop("_skl_callbacks", None)
    return estimator
