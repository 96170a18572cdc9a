"""Prepaid fits: an outer fit pays in advance for one fit of each of its parts."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakSet

from dpsk._charging.board import file_of_this_process
from dpsk._context import holding, refuse_fork_of
from dpsk.exceptions import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from dpsk._charging.account import Account
    from dpsk._privacy.events import Event

__all__ = ["Admission", "Carried", "Prepaid", "current", "paying"]

#: All instances of this process, so that a fork can share them.
_LIVE: WeakSet[Prepaid] = WeakSet()
_LIVE_LOCK = threading.Lock()
#: Pays for the next fit of this thread if the estimator carries no payment.
_CURRENT: ContextVar[Prepaid | None] = ContextVar("what is prepaid", default=None)


@dataclass(frozen=True)
class Carried:
    """Budgets and payment for the next fit of an estimator.

    Attributes
    ----------
    budgets : tuple of Account
        Budgets that were open in the process that pickled the estimator.
    prepaid : Prepaid or None
        Payment for the fit, if it is a part of a larger fit.
    """

    budgets: tuple[Account, ...] = ()
    prepaid: Prepaid | None = None


class Prepaid:
    """Payment for one fit, in any thread or process.

    The estimator of that fit carries it. A second fit, or a fit that costs more, is refused,
    because the outer fit did not account for it.

    Parameters
    ----------
    whole : str
        Name of the outer fit, which has paid.
    files : frozenset
        Identities of the files of the budgets that were charged.
    affords : callable, Event -> bool, or None
        Whether the payment covers an event; None covers any event.
    answers : object or None
        Store of mechanism outputs that the fit keeps or reuses.
    is_free : bool
        Whether the fit reads no data, so that no budget is charged.
    """

    def __init__(self, whole: str, files: frozenset[Any],
                 affords: Callable[[Event], bool] | None = None, answers: Any = None,
                 is_free: bool = False) -> None:
        self.whole, self.files, self.answers, self.is_free = whole, files, answers, is_free
        self._affords, self._used, self._lock = affords, False, threading.Lock()
        # Once several processes share the payment, the one that removes this file has used it.
        self._file: str | None = None
        self._enlist()

    def use(self, name: str, event: Event) -> None:
        """Use it for a fit; raise a BudgetExceededError if used before or too small."""
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
        """Remove the shared file, and return whether no other process has used it."""
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
        """Prepare for several processes, of which only one can use it."""
        with self._lock:
            if self._file is None and not self._used:
                self._file = file_of_this_process(".paid")

    def renew(self) -> None:
        """Replace the lock after a fork, as a thread of the parent may hold it."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Pay for nothing from now on."""
        with self._lock:
            self._taken()
            self._used = True


@dataclass(frozen=True)
class Admission:
    """An admitted fit, which can pay for its parts.

    Attributes
    ----------
    name : str
        Name of the estimator.
    files : frozenset
        Identities of the files of the budgets that were charged.
    answers : object or None
        Store of mechanism outputs to keep or to reuse, if the prepaid fit has one.
    process : int
        Number of the process that was charged, or to which the admission was sent. Only this
        process may release something, and none that is forked from it.
    """

    name: str
    files: frozenset[Any] = field(default_factory=frozenset)
    answers: Any = None
    process: int = field(default_factory=os.getpid)

    def pays_for(self, affords: Callable[[Event], bool] | None = None,
                 answers: Any = None) -> Prepaid:
        """Return a `Prepaid` that pays for one part of the fit."""
        refuse_fork_of(self.process)
        return Prepaid(self.name, self.files, affords, answers)

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers of a search are sent their admission, while a fork inherits it.
        return Admission, (self.name, self.files, self.answers)


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
    """Return the payment for fits in this thread whose estimator carries none."""
    return _CURRENT.get()


def paying(prepaid: Prepaid | None) -> AbstractContextManager[None]:
    """Let `prepaid` pay for this thread's fits whose estimator carries no payment.

    None charges each fit as usual.
    """
    return holding(_CURRENT, prepaid)
