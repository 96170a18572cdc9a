"""A whole pays beforehand for one fit of each of its parts, and for no other."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakSet

from dpsk._charging.board import file_of_this_process
from dpsk.exceptions import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._charging.account import Account
    from dpsk._privacy.events import Event

__all__ = ["Carried", "Prepaid", "current", "paying"]

#: Those that may still pay, so that a fork finds them.
_LIVE: WeakSet[Prepaid] = WeakSet()
_LIVE_LOCK = threading.Lock()
#: What pays for the next fit of this thread, where the estimator brings nothing itself.
_CURRENT: ContextVar[Prepaid | None] = ContextVar("what is prepaid", default=None)


@dataclass(frozen=True)
class Carried:
    """Budgets and payment for the next fit of an estimator.

    Attributes
    ----------
    budgets : tuple of Account
        Those that were open in the process that it came from.
    prepaid : Prepaid or None
        What pays for it, as a part of something larger.
    """

    budgets: tuple[Account, ...] = ()
    prepaid: Prepaid | None = None


class Prepaid:
    """Pays for one fit, in whichever thread or process it is made.

    It travels with the estimator that it is for. A second fit, or a dearer one, is refused: who
    paid did not count it.

    Parameters
    ----------
    whole : str
        What has paid.
    files : frozenset
        Of the budgets that have.
    affords : callable, Event -> bool, or None
        Whether a price is within what was paid; None: any is.
    answers : object or None
        For the fit: answers that are kept, or given again.
    is_free : bool
        Whether the fit reads no data, so that no budget is looked for.
    """

    def __init__(self, whole: str, files: frozenset[Any],
                 affords: Callable[[Event], bool] | None = None, answers: Any = None,
                 is_free: bool = False) -> None:
        self.whole, self.files, self.answers, self.is_free = whole, files, answers, is_free
        self._affords, self._used, self._lock = affords, False, threading.Lock()
        # Once another process may have it, whoever removes the file has used it.
        self._file: str | None = None
        self._enlist()

    def use(self, name: str, event: Event) -> None:
        """Use it for a fit; a BudgetExceededError if it was used before, or does not suffice."""
        if self._affords is not None and not self._affords(event):
            raise BudgetExceededError(
                f"The fit of {name} costs more than {self.whole} has paid for it; nothing was "
                "drawn. A part may spend no more than the epsilon and delta that it is given.")
        with self._lock:
            if self._used or not self._taken():
                raise BudgetExceededError(
                    f"The fit of {name} is one more than {self.whole} has paid for; nothing was "
                    "drawn. A part fits itself once, where it is given its budget, and nothing "
                    "else; make other private fits before or after.")
            self._used = True

    def _taken(self) -> bool:
        """Return whether no other process has used it."""
        if self._file is None:
            return True
        try:
            os.unlink(self._file)
        except FileNotFoundError:
            return False
        return True

    def __getstate__(self) -> dict[str, Any]:
        if self.answers is not None:
            raise BudgetExceededError(
                f"{self.whole} keeps what its parts release, so they are fitted in its own "
                "process; leave out post_params, or fit without worker processes.")
        self.share()
        return {**vars(self), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()
        self._enlist()

    def _enlist(self) -> None:
        with _LIVE_LOCK:
            _LIVE.add(self)

    def share(self) -> None:
        """Let one of several processes use it."""
        with self._lock:
            if self._file is None and not self._used:
                self._file = file_of_this_process(".paid")

    def renew(self) -> None:
        """Have a lock of this process's own, as a thread that is not here may hold it."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Pay for nothing from now on."""
        with self._lock:
            self._taken()
            self._used = True


def _share_all() -> None:
    with _LIVE_LOCK:
        live = list(_LIVE)
    for each in live:
        each.share()


def _renew_all() -> None:
    global _LIVE_LOCK
    _LIVE_LOCK = threading.Lock()
    for each in list(_LIVE):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_share_all, after_in_child=_renew_all)


def current() -> Prepaid | None:
    """Return what pays for a fit in this thread that brings nothing itself."""
    return _CURRENT.get()


@contextmanager
def paying(prepaid: Prepaid | None) -> Iterator[None]:
    """Let fits of this thread that bring nothing be paid so; None: each is charged for itself."""
    before = _CURRENT.get()
    # Inside, as an interrupt may come once it is set.
    try:
        _CURRENT.set(prepaid)
        yield
    finally:
        _CURRENT.set(before)
