"""Allowlist of background code of other packages that runs no code of a caller.

All other background work and callbacks may fit. So a name that is missing here keeps a block open
for longer. A name too many could miss charges, so each entry says why it is safe.
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

#: Coroutines of Dask's connection tasks: they read and send messages.
_TASKS = (
    "distributed.client:Client._handle_report",
    "distributed.comm.inproc:InProcListener._listen",
    "distributed.core:Server._handle_comm",
    "distributed.deploy.cluster:Cluster._sync_cluster_info",
    "distributed.deploy.cluster:Cluster._watch_worker_status",
    "distributed.utils:LoopRunner._start_unlocked.<locals>.amain",
    "distributed.worker:Worker.handle_scheduler",
)
#: Classes of threads, and functions that threads run, including functions in their closures.
_THREADS = (
    # Saves the input history.
    "IPython.core.history:HistorySavingThread",
    # Wait for a child process, which is tracked separately.
    "asyncio.unix_events:ThreadedChildWatcher._do_waitpid",
    "asyncio.unix_events:_ThreadedChildWatcher._do_waitpid",
    "distributed.process:AsyncProcess._watch_message_queue",
    "distributed.process:AsyncProcess._watch_process",
    # Run an asyncio loop, whose tasks are tracked separately.
    "distributed.utils:LoopRunner._start_unlocked.<locals>.amain",
    "distributed.utils:LoopRunner._start_unlocked.<locals>.run_loop",
    "distributed.utils:_CollectErrorThread.__init__.<locals>.wrapper",
    # Pickle objects that were put on a queue.
    "joblib.externals.loky.backend.queues:Queue._feed",
    "loky.backend.queues:Queue._feed",
    "multiprocessing.queues:Queue._feed",
    # Redraws progress bars.
    "tqdm._monitor:TMonitor",
    # Waits until messages have been sent.
    "zmq.utils.garbage:GarbageCollectorThread",
)
#: Functions and classes that are used as callbacks.
_CALLBACKS = (
    # Wake tasks, threads and loops, which are tracked separately.
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
    # Calls the function in its closure, which is checked as well.
    "tornado.ioloop:IOLoop.add_future.<locals>.<lambda>",
    # Dispatches the next batch of a parallel run; the reader of its results is tracked.
    "joblib.parallel:BatchCompletionCallBack",
    # Callbacks of this package: report that work is done.
    "dpsk._charging.admission:_told",
    "dpsk._charging.unfinished:Unfinished.tell.<locals>.ended",
    "dpsk._charging.unfinished:Work._called",
)
#: Compiled methods that store or discard finished work, or wake a waiting thread.
_PLAIN = {(set, "add"), (set, "discard"), (set, "remove"), (list, "append"), (deque, "append"),
          (type(threading.Lock()), "release"), (type(threading.RLock()), "release")}
#: Classes of arguments that call nothing.
_DATA = {bool, int, float, str, bytes, type(None), list, tuple, dict, set, deque}
#: Packages that the code above may call.
_SERVICES = {"joblib", "loky", "distributed", "tornado", "tqdm", "ipykernel", "IPython", "zmq"}
_NO_CALLERS = (_SERVICES | sys.stdlib_module_names) - {"__main__"}
#: Maximum depth of nested callables (partials, closures, bound methods) to inspect.
_DEPTH = 4
#: Type flags Py_TPFLAGS_HEAPTYPE and Py_TPFLAGS_IMMUTABLETYPE of CPython.
_MADE, _FIXED = 1 << 9, 1 << 8


def is_a(thing: Any, kinds: type | tuple[type, ...]) -> bool:
    """Return whether an object is an instance of a class, without calling its code."""
    # `isinstance` reads `__class__`, which may run code of the object.
    return issubclass(type(thing), kinds)


def task_kinds() -> tuple[type, ...]:
    """Return the classes of asyncio tasks, implemented in C and in Python."""
    tasks, compiled = (sys.modules.get(each) for each in ("asyncio.tasks", "_asyncio"))
    # Other code may have replaced one class by the other.
    found = [getattr(compiled, "Task", None),
             *(getattr(tasks, each, None) for each in ("Task", "_PyTask"))]
    return tuple({each for each in found if isinstance(each, type)})


def is_service_thread(thread: threading.Thread) -> bool:
    """Return whether a thread runs no code of a caller."""
    # An attribute `run` of the thread may override the method of its class.
    run = inspect.getattr_static(thread, "run", None)
    if run is not inspect.getattr_static(threading.Thread, "run"):
        kind = type(thread)
        return _is_class_of(kind, _THREADS) and run is inspect.getattr_static(kind, "run")
    held = object.__getattribute__(thread, "__dict__")
    if not _is_known(held.get("_target"), _THREADS):
        # Known targets do not read from iterators in their arguments either.
        return False
    given = (*held.get("_args", ()), *held.get("_kwargs", {}).values())
    return all(map(_is_at_home, filter(callable, given)))


def is_service_task(runs: Any) -> bool:
    """Return whether a coroutine neither runs nor awaits code of a caller."""
    if type(runs) is not CoroutineType:
        return False
    frame = runs.cr_frame
    return frame is None or (
        _is_code_of(frame.f_code, frame.f_globals, frame.f_locals, _TASKS, _DEPTH)
        and all(map(_is_no_callers, _chain(runs))))


def is_service_callback(called: Any) -> bool:
    """Return whether a callback runs no code of a caller."""
    return _is_known(called, _CALLBACKS)


def _is_known(called: Any, names: tuple[str, ...], depth: int = _DEPTH) -> bool:
    """Return whether a callable is in `names`, and what it binds and calls is safe."""
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
        # A closure variable may be unbound, which raises a ValueError.
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
    """Return whether code with globals `sees` is in `names`, and so is its closure."""
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
    """Return the closure variables of a function, as pairs of name and cell."""
    return zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)


def _is_class_of(kind: type, names: tuple[str, ...]) -> bool:
    return any(_named(name) is kind for name in _of_package(names, class_module(kind)))


@lru_cache
def _of_package(names: tuple[str, ...], module: str) -> list[str]:
    """Return the entries of `names` from the same package as a module."""
    return [name for name in names if _package(name.partition(":")[0]) == _package(module)]


def _named(name: str) -> Any:
    """Return the class or function of an entry, or the function that encloses it."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.partition(".<locals>.")[0].split("."):
        # Read `__dict__` without running `__getattr__` of modules or metaclasses.
        held = object.__getattribute__ if is_a(found, ModuleType) else type.__getattribute__
        found = held(found, "__dict__").get(part) if is_a(found, (ModuleType, type)) else None
    found = found.__func__ if type(found) in (staticmethod, classmethod) else found
    # An object that replaced the original comes from another package, and is not known.
    home = home_of(found) if type(found) is FunctionType else None
    of = getattr(home, "__name__", "") if home else class_module(found)
    return found if _package(of) == _package(module) else None


def _inner(outer: FunctionType, name: str) -> list[CodeType]:
    """Return the code of the inner functions of `outer` that an entry names."""
    codes = [outer.__code__]
    for part in name.split(".<locals>.")[1:]:
        codes = [each for code in codes for each in code.co_consts
                 if type(each) is CodeType and each.co_name == part]
    return codes if ".<locals>." in name else []


def _is_harmless(bound: Any) -> bool:
    """Return whether an argument or `self` of known code is data or of a known class."""
    kind: Any = type(bound)
    if is_a(bound, type):
        return _is_at_home(bound)
    return (kind in _DATA or issubclass(kind, task_kinds()) or _wakes(kind)
            or is_of(kind, "dpsk._charging") or _is_at_home(kind))


def _is_at_home(called: Any, depth: int = _DEPTH) -> bool:
    """Return whether a callable and callables in its closure are of known packages."""
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
    """Return whether a class is a compiled one of asyncio, which can only wake tasks."""
    return class_module(kind) == "_asyncio" and (
        not kind.__flags__ & _MADE or bool(kind.__flags__ & _FIXED))


def _chain(runs: Any) -> Iterator[Any]:
    """Yield a coroutine, the object that it awaits, and so on."""
    while runs is not None:
        yield runs
        runs = getattr(runs, "cr_await", None) or getattr(runs, "gi_yieldfrom", None)


def _is_no_callers(runs: Any) -> bool:
    """Return whether an awaited object runs no code of a caller."""
    if type(runs) not in (CoroutineType, GeneratorType):
        return _wakes(type(runs))
    frame = runs.cr_frame if type(runs) is CoroutineType else runs.gi_frame
    home = None if frame is None else module_of(frame.f_globals)
    return frame is None or _package(getattr(home, "__name__", "")) in _NO_CALLERS


def class_module(kind: Any) -> str:
    """Return the name of the module of a class, or "" if it is not a string."""
    # A metaclass may override `__module__`.
    found = type.__dict__["__module__"].__get__(kind) if is_a(kind, type) else ""
    return found if type(found) is str else ""


def _package(module: str) -> str:
    return module.partition(".")[0]
