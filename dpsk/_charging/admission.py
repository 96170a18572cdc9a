"""Admit or refuse a fit: charge all open budgets before the fit draws noise.

A budget is open if this process or one of its ancestors entered it, if the estimator carries it,
or if an environment variable names it. A worker that cannot tell whether a budget is open refuses
the fit, because a fit that nobody charges would be free.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from dpsk._charging.account import Account
from dpsk._charging.board import (
    Note,
    inherited,
    is_below_another_user,
    is_orphan,
    is_posted,
    post,
    posted,
)
from dpsk._charging.facts import stated
from dpsk._charging.prepaid import Admission, current
from dpsk._charging.threads import this_thread
from dpsk._charging.unfinished import Unfinished, mark, under_way, unmark
from dpsk._privacy.charges import made_today
from dpsk._rehearsal import is_rehearsed, stop_rehearsal
from dpsk._warnings import note_charge
from dpsk.exceptions import BudgetExceededError, PrivacyWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from dpsk._charging.prepaid import Carried
    from dpsk._privacy.events import Event

__all__ = ["ENVIRONMENT", "admit", "enter", "entered", "in_secret", "is_alone",
           "leave", "open_budgets"]

#: Variable with the path of a budget that is charged for all fits of a process, or "none".
ENVIRONMENT = "DPSK_BUDGET"
_NO_BUDGET = "none"
_Of = TypeVar("_Of")


@dataclass(eq=False)
class _Block(Generic[_Of]):
    """Block of a budget or a search; it ends when all work started inside has ended."""

    #: The account of the budget, or the name of the search with a secret number of fits.
    of: _Of
    #: Work under way when the block was entered.
    before: Unfinished
    #: Work started inside that is not done; None while the block has not been left.
    left: Unfinished | None = None

    @property
    def is_open(self) -> bool:
        return self.left is None or self.left.is_in_process

    @property
    def may_be_here(self) -> bool:
        """bool : whether this thread may run work that was started inside.

        A thread that outlives the block may have started this thread later.
        """
        if self.left is None or self.left.may_be_here:
            return True
        older = {each if isinstance(each, int) else each.number for each in self.before.threads}
        here = {this_thread().number, threading.get_ident()}
        return bool(self.left.threads) and not older & here


#: Blocks of budgets in this process, the innermost last.
_ENTRIES: list[_Block[Account]] = []
#: Blocks in which the number of fits is secret, and a model's own code may fit more.
_SECRETS: list[_Block[str]] = []
_LOCK = threading.RLock()
_ACCOUNTS: dict[str, Account] = {}


def _renewed() -> None:
    # A thread of the parent may hold the lock, and it does not exist in the child.
    global _LOCK
    _LOCK = threading.RLock()
    # The child cannot wait for unfinished work of its parent, and needs a note of its own.
    _ENTRIES[:] = [_Block(each.of, Unfinished()) for each in _ENTRIES if each.is_open]
    _SECRETS[:] = [_Block(each.of, Unfinished()) for each in _SECRETS if each.may_be_here]
    if _ENTRIES or _SECRETS:
        _post()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renewed)


def enter(account: Account) -> None:
    """Charge an account for all fits from now on."""
    with _LOCK:
        _settle()
        _ENTRIES.append(_block(account))
        try:
            _post()
        except BaseException:
            # A budget that no worker would know of must not count as open.
            _ENTRIES.pop()
            _unmark()
            raise


def leave(account: Account) -> None:
    """Undo the last `enter` of an account; unfinished work since then stays charged."""
    # An account may have been entered twice: leave the innermost block.
    if _end(lambda: next(each for each in reversed(_ENTRIES)
                         if each.of is account and each.left is None)):
        warnings.warn(
            f"{account!r}: work that was begun inside is not done, such as a thread, or results "
            "of joblib.Parallel(return_as='generator') that nobody has read. All fits are charged "
            "until it is; join threads and read all results inside of the block.",
            PrivacyWarning, stacklevel=3)


def _end(chosen: Callable[[], _Block[Any]]) -> bool:
    """Leave the block that `chosen` returns, and return whether its work goes on here.

    The block is also left if an error keeps the unfinished work from being found.
    """
    now = Unfinished()
    try:
        now = under_way()
    finally:
        with _LOCK:
            block = chosen()
            block.left = Unfinished()
            try:
                block.left = now.since(block.before)
            finally:
                _unmark()
                _settle()
                _post()
            left, goes_on = block.left, block.is_open
    left.tell(_told)
    return goes_on


def _unmark() -> None:
    """Remove the mark of `under_way`, unless a block that has not been left needs it."""
    blocks: list[_Block[Any]] = [*_ENTRIES, *_SECRETS]
    if all(each.left is not None for each in blocks):
        unmark()


def entered() -> list[Account]:
    """Return the accounts that this process charges for fits."""
    with _LOCK:
        _settle()
        if _ENTRIES and not is_posted():
            _post()
        return [each.of for each in _ENTRIES if each.is_open]


def _block(of: _Of) -> _Block[_Of]:
    """Return a block that is entered now."""
    before = under_way()
    # Count this thread as older too, because another thread may leave the block.
    before.threads.append(this_thread())
    mark()
    return _Block(of, before)


def _settle():
    """Remove blocks that have ended."""
    for blocks in (_ENTRIES, _SECRETS):
        for each in blocks:
            if each.left is not None:
                each.left = each.left.still()
        # Work that is dropped meanwhile calls this function as well.
        blocks[:] = [each for each in blocks if each.left is None or each.left]


def _told():
    """Update the note for descendants once work of a block is done."""
    with _LOCK:
        _settle()
        _post()


def _post():
    """Post a note that tells descendants which blocks are open."""
    of_children: dict[str, list[str]] = {}
    for entry in _ENTRIES:
        for number, _ in (entry.left.children if entry.left else ()):
            of_children.setdefault(str(number), []).append(entry.of.path)
    within = [each.of.path for each in _ENTRIES if each.is_open]
    secret = [number for each in _SECRETS if each.left for number, _ in each.left.children]
    outside = inherited()
    post(Note(within + (outside.budgets if within else []), of_children,
              outside.in_secret or any(each.left is None or each.left.may_be_in_workers
                                       for each in _SECRETS), secret))


@contextmanager
def in_secret(name: str) -> Iterator[None]:
    """Refuse all fits of this process that are not prepaid, inside the block.

    The number of fits inside is secret. Other fits look like fits that the code inside makes in
    threads, so charging them could reveal that number. Fits in threads and processes that were
    started inside and outlive the block stay refused.
    """
    with _LOCK:
        secret = _block(name)
        _SECRETS.append(secret)
    try:
        with _LOCK:
            _post()
        yield
    finally:
        _end(lambda: secret)


def admit(name: str, event: Event, *, carried: Carried | None = None,
          of_groups: bool = False, public: Iterable[str] = (),
          reproducible: bool = False) -> Admission:
    """Charge all open budgets for a fit, or charge none and raise.

    Parameters
    ----------
    name : str
        Name of the estimator.
    event : Event
        The privacy event of everything that the fit may release.
    carried : Carried or None
        Budgets and payment that the estimator carries.
    of_groups : bool
        Whether the fit protects groups of rows.
    public : iterable of str
        Facts that the fit is known to take as public.
    reproducible : bool
        Whether a seed makes its noise reproducible.

    Returns
    -------
    admission : Admission

    Raises
    ------
    BudgetExceededError
        If the fit is not admitted.
    """
    stop_rehearsal(event)
    process, prepaid = os.getpid(), _payment(carried)
    notes = list(posted())
    if prepaid is None:
        _refuse_beside_secrets(name, notes)
    accounts = {each.file: each for each in _open_accounts(name, carried, notes, prepaid)}
    paid = frozenset() if prepaid is None else prepaid.files
    due = [accounts[file] for file in sorted(set(accounts) - paid)]
    charge = made_today(name, event, stated(public), of_groups=of_groups,
                        reproducible=reproducible)
    with ExitStack() as stack:
        # Take all locks in sorted order, then do all checks, then write all charges.
        pages = [stack.enter_context(each.journal.locked()) for each in due]
        for account, each in zip(due, pages, strict=True):
            account.check(each, charge)
        if prepaid is not None:
            prepaid.use(name, event)
        for account, each in zip(due, pages, strict=True):
            account.write(each, charge)
    note_charge()
    return Admission(name, paid | set(accounts), None if prepaid is None else prepaid.answers,
                     process)


def open_budgets(carried: Carried | None = None) -> list[Account]:
    """Return the accounts that a fit would be charged to now.

    Parameters
    ----------
    carried : Carried or None
        Budgets and payment that the estimator carries.
    """
    return _open_accounts("an estimator", carried, list(posted()), _payment(carried))


def is_alone(carried: Carried | None = None) -> bool:
    """Return whether a fit has no open budget, and is no part of a larger fit."""
    # Code that makes several fits and charges each, such as cross-validation, states facts.
    return not (is_rehearsed() or stated(()) or _payment(carried) is not None
                or open_budgets(carried))


def _payment(carried):
    """Return the `Prepaid` that pays for a fit, or None."""
    return (carried.prepaid if carried is not None else None) or current()


def _refuse_beside_secrets(name, notes):
    with _LOCK:
        _settle()
        found = [each.of for each in _SECRETS if each.may_be_here]
    if found or any(note.in_secret for note in (*notes, inherited())):
        raise BudgetExceededError(
            f"The fit of {name} is made while {found[0] if found else 'a search'} runs models "
            "with code of their own, or by what that code has begun, and cannot be told from its "
            "fits, whose number is secret; nothing was drawn. Fit after the search, in no thread, "
            "process or lazy result that was begun in it.")


def _open_accounts(name, carried, notes, prepaid):
    """Return the accounts to charge for a fit; refuse it if they cannot be known."""
    if prepaid is not None and prepaid.is_free:
        return []
    found = entered()
    if carried is not None:
        # Accounts opened in this process count only while entered, so `entered` has them.
        found += [each for each in carried.budgets if not each.is_of_this_process]
    found += [_account(path) for note in notes for path in note.budgets]
    found += [_account(path) for path in inherited().budgets]
    named = os.environ.get(ENVIRONMENT, "")
    if named and named != _NO_BUDGET:
        # A relative path is resolved against the current working directory.
        found.append(_named_account(os.path.abspath(named)))
    if not (found or named or prepaid is not None):
        _refuse_unless_known(name)
    return found


def _named_account(path):
    """Return the account that the environment variable names."""
    try:
        return _account(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{ENVIRONMENT}={path!r}: there is no such file; set the variable to the path of a "
            f"budget, or to {_NO_BUDGET!r}.") from error


def _account(path):
    """Return the account of a file; each path is opened once per process."""
    with _LOCK:
        if path not in _ACCOUNTS:
            _ACCOUNTS[path] = Account(path)
        return _ACCOUNTS[path]


def _refuse_unless_known(name):
    """Raise a BudgetExceededError in a worker that cannot see its client's budgets."""
    # Ray sets the variable in its workers, and Spark imports the module in its own.
    where = ("a process whose parent has ended" if is_orphan()
             else "a Dask worker" if _works_for_dask()
             else "a Ray worker" if "RAY_RAYLET_PID" in os.environ
             else "a Spark worker" if "pyspark.worker" in sys.modules
             else "a process that another user started" if is_below_another_user() else "")
    if where:
        raise BudgetExceededError(
            f"The fit of {name} runs in {where}, from where it cannot be seen whether a "
            "PrivacyBudget is open; nothing was drawn. Open it in there, by "
            f"PrivacyBudget.load(path), or set the environment variable {ENVIRONMENT} of workers "
            f"to its path, or to {_NO_BUDGET!r} if there is none.")


def _works_for_dask():
    """Return whether this process is a Dask worker, in any of its threads."""
    # Dask does not know threads that tasks start, so ask for the workers of the process.
    kind = getattr(sys.modules.get("distributed"), "Worker", None)
    workers = list(getattr(kind, "_instances", ()))
    # Workers with an "inproc" address are threads of the client's process.
    return any(not each.address.startswith("inproc://") for each in workers)
