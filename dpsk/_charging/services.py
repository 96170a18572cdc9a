"""Code of other packages that goes on and does nothing of a caller's, known one by one.

All else that goes on, and all else that is called back, may fit. So a name that is missing here
holds a block open for longer. A name too many loses charges: each says why it stands here.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections import deque
from contextlib import suppress
from functools import lru_cache, partial
from types import (
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING
from weakref import ref

from dpsk._origin import home_of, is_of, module_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

__all__ = ["class_module", "is_a", "is_service_callback", "is_service_task", "is_service_thread",
           "task_kinds"]

#: Coroutines of the tasks by which Dask keeps its connections: they read and send messages.
_TASKS = (
    "distributed.client:Client._handle_report",
    "distributed.comm.inproc:InProcListener._listen",
    "distributed.core:Server._handle_comm",
    "distributed.deploy.cluster:Cluster._sync_cluster_info",
    "distributed.deploy.cluster:Cluster._watch_worker_status",
    "distributed.utils:LoopRunner._start_unlocked.<locals>.amain",
    "distributed.worker:Worker.handle_scheduler",
)
#: Classes of threads, and functions that threads run, with the functions that these have around
#: them.
_THREADS = (
    # Writes what was typed.
    "IPython.core.history:HistorySavingThread",
    # Waits for a process, which is seen itself.
    "asyncio.unix_events:ThreadedChildWatcher._do_waitpid",
    "asyncio.unix_events:_ThreadedChildWatcher._do_waitpid",
    "distributed.process:AsyncProcess._watch_message_queue",
    "distributed.process:AsyncProcess._watch_process",
    # A loop, whose tasks are seen themselves.
    "distributed.utils:LoopRunner._start_unlocked.<locals>.amain",
    "distributed.utils:LoopRunner._start_unlocked.<locals>.run_loop",
    "distributed.utils:_CollectErrorThread.__init__.<locals>.wrapper",
    # Pickle what was put on a queue.
    "joblib.externals.loky.backend.queues:Queue._feed",
    "loky.backend.queues:Queue._feed",
    "multiprocessing.queues:Queue._feed",
    # Draws bars anew.
    "tqdm._monitor:TMonitor",
    # Waits for messages that were sent.
    "zmq.utils.garbage:GarbageCollectorThread",
)
#: Functions and classes that are called back.
_CALLBACKS = (
    # Wake tasks, threads and loops, which are seen themselves.
    "asyncio.base_events:_run_until_complete_cb",
    "asyncio.futures:_chain_future.<locals>._call_check_cancel",
    "asyncio.futures:_chain_future.<locals>._call_set_state",
    "asyncio.futures:_chain_future.<locals>._set_state",
    "asyncio.taskgroups:TaskGroup._on_task_done",
    "asyncio.tasks:_PyTask._Task__wakeup",
    "asyncio.tasks:_release_waiter",
    "asyncio.tasks:_wait.<locals>._on_completion",
    "asyncio.tasks:gather.<locals>._done_callback",
    "asyncio.tasks:shield.<locals>._inner_done_callback",
    "distributed.worker_state_machine:BaseWorker._finish_async_instruction",
    "tornado.gen:WaitIterator._done_callback",
    # Log errors.
    "tornado.gen:_wrap_awaitable.<locals>.<lambda>",
    "tornado.ioloop:IOLoop._discard_future_result",
    "tornado.tcpserver:TCPServer._handle_connection.<locals>.<lambda>",
    "zmq.eventloop.zmqstream:ZMQStream._run_callback.<locals>._log_error",
    # Calls what it has around it.
    "tornado.ioloop:IOLoop.add_future.<locals>.<lambda>",
    # Hands out what is next to do of results, whose reader is seen.
    "joblib.parallel:BatchCompletionCallBack",
    # Ours: tell that work is done.
    "dpsk._charging.admission:_told",
    "dpsk._charging.unfinished:Unfinished.tell.<locals>.ended",
    "dpsk._charging.unfinished:Work._called",
)
#: Compiled methods that keep or drop what is done, or wake who waits.
_PLAIN = {(set, "add"), (set, "discard"), (set, "remove"), (list, "append"), (deque, "append"),
          (type(threading.Lock()), "release"), (type(threading.RLock()), "release")}
#: Classes of what is handed on and calls nothing.
_DATA = {bool, int, float, str, bytes, type(None), list, tuple, dict, set, deque}
#: Packages that the code above calls.
_SERVICES = {"joblib", "loky", "distributed", "tornado", "tqdm", "ipykernel", "IPython", "zmq"}
_NO_CALLERS = (_SERVICES | sys.stdlib_module_names) - {"__main__"}
#: So deep what is called is looked for in what calls it.
_DEPTH = 4
#: Flags of a type that is made in a programme, and of one that nobody can change.
_MADE, _FIXED = 1 << 9, 1 << 8


def is_a(thing: Any, kinds: type | tuple[type, ...]) -> bool:
    """Return whether something is of a class, and ask nothing of the thing itself."""
    # What an object says of its class is code of its own.
    return issubclass(type(thing), kinds)


def task_kinds() -> tuple[type, ...]:
    """Return the classes of tasks of asyncio: that in C, and that in Python."""
    tasks, compiled = (sys.modules.get(each) for each in ("asyncio.tasks", "_asyncio"))
    # Somebody may have put the one in the place of the other.
    found = [getattr(compiled, "Task", None),
             *(getattr(tasks, each, None) for each in ("Task", "_PyTask"))]
    return tuple({each for each in found if isinstance(each, type)})


def is_service_thread(thread: threading.Thread) -> bool:
    """Return whether a thread does nothing of a caller's."""
    # It may do something else than its class says.
    run = inspect.getattr_static(thread, "run", None)
    if run is not inspect.getattr_static(threading.Thread, "run"):
        kind = type(thread)
        return _is_class_of(kind, _THREADS) and run is inspect.getattr_static(kind, "run")
    held = object.__getattribute__(thread, "__dict__")
    if not _is_known(held.get("_target"), _THREADS):
        # Nor is anything taken from an iterator that such a thread is given.
        return False
    given = (*held.get("_args", ()), *held.get("_kwargs", {}).values())
    return all(map(_is_at_home, filter(callable, given)))


def is_service_task(runs: Any) -> bool:
    """Return whether a coroutine does nothing of a caller's, nor awaits anything of one."""
    if type(runs) is not CoroutineType:
        return False
    frame = runs.cr_frame
    return frame is None or (
        _is_code_of(frame.f_code, frame.f_globals, frame.f_locals, _TASKS, _DEPTH)
        and all(map(_is_no_callers, _chain(runs))))


def is_service_callback(called: Any) -> bool:
    """Return whether what is called back does nothing of a caller's."""
    return _is_known(called, _CALLBACKS)


def _is_known(called: Any, names: tuple[str, ...], depth: int = _DEPTH) -> bool:
    """Return whether what is called is named, with all that it is bound to and calls."""
    kind = type(called)
    if depth == 0:
        return False
    if kind is partial:
        bound = (*called.args, *called.keywords.values())
        return _is_known(called.func, names, depth - 1) and all(
            _is_known(each, names, depth - 1) if callable(each) else _is_harmless(each)
            for each in bound)
    if kind is MethodType:
        return _is_known(called.__func__, names, depth) and _is_harmless(called.__self__)
    if kind is FunctionType:
        # What it has from around it may not be bound yet, or no more.
        with suppress(ValueError):
            around = {name: cell.cell_contents for name, cell in _cells(called)}
            return called.__kwdefaults__ is None and _is_code_of(
                called.__code__, called.__globals__, around, names, depth)
        return False
    if kind is BuiltinFunctionType:
        of = type(called.__self__)
        return (of, called.__name__) in _PLAIN or _wakes(of) or issubclass(of, task_kinds())
    return _wakes(kind) or _is_class_of(kind, names)


def _is_code_of(code: CodeType, sees: dict[str, Any], around: Mapping[str, Any],
                names: tuple[str, ...], depth: int) -> bool:
    """Return whether code that sees some globals is named, and so is what is around it."""
    for name in _of_package(names, str(sees.get("__name__"))):
        outer = _named(name)
        if type(outer) is not FunctionType or outer.__globals__ is not sees:
            continue
        if ".<locals>." not in name and outer.__code__ is code:
            return all(around.get(each) is cell.cell_contents for each, cell in _cells(outer))
        if code in _inner(outer, name):
            return all(_is_known(each, names, depth - 1)
                       for each in map(around.get, code.co_freevars) if callable(each))
    return False


def _cells(function: FunctionType) -> Iterable[tuple[str, Any]]:
    """Return what a function has from around it, by name."""
    return zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)


def _is_class_of(kind: type, names: tuple[str, ...]) -> bool:
    return any(_named(name) is kind for name in _of_package(names, class_module(kind)))


@lru_cache
def _of_package(names: tuple[str, ...], module: str) -> list[str]:
    """Return the names that are of the package of a module."""
    return [name for name in names if _package(name.partition(":")[0]) == _package(module)]


def _named(name: str) -> Any:
    """Return the class that a name stands for, or the function, or that around the function."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.partition(".<locals>.")[0].split("."):
        # Nothing is asked that modules or classes answer themselves.
        held = object.__getattribute__ if is_a(found, ModuleType) else type.__getattribute__
        found = held(found, "__dict__").get(part) if is_a(found, (ModuleType, type)) else None
    found = found.__func__ if type(found) in (staticmethod, classmethod) else found
    # What was put in its place is not what is known.
    home = home_of(found) if type(found) is FunctionType else None
    of = getattr(home, "__name__", "") if home else class_module(found)
    return found if _package(of) == _package(module) else None


def _inner(outer: FunctionType, name: str) -> list[CodeType]:
    """Return the code of the functions within a function that a name stands for."""
    codes = [outer.__code__]
    for part in name.split(".<locals>.")[1:]:
        codes = [each for code in codes for each in code.co_consts
                 if type(each) is CodeType and each.co_name == part]
    return codes if ".<locals>." in name else []


def _is_harmless(bound: Any) -> bool:
    """Return whether what known code is bound to, or handed, is of a known class, or data."""
    kind: Any = type(bound)
    if is_a(bound, type):
        return _is_at_home(bound)
    return (kind in _DATA or issubclass(kind, task_kinds()) or _wakes(kind)
            or is_of(kind, "dpsk._charging") or _is_at_home(kind))


def _is_at_home(called: Any, depth: int = _DEPTH) -> bool:
    """Return whether a function, method or class is one of a known package, and so are those that
    it has from around it.
    """
    if depth == 0 or type(called) is ref:
        return depth > 0
    if is_a(called, type):
        package = _package(class_module(called))
        return package in _NO_CALLERS and is_of(called, package)
    function = called.__func__ if type(called) is MethodType else called
    if type(function) is not FunctionType:
        return type(function) is BuiltinFunctionType and _is_harmless(function.__self__)
    home = _package(getattr(home_of(function), "__name__", ""))
    with suppress(ValueError):
        return home in _NO_CALLERS and all(
            _is_at_home(cell.cell_contents, depth - 1) for _, cell in _cells(function)
            if callable(cell.cell_contents))
    return False


def _wakes(kind: type) -> bool:
    """Return whether a class is one of asyncio's in compiled code, which wake tasks."""
    return class_module(kind) == "_asyncio" and (
        not kind.__flags__ & _MADE or bool(kind.__flags__ & _FIXED))


def _chain(runs: Any) -> Iterator[Any]:
    """Yield a coroutine, what it awaits, and so on."""
    while runs is not None:
        yield runs
        runs = getattr(runs, "cr_await", None) or getattr(runs, "gi_yieldfrom", None)


def _is_no_callers(runs: Any) -> bool:
    """Return whether what is awaited is no code of a caller."""
    if type(runs) not in (CoroutineType, GeneratorType):
        return _wakes(type(runs))
    frame = runs.cr_frame if type(runs) is CoroutineType else runs.gi_frame
    home = None if frame is None else module_of(frame.f_globals)
    return frame is None or _package(getattr(home, "__name__", "")) in _NO_CALLERS


def class_module(kind: Any) -> str:
    """Return the name of the module of a class, "" where it is no name."""
    # A metaclass may answer otherwise.
    found = type.__dict__["__module__"].__get__(kind) if is_a(kind, type) else ""
    return found if type(found) is str else ""


def _package(module: str) -> str:
    return module.partition(".")[0]
