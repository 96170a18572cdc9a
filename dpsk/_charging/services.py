"""What other packages leave running that does nothing of a caller's: code known one by one.

All else that goes on, and all else that is called back, may fit. So a name that is missing here
holds a block open for longer, and leaves nothing uncharged.
"""

from __future__ import annotations

import inspect
import sys
from collections import deque
from functools import cache, partial
from threading import Lock, RLock, Thread
from types import (
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
)
from typing import TYPE_CHECKING

from dpsk._origin import home_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType
    from typing import Any

    _Names = tuple[str, ...]

__all__ = ["is_a", "is_service_callback", "is_service_task", "is_service_thread"]

#: Coroutines of the tasks by which Dask keeps its connections.
_TASKS = (
    "distributed.client:Client._handle_report",
    "distributed.comm.inproc:InProcListener._listen",
    "distributed.core:Server._handle_comm",
    "distributed.deploy.cluster:Cluster._sync_cluster_info",
    "distributed.deploy.cluster:Cluster._watch_worker_status",
    "distributed.utils:LoopRunner._start_unlocked.<locals>.amain",
    "distributed.worker:Worker.handle_scheduler",
)
#: Classes of threads, and what threads run.
_THREADS = (
    "IPython.core.history:HistorySavingThread",
    "asyncio.unix_events:ThreadedChildWatcher._do_waitpid",
    "distributed.process:AsyncProcess._watch_message_queue",
    "distributed.process:AsyncProcess._watch_process",
    "distributed.utils:LoopRunner._start_unlocked.<locals>.amain",
    "distributed.utils:LoopRunner._start_unlocked.<locals>.run_loop",
    "distributed.utils:_CollectErrorThread.__init__.<locals>.wrapper",
    "joblib.externals.loky.backend.queues:Queue._feed",
    "loky.backend.queues:Queue._feed",
    "multiprocessing.queues:Queue._feed",
    "tqdm._monitor:TMonitor",
    "zmq.utils.garbage:GarbageCollectorThread",
)
#: Functions and classes that are called back, to wake what waits or to hand out what is next.
_CALLBACKS = (
    "asyncio.base_events:_run_until_complete_cb",
    "asyncio.futures:_chain_future.<locals>._call_check_cancel",
    "asyncio.futures:_chain_future.<locals>._call_set_state",
    "asyncio.futures:_chain_future.<locals>._set_state",
    "asyncio.taskgroups:TaskGroup._on_task_done",
    "asyncio.tasks:_release_waiter",
    "asyncio.tasks:_wait.<locals>._on_completion",
    "asyncio.tasks:gather.<locals>._done_callback",
    "asyncio.tasks:shield.<locals>._inner_done_callback",
    "distributed.worker_state_machine:BaseWorker._finish_async_instruction",
    "dpsk._charging.admission:_told",
    "dpsk._charging.unfinished:Unfinished.tell.<locals>.ended",
    "dpsk._charging.unfinished:Work._called",
    # Whoever reads its results is seen.
    "joblib.parallel:BatchCompletionCallBack",
    "tornado.gen:Runner.handle_yield.<locals>.inner",
    "tornado.gen:WaitIterator._done_callback",
    "tornado.gen:_wrap_awaitable.<locals>.<lambda>",
    "tornado.ioloop:IOLoop._discard_future_result",
    "tornado.ioloop:IOLoop.add_future.<locals>.<lambda>",
    "tornado.tcpserver:TCPServer._handle_connection.<locals>.<lambda>",
    "zmq.eventloop.zmqstream:ZMQStream._run_callback.<locals>._log_error",
)
#: What the methods of, in compiled code, call nothing.
_PLAIN = {set, list, dict, deque, type(Lock()), type(RLock())}
#: Packages that the code above calls.
_SERVICES = {"joblib", "loky", "distributed", "tornado", "tqdm", "ipykernel", "IPython", "zmq"}
_NO_CALLERS = (_SERVICES | sys.stdlib_module_names) - {"__main__"}


def is_a(thing: Any, kinds: type | tuple[type, ...]) -> bool:
    """Return whether something is of a class, and ask nothing of the thing itself."""
    # What an object says of its class is code of its own.
    return issubclass(type(thing), kinds)


def is_service_thread(thread: Thread) -> bool:
    """Return whether a thread does nothing of a caller's."""
    # It may do something else than its class says.
    run = inspect.getattr_static(thread, "run", None)
    if run is inspect.getattr_static(Thread, "run"):
        return _is_known(getattr(thread, "_target", None), _THREADS)
    kind = type(thread)
    return _is_class_of(kind, _THREADS) and run is inspect.getattr_static(kind, "run")


def is_service_task(runs: Any) -> bool:
    """Return whether a coroutine does nothing of a caller's, nor awaits anything of one."""
    if type(runs) is not CoroutineType:
        return False
    frame = runs.cr_frame
    return frame is None or (_is_code_of(frame.f_code, frame.f_locals, _TASKS)
                             and all(map(_is_no_callers, _chain(runs))))


def is_service_callback(called: Any) -> bool:
    """Return whether what is called back does nothing of a caller's."""
    return _is_known(called, _CALLBACKS)


def _is_known(called: Any, names: _Names) -> bool:
    """Return whether what is called is named, with all that it is bound to and would call."""
    kind = type(called)
    if kind is partial:
        given = (*called.args, *called.keywords.values())
        return all(_is_known(each, names) for each in (called.func, *filter(callable, given)))
    if kind is MethodType:
        return _is_known(called.__func__, names)
    if kind is FunctionType:
        cells = dict(zip(called.__code__.co_freevars, called.__closure__ or (), strict=True))
        return _is_code_of(called.__code__, cells, names, lambda cell: cell.cell_contents)
    if kind is BuiltinFunctionType:
        return type(called.__self__) in _PLAIN or _is_of_asyncio(type(called.__self__))
    return _is_of_asyncio(kind) or _is_class_of(kind, names)


def _is_of_asyncio(kind: type) -> bool:
    """Return whether a class is one of asyncio's in compiled code, which wake tasks."""
    return kind.__module__ == "_asyncio"


def _is_class_of(kind: type, names: _Names) -> bool:
    return any(found is kind for found in _found(names))


def _is_code_of(code: CodeType, cells: Mapping[str, Any], names: _Names,
                read: Callable[[Any], Any] = lambda cell: cell) -> bool:
    """Return whether some code is of what is named, and so is what it has from around it."""
    try:
        around = {name: read(cells[name]) for name in code.co_freevars}
    except (KeyError, ValueError):
        # Not bound yet, or no more.
        return False
    for found in _found(names):
        if type(found) is FunctionType and found.__code__ is code:
            own = dict(zip(code.co_freevars, found.__closure__ or (), strict=True))
            if all(around[name] is own[name].cell_contents for name in around):
                return True
        elif type(found) is CodeType and found is code:
            return all(_is_known(each, names) for each in around.values() if callable(each))
    return False


def _chain(runs: Any) -> Iterator[Any]:
    """Yield a coroutine, what it awaits, and so on."""
    while runs is not None:
        yield runs
        runs = getattr(runs, "cr_await", None) or getattr(runs, "gi_yieldfrom", None)


def _is_no_callers(runs: Any) -> bool:
    """Return whether what is awaited is no code of a caller."""
    if type(runs) not in (CoroutineType, GeneratorType):
        return _is_of_asyncio(type(runs))
    frame = runs.cr_frame if type(runs) is CoroutineType else runs.gi_frame
    return frame is None or str(frame.f_globals.get("__name__")).partition(".")[0] in _NO_CALLERS


def _found(names: _Names) -> Iterator[Any]:
    """Yield what names stand for: classes, functions, and the code of functions in functions."""
    for name in names:
        module = sys.modules.get(name.partition(":")[0])
        if module is not None:
            yield from _named(name, module)


@cache
def _named(name: str, module: ModuleType) -> tuple[Any, ...]:
    """Return what a name stands for in a module."""
    outer, *inner = name.partition(":")[2].split(".<locals>.")
    found: Any = module
    for part in outer.split("."):
        found = inspect.getattr_static(found, part, None)
    found = getattr(found, "__func__", found)
    if not inner:
        return (found,) if _is_own(found, name) else ()
    codes = [found.__code__] if type(found) is FunctionType and _is_own(found, name) else []
    for part in inner:
        codes = [each for code in codes for each in code.co_consts
                 if type(each) is CodeType and each.co_name == part]
    return tuple(codes)


def _is_own(found: Any, name: str) -> bool:
    """Return whether what has a name is of the package of it, and was not put in its place."""
    if type(found) is FunctionType:
        home = home_of(found)
        module = "" if home is None else home.__name__
    else:
        module = str(getattr(found, "__module__", ""))
    return module.partition(".")[0] == name.partition(":")[0].partition(".")[0]
