"""Admit a fit, or refuse it: all open budgets are charged before the fit draws noise.

A budget is open where it was entered in this process or in a process that this one descends from,
where it came with the estimator, or where the environment names it. A worker that cannot tell
whether a budget is open refuses the fit: silence would make the fit free.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from dpsk._charging.account import Account
from dpsk._charging.board import Note, inherited, is_orphan, is_posted, post, posted
from dpsk._charging.facts import stated
from dpsk._charging.prepaid import Prepaid, current
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

__all__ = ["ENVIRONMENT", "Admission", "admit", "enter", "entered", "in_secret", "is_alone",
           "leave", "open_budgets"]

#: Names the file of a budget that all fits of a process are charged to, or "none".
ENVIRONMENT = "DPSK_BUDGET"
_NO_BUDGET = "none"
_Of = TypeVar("_Of")


@dataclass(eq=False)
class _Block(Generic[_Of]):
    """A block of a budget or of a search: it ends when all that was begun inside has ended."""

    #: The account of the budget, or the name of what makes a secret number of fits.
    of: _Of
    before: Unfinished
    #: None: the block is not left.
    left: Unfinished | None = None

    @property
    def is_open(self) -> bool:
        return self.left is None or self.left.is_in_process

    @property
    def may_be_here(self) -> bool:
        """bool : whether this thread may do what was begun inside.

        A thread that goes on may have begun one that is newer than the block.
        """
        if self.left is None or self.left.may_be_here:
            return True
        older = {each if isinstance(each, int) else each.number for each in self.before.threads}
        here = {this_thread().number, threading.get_ident()}
        return bool(self.left.threads) and not older & here


#: Blocks of budgets that are open in this process, the innermost last.
_ENTRIES: list[_Block[Account]] = []
#: Those of fits whose number is secret, with code that may fit more.
_SECRETS: list[_Block[str]] = []
_LOCK = threading.RLock()
_ACCOUNTS: dict[str, Account] = {}


def _renewed() -> None:
    # No child may get the lock taken by a thread that it does not have, nor lack its own note.
    global _LOCK
    _LOCK = threading.RLock()
    # What the parent waits for is not the child's to wait for.
    _ENTRIES[:] = [_Block(each.of, Unfinished()) for each in _ENTRIES if each.is_open]
    _SECRETS[:] = [_Block(each.of, Unfinished()) for each in _SECRETS if each.may_be_here]
    if _ENTRIES or _SECRETS:
        _post()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renewed)


@dataclass(frozen=True)
class Admission:
    """An admitted fit, which can pay for its parts.

    Attributes
    ----------
    name : str
        Of what was fitted.
    files : frozenset
        Of the budgets that have paid.
    answers : object or None
        What pays for it may have answers to keep, or to give again.
    """

    name: str
    files: frozenset[Any] = field(default_factory=frozenset)
    answers: Any = None

    def pays_for(self, affords: Callable[[Event], bool] | None = None,
                 answers: Any = None) -> Prepaid:
        """Return what pays for one part of the fit."""
        return Prepaid(self.name, self.files, affords, answers)


def enter(account: Account) -> None:
    """Charge an account for all fits from now on."""
    with _LOCK:
        _settle()
        _ENTRIES.append(_block(account))
        try:
            _post()
        except BaseException:
            # What no worker would know of is not open.
            _ENTRIES.pop()
            _unmark()
            raise


def leave(account: Account) -> None:
    """Undo the last `enter` of an account, but for what was begun since and goes on."""
    # The innermost: it may have been entered twice.
    if _end(lambda: next(each for each in reversed(_ENTRIES)
                         if each.of is account and each.left is None)):
        warnings.warn(
            f"{account!r}: work that was begun inside is not done, such as a thread, or results "
            "of joblib.Parallel(return_as='generator') that nobody has read. All fits are charged "
            "until it is; join threads and read all results inside of the block.",
            PrivacyWarning, stacklevel=3)


def _end(chosen: Callable[[], _Block[Any]]) -> bool:
    """Leave the block that is chosen under the lock, and return whether some of it goes on here.

    It is left too where that cannot be told, and an error raised.
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
    """Mark nothing any more, unless a block is not left that looks at what is newer."""
    blocks: list[_Block[Any]] = [*_ENTRIES, *_SECRETS]
    if all(each.left is not None for each in blocks):
        unmark()


def entered() -> list[Account]:
    """Return the accounts that fits are charged to by this process."""
    with _LOCK:
        _settle()
        if _ENTRIES and not is_posted():
            _post()
        return [each.of for each in _ENTRIES if each.is_open]


def _block(of: _Of) -> _Block[_Of]:
    """Return a block that is entered now."""
    before = under_way()
    # Another thread may leave the block.
    before.threads.append(this_thread())
    mark()
    return _Block(of, before)


def _settle():
    """Forget blocks that have ended."""
    for blocks in (_ENTRIES, _SECRETS):
        for each in blocks:
            if each.left is not None:
                each.left = each.left.still()
        # Work that is dropped meanwhile comes here as well.
        blocks[:] = [each for each in blocks if each.left is None or each.left]


def _told():
    """Tell descendants that something of a block is done."""
    with _LOCK:
        _settle()
        _post()


def _post():
    """Tell descendants what is open."""
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
    """Refuse fits elsewhere in this process that nobody has paid for.

    They cannot be told from those that the code of a secret number of fits makes in threads, and
    their charges would tell that number. Threads and processes that go on after it stay refused.
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
    """Charge all budgets that are open for a fit, or none and raise.

    Parameters
    ----------
    name : str
        Of the estimator.
    event : Event
        All that it may release.
    carried : Carried or None
        What the estimator came with.
    of_groups : bool
        Whether the fit protects groups of rows.
    public : iterable of str
        What the fit takes as public, as far as it is known.
    reproducible : bool
        Whether its noise repeats under a seed.

    Returns
    -------
    admission : Admission

    Raises
    ------
    BudgetExceededError
        Where it is not admitted.
    """
    stop_rehearsal(event)
    prepaid = _payment(carried)
    notes = list(posted())
    if prepaid is None:
        _refuse_beside_secrets(name, notes)
    accounts = {each.file: each for each in _open_accounts(name, carried, notes, prepaid)}
    paid = frozenset() if prepaid is None else prepaid.files
    due = [accounts[file] for file in sorted(set(accounts) - paid)]
    charge = made_today(name, event, stated(public), of_groups=of_groups,
                        reproducible=reproducible)
    with ExitStack() as stack:
        # All locks in one order, then all checks, then all charges.
        pages = [stack.enter_context(each.journal.locked()) for each in due]
        for account, each in zip(due, pages, strict=True):
            account.check(each, charge)
        if prepaid is not None:
            prepaid.use(name, event)
        for account, each in zip(due, pages, strict=True):
            account.write(each, charge)
    note_charge()
    return Admission(name, paid | set(accounts), None if prepaid is None else prepaid.answers)


def open_budgets(carried: Carried | None = None) -> list[Account]:
    """Return the accounts that a fit would be charged to now, or [] where there is none.

    Parameters
    ----------
    carried : Carried or None
        What the estimator came with.
    """
    return _open_accounts("an estimator", carried, list(posted()), _payment(carried))


def is_alone(carried: Carried | None = None) -> bool:
    """Return whether a fit is charged to no open budget, and is no part of something larger."""
    # What makes several fits and lets each pay, such as folds, states facts of its own.
    return not (is_rehearsed() or stated(()) or _payment(carried) is not None
                or open_budgets(carried))


def _payment(carried):
    """Return what pays for a fit beforehand, or None."""
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
    """Return the accounts that a fit is charged to; refuse it where they cannot be known."""
    if prepaid is not None and prepaid.is_free:
        return []
    found = entered()
    if carried is not None:
        # Where they were opened those that are entered are known.
        found += [each for each in carried.budgets if not each.is_of_this_process]
    found += [_account(path) for note in notes for path in note.budgets]
    found += [_account(path) for path in inherited().budgets]
    named = os.environ.get(ENVIRONMENT, "")
    if named and named != _NO_BUDGET:
        # Of a relative path the file is that in the folder that the process is in now.
        found.append(_named_account(os.path.abspath(named)))
    if not (found or named or prepaid is not None):
        _refuse_unless_known(name)
    return found


def _named_account(path):
    """Return the account that the environment names."""
    try:
        return _account(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{ENVIRONMENT}={path!r}: there is no such file; set the variable to the path of a "
            f"budget, or to {_NO_BUDGET!r}.") from error


def _account(path):
    """Return the account of a file, opened once."""
    with _LOCK:
        if path not in _ACCOUNTS:
            _ACCOUNTS[path] = Account(path)
        return _ACCOUNTS[path]


def _refuse_unless_known(name):
    """Raise a BudgetExceededError in a worker that cannot see what is open where its work is from.
    """
    if is_orphan() or _works_for_dask():
        where = "a process whose parent has ended" if is_orphan() else "a Dask worker"
        raise BudgetExceededError(
            f"The fit of {name} runs in {where}, from where it cannot be seen whether a "
            "PrivacyBudget is open; nothing was drawn. Open it in there, by "
            f"PrivacyBudget.load(path), or set the environment variable {ENVIRONMENT} of workers "
            f"to its path, or to {_NO_BUDGET!r} if there is none.")


def _works_for_dask():
    """Return whether this is a worker process of Dask, whatever the thread."""
    # A thread that a task has begun is not known to be of the worker.
    kind = getattr(sys.modules.get("distributed"), "Worker", None)
    workers = list(getattr(kind, "_instances", ()))
    # Workers of such an address are threads of the client's process.
    return any(not each.address.startswith("inproc://") for each in workers)
