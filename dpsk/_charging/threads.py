"""Activity of threads of this process: running a caller's code, or waiting."""

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

    #: The innermost frame of every thread, by thread identifier.
    Frames = dict[int, FrameType]

__all__ = ["Activity", "called_anywhere", "called_here", "frames_of_all", "is_of_a_pool",
           "other_threads", "pool_processes", "this_thread", "works"]

#: Modules of thread pools, whose threads take jobs from queues.
_POOLS = {"concurrent.futures.thread", "multiprocessing.pool", "distributed.threadpoolexecutor"}
#: Names of the functions in which these threads loop.
_LOOPS = {"_worker", "worker", "_handle_workers", "_handle_tasks", "_handle_results",
          "_wait_for_updates"}
#: Local variables of these functions with the current job: an item, or a tuple (number, ...).
_JOBS = ("work_item", "task")
#: Modules of threads that manage worker processes, and run callbacks of futures.
_MANAGERS = {"concurrent.futures.process", "joblib.externals.loky.process_executor",
             "loky.process_executor"}
#: Methods that finish a future and then run its callbacks.
_ENDS = {"set_result", "set_exception", "_invoke_callbacks"}
#: Modules in which threads of pools wait for their queues.
_QUEUES = {"queue", "threading", "multiprocessing.queues", "multiprocessing.connection",
           "selectors"}


@dataclass(frozen=True)
class Activity:
    """Activity of a thread: its current job in a pool, or else all that it does.

    Attributes
    ----------
    thread : Thread
    number : int
        Identity of the thread object, because a subclass may redefine equality.
    job : list or None
        Identifies the current job among the jobs of the thread; None outside of pools.
    """

    thread: threading.Thread = field(compare=False)
    number: int
    job: list[Any] | None = None


def other_threads() -> list[Any]:
    """Return the activities of the other threads of this process.

    An int is the identifier of a thread that `threading` does not know.
    """
    here, frames = threading.current_thread(), sys._current_frames()
    try:
        return [*(_at(each, frames) for each in threading.enumerate() if each is not here),
                *_unknown_threads()]
    finally:
        # This function's own frame is in the dictionary: break the cycle, which keeps work alive.
        frames.clear()


def this_thread() -> Activity:
    """Return the activity of this thread."""
    return _at(threading.current_thread())


def works(what: Activity | int) -> bool:
    """Return whether an activity still goes on, and may run code of a caller."""
    if isinstance(what, int):
        return what in _unknown_threads()
    thread = what.thread
    if what.job is not None:
        return _at(thread) == what and _is_busy(what)
    if isinstance(thread, threading._DummyThread):
        # `threading` did not start this thread, and does not know when it ends.
        return _number(thread) in set(sys._current_frames())
    # A caller's subclass may override `is_alive`.
    lives = threading.Thread.is_alive(thread) and _number(thread) is not None
    return lives and not is_service_thread(thread)


def is_of_a_pool(thread: threading.Thread, now: Frames | None = None) -> bool:
    """Return whether a thread runs jobs of a pool, or manages its processes."""
    return class_module(type(thread)) in _MANAGERS or bool(_modules_of(thread) & _POOLS) or any(
        map(_is_loop, _frames(_number(thread), now)))


def called_here() -> set[int]:
    """Return the ids of futures whose callbacks this thread is running."""
    return _called_in(_frames(threading.get_ident()))


def called_anywhere() -> set[int]:
    """Return the ids of futures whose callbacks any thread is running."""
    return _called_in(frames_of_all())


def frames_of_all() -> Iterator[FrameType]:
    """Yield the frames of all threads."""
    now = sys._current_frames()
    while now:
        yield from _outwards(now.popitem()[1])


def _called_in(frames: Iterable[FrameType]) -> set[int]:
    """Return the ids of futures whose callbacks some frames are running."""
    return {id(each) for each in map(_future_of, frames) if each is not None}


def _called(thread: threading.Thread, now: Frames | None) -> list[Any]:
    """Return an identifier of the future and callback that a thread runs, or []."""
    for frame in _frames(_number(thread), now):
        future = _future_of(frame)
        if future is not None:
            return [_told(future), id(frame.f_locals.get("callback"))]
    return []


def _future_of(frame: FrameType) -> Any:
    """Return the future whose callbacks a frame runs, if one is a caller's, or None."""
    if frame.f_code.co_name not in _ENDS:
        return None
    done = frame.f_locals.get("self")
    if not is_a(done, concurrent.futures.Future):
        return None
    calls = getattr(done, "_done_callbacks", None) or ()
    return None if all(map(is_service_callback, calls)) else done


def _unknown_threads() -> list[int]:
    """Return the identifiers of threads that `threading` does not know."""
    # Keep no frame: this function's own frame would form a cycle, which keeps work alive.
    running = set(sys._current_frames())
    return list(running - {_number(each) for each in threading.enumerate()})


def _at(thread: threading.Thread, now: Frames | None = None) -> Activity:
    """Return the activity of a thread."""
    if not is_of_a_pool(thread, now):
        return Activity(thread, id(thread))
    jobs = [_told_by(each) for each in _frames(_number(thread), now) if _is_loop(each)]
    return Activity(thread, id(thread), [*jobs, _called(thread, now)])


def _told_by(loop: FrameType) -> list[Any]:
    """Return an identifier of the job that a pool's loop runs, without a reference."""
    names = loop.f_locals
    jobs = [names[each] for each in _JOBS if names.get(each) is not None]
    told = [each[0] if isinstance(each, tuple) else _told(each) for each in jobs]
    if isinstance(names, dict) and not (threading.gettrace() or threading.getprofile()):
        # Before Python 3.13 a frame caches this dictionary, which would keep the job's data alive.
        names.clear()
    return told


def _told(thing: Any) -> Any:
    """Return a weak reference to an object, or its id if it supports none."""
    try:
        return ref(thing)
    except TypeError:
        return id(thing)


def _is_busy(what: Activity) -> bool:
    """Return whether a thread of a pool does anything but wait for work."""
    if any(what.job or ()) or class_module(type(what.thread)) in _MANAGERS:
        return any(what.job or ())
    frames = list(_frames(_number(what.thread)))
    # Ignore the callers of the loop, such as a thread monitor.
    ends = [place + 1 for place, each in enumerate(frames) if _is_loop(each)]
    frames = frames[:ends[-1]] if ends else frames
    # The innermost frames of a waiting thread belong to its queue.
    while frames and _home(frames[0]) in _QUEUES:
        frames.pop(0)
    return bool(frames) and not (_is_loop(frames[0]) and all(
        _home(each) in _POOLS | _QUEUES for each in frames))


def _is_loop(frame: FrameType) -> bool:
    return frame.f_code.co_name in _LOOPS and _home(frame) in _POOLS


def _home(frame: FrameType) -> str:
    """Return the module of a frame's globals, or "" if no loaded module has them."""
    return getattr(module_of(frame.f_globals), "__name__", "")


def _frames(number: int | None, now: Frames | None = None) -> Iterator[FrameType]:
    """Yield the frames of a thread, innermost first; `now` holds all threads' frames."""
    return _outwards((sys._current_frames() if now is None else now).get(number or 0))


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _number(thread: threading.Thread) -> int | None:
    """Return the identifier of a thread, or None if it has not been started."""
    return _held(thread).get("_ident")


def _held(thread: threading.Thread) -> dict[str, Any]:
    """Return the instance attributes of a thread, without running code of its class."""
    return object.__getattribute__(thread, "__dict__")


def pool_processes() -> set[int]:
    """Return the ids of the worker processes that threads of pools manage."""
    return {number for each in threading.enumerate() if class_module(type(each)) in _MANAGERS
            for number in list(getattr(each, "processes", None) or ())}


def _modules_of(thread: threading.Thread) -> set[str]:
    """Return the modules of the target and of the class of a thread."""
    target = _held(thread).get("_target")
    code = getattr(target, "__func__", target)
    # A callable object as target may run code of a caller, whatever its module.
    home = home_of(code) if isinstance(code, FunctionType) else None
    return {"" if home is None else home.__name__, class_module(type(thread))}
