"""Which budgets a fit is charged to: those that are entered, and those that came with it."""

from __future__ import annotations

import os
import platform
import threading
import time
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._privacy.events import Event
from dpsk._rehearsal import stop_rehearsal

if TYPE_CHECKING:
    from typing import Any

__all__ = ["CarriesBudgets", "Charge", "admit", "covered", "enter", "leave", "this_process",
           "uncovered"]

#: Budgets that are entered, the innermost last; those of the process, whatever the thread.
_ACTIVE: list[Any] = []
_ACTIVE_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    # No child may get it locked by a thread that it does not have.
    os.register_at_fork(before=_ACTIVE_LOCK.acquire, after_in_parent=_ACTIVE_LOCK.release,
                        after_in_child=_ACTIVE_LOCK.release)
#: Beside its number, what tells a process from those of other machines and containers.
_ORIGIN = platform.node(), time.time_ns()
#: Files of the budgets that have paid for all that the current fit is made of.
_COVERED: ContextVar[frozenset[str]] = ContextVar("covered budgets", default=frozenset())


@dataclass(frozen=True)
class Charge:
    """What one fit was charged for.

    Attributes
    ----------
    name : str
        Of the estimator.
    event : Event
        What it declared.
    """

    name: str
    event: Event


def enter(budget):
    """Charge a budget for all fits from now on."""
    with _ACTIVE_LOCK:
        _ACTIVE.append(budget)


def leave(budget):
    """Undo the last `enter` of a budget."""
    with _ACTIVE_LOCK:
        # The innermost: it may have been entered twice.
        del _ACTIVE[len(_ACTIVE) - 1 - _ACTIVE[::-1].index(budget)]


class CarriesBudgets:
    """What is pickled inside of a budget charges it in the process that it goes to.

    So do clones that are made there, also of what is fitted: it may be fitted again.
    """

    #: Budgets of another process, which `fit` there charges; not a parameter.
    _budgets = ()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[misc]  # of an estimator
        carried = {budget.path: budget for budget in (*_away(self._budgets), *_active())}
        state.pop("_budgets", None)
        if carried:
            state["_budgets"] = tuple(carried.values())
        return state

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]  # of an estimator
        if self._budgets:
            copy._budgets = self._budgets
        return copy


def _active():
    """Return the budgets that are entered in this process."""
    with _ACTIVE_LOCK:
        return tuple(_ACTIVE)


def _away(budgets):
    """Return the budgets of other processes: where they were made those entered are known."""
    return [budget for budget in budgets if budget._owner != this_process()]


def this_process():
    """Return what no other process is known by."""
    return os.getpid(), *_ORIGIN


def _file(budget):
    """Return what a file is known by, whatever the path; its lock is one."""
    status = os.stat(budget.path)
    return status.st_dev, status.st_ino


def admit(name, event, *, carried=(), of_groups=False):
    """Charge all budgets that are open for a fit, or none and raise.

    Parameters
    ----------
    name : str
        Of the estimator.
    event : Event
        All that it may release.
    carried : tuple of PrivacyBudget
        Those that an estimator came with from another process.
    of_groups : bool
        Whether the fit protects groups of rows.

    Returns
    -------
    files : frozenset
        Of the budgets that have paid.
    """
    stop_rehearsal()
    budgets = {_file(budget): budget for budget in (*_active(), *_away(carried))}
    files = sorted(set(budgets) - _COVERED.get())
    if not files:
        return frozenset()
    open_ones = [budgets[file] for file in files]
    charge = Charge(name, event)
    with ExitStack() as stack:
        # All locks in one order, then all checks, then all charges.
        pages = [stack.enter_context(budget._journal.locked()) for budget in open_ones]
        for budget, each in zip(open_ones, pages, strict=True):
            budget._check(each, charge, of_groups)
        for budget, each in zip(open_ones, pages, strict=True):
            budget._write(each, charge)
    return frozenset(files)


def covered(files):
    """Charge nothing more to budgets that have paid for all that is fitted inside."""
    return _with_covered(_COVERED.get() | files)


def uncovered():
    """Charge what is fitted inside for itself: nobody has paid for it."""
    return _with_covered(frozenset())


@contextmanager
def _with_covered(files):
    token = _COVERED.set(files)
    try:
        yield
    finally:
        _COVERED.reset(token)
