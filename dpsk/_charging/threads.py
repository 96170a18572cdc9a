"""Activity of the threads of this process: work of a caller, or waiting for some."""

from __future__ import annotations

import concurrent.futures
import sys
import threading
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING
from weakref import ref

from dpsk._charging.services import class_module, is_a, is_service_callback, is_service_thread
from dpsk._origin import home_of, module_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType
    from typing import Any

    #: The innermost frame of every thread, by its number.
    Frames = dict[int, FrameType]

__all__ = ["Activity", "called_anywhere", "called_here", "frames_of_all", "is_of_a_pool",
           "other_threads", "pool_processes", "this_thread", "works"]

#: Modules whose threads work off queues.
_POOLS = {"concurrent.futures.thread", "multiprocessing.pool", "distributed.threadpoolexecutor"}
#: The loops of these threads.
_LOOPS = {"_worker", "worker", "_handle_workers", "_handle_tasks", "_handle_results",
          "_wait_for_updates"}
#: What these name the job that they are at: an item, or a tuple that begins with a number.
_JOBS = ("work_item", "task")
#: Modules of threads that manage worker processes, and call back when a future is done.
_MANAGERS = {"concurrent.futures.process", "joblib.externals.loky.process_executor",
             "loky.process_executor"}
#: What ends a future and then calls back.
_ENDS = {"set_result", "set_exception", "_invoke_callbacks"}
#: Where threads of pools wait for their queues.
_QUEUES = {"queue", "threading", "multiprocessing.queues", "multiprocessing.connection",
           "selectors"}


@dataclass(frozen=True)
class Activity:
    """Activity of a thread: all that it does, or a job of one of a pool, whose next is another's.

    Attributes
    ----------
    thread : Thread
    number : int
        Like that of no other thread, whatever threads say of each other.
    job : list or None
        Like no other job of the thread; None where it is of no pool.
    """

    thread: threading.Thread = field(compare=False)
    number: int
    job: list[Any] | None = None


def other_threads() -> list[Any]:
    """Return what the other threads of this process are at: Activity or int.

    Numbers are of threads that `threading` does not know of.
    """
    here, frames = threading.current_thread(), sys._current_frames()
    try:
        return [*(_at(each, frames) for each in threading.enumerate() if each is not here),
                *_unknown_threads()]
    finally:
        # One that held itself would hold all that is under way.
        frames.clear()


def this_thread() -> Activity:
    """Return what this thread is at."""
    return _at(threading.current_thread())


def works(what: Activity | int) -> bool:
    """Return whether a thread lives, and does not stand by for whatever comes next."""
    if isinstance(what, int):
        return what in _unknown_threads()
    thread = what.thread
    if what.job is not None:
        return _at(thread) == what and _is_busy(what)
    if isinstance(thread, threading._DummyThread):
        # One that `threading` did not begin, and of whose end it does not know.
        return _number(thread) in set(sys._current_frames())
    # Not what the class of a caller says of itself.
    lives = threading.Thread.is_alive(thread) and _number(thread) is not None
    return lives and not is_service_thread(thread)


def is_of_a_pool(thread: threading.Thread, now: Frames | None = None) -> bool:
    """Return whether a thread works off what is handed to a pool, or manages its processes."""
    return class_module(type(thread)) in _MANAGERS or bool(_modules_of(thread) & _POOLS) or any(
        map(_is_loop, _frames(_number(thread), now)))


def called_here() -> set[int]:
    """Return the identities of the futures that this thread is calling back for."""
    return _called_in(_frames(threading.get_ident()))


def called_anywhere() -> set[int]:
    """Return the identities of the futures that any thread is calling back for."""
    return _called_in(frames_of_all())


def frames_of_all() -> Iterator[FrameType]:
    """Yield the frames of all threads."""
    now = sys._current_frames()
    while now:
        yield from _outwards(now.popitem()[1])


def _called_in(frames: Iterable[FrameType]) -> set[int]:
    """Return the identities of the futures that some frames call back for."""
    return {id(each) for each in map(_future_of, frames) if each is not None}


def _called(thread: threading.Thread, now: Frames | None) -> list[Any]:
    """Return what tells the callback of a caller that a thread is at, once a future is done."""
    for frame in _frames(_number(thread), now):
        future = _future_of(frame)
        if future is not None:
            return [_told(future), id(frame.f_locals.get("callback"))]
    return []


def _future_of(frame: FrameType) -> Any:
    """Return the future that a frame calls back for, among others code of a caller; or None."""
    if frame.f_code.co_name not in _ENDS:
        return None
    done = frame.f_locals.get("self")
    if not is_a(done, concurrent.futures.Future):
        return None
    calls = getattr(done, "_done_callbacks", None) or ()
    return None if all(map(is_service_callback, calls)) else done


def _unknown_threads() -> list[int]:
    """Return the numbers of threads that `threading` does not know of."""
    # No frame is kept: one that held itself would hold all that is under way.
    running = set(sys._current_frames())
    return list(running - {_number(each) for each in threading.enumerate()})


def _at(thread: threading.Thread, now: Frames | None = None) -> Activity:
    """Return what a thread is at."""
    if not is_of_a_pool(thread, now):
        return Activity(thread, id(thread))
    jobs = [_told_by(each) for each in _frames(_number(thread), now) if _is_loop(each)]
    return Activity(thread, id(thread), [*jobs, _called(thread, now)])


def _told_by(loop: FrameType) -> list[Any]:
    """Return what tells the job that a loop is at from its others, and holds nothing of it."""
    names = loop.f_locals
    jobs = [names[each] for each in _JOBS if names.get(each) is not None]
    told = [each[0] if isinstance(each, tuple) else _told(each) for each in jobs]
    if isinstance(names, dict) and not (threading.gettrace() or threading.getprofile()):
        # Before Python 3.13 a frame keeps what it has answered, and with it rows of its last job.
        names.clear()
    return told


def _told(thing: Any) -> Any:
    """Return what is equal for the same thing alone, and does not hold it where that can be."""
    try:
        return ref(thing)
    except TypeError:
        return id(thing)


def _is_busy(what: Activity) -> bool:
    """Return whether what a thread of a pool is at now is something else than to wait for work."""
    if any(what.job or ()) or class_module(type(what.thread)) in _MANAGERS:
        return any(what.job or ())
    frames = list(_frames(_number(what.thread)))
    # What called the loop, such as a monitor of threads, is no job.
    ends = [place + 1 for place, each in enumerate(frames) if _is_loop(each)]
    frames = frames[:ends[-1]] if ends else frames
    # The innermost frames of one that waits are those of its queue.
    while frames and _home(frames[0]) in _QUEUES:
        frames.pop(0)
    return bool(frames) and not (_is_loop(frames[0]) and all(
        _home(each) in _POOLS | _QUEUES for each in frames))


def _is_loop(frame: FrameType) -> bool:
    return frame.f_code.co_name in _LOOPS and _home(frame) in _POOLS


def _home(frame: FrameType) -> str:
    """Return the module whose names code sees, or "" where it is none of the process."""
    return getattr(module_of(frame.f_globals), "__name__", "")


def _frames(number: int | None, now: Frames | None = None) -> Iterator[FrameType]:
    """Yield the frames of a thread, the innermost first; `now` are those of all threads."""
    return _outwards((sys._current_frames() if now is None else now).get(number or 0))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame, and those that it was called from."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _number(thread: threading.Thread) -> int | None:
    """Return the number of a thread, None where it is not begun."""
    return _held(thread).get("_ident")


def _held(thread: threading.Thread) -> dict[str, Any]:
    """Return the attributes of a thread, not those that its class makes up."""
    return object.__getattribute__(thread, "__dict__")


def pool_processes() -> set[int]:
    """Return the numbers of the processes that threads of pools manage."""
    return {number for each in threading.enumerate() if class_module(type(each)) in _MANAGERS
            for number in list(getattr(each, "processes", None) or ())}


def _modules_of(thread: threading.Thread) -> set[str]:
    """Return the modules of what a thread runs, and of its class."""
    target = _held(thread).get("_target")
    code = getattr(target, "__func__", target)
    # An object that is called may stand for code of a caller.
    home = home_of(code) if isinstance(code, FunctionType) else None
    return {"" if home is None else home.__name__, class_module(type(thread))}
