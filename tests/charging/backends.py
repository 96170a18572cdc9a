"""Ways to have work done elsewhere, by name: each does every call once, and waits for all."""

import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from tempfile import TemporaryDirectory

from joblib import Memory, Parallel, delayed, parallel_config

__all__ = ["BACKENDS", "PROCESSES", "done"]


def done(call):
    """Make a call; what it returns need not be picklable."""
    call()


def _parallel(**how):
    def run(calls):
        Parallel(**how)(delayed(done)(call) for call in calls)
    return run


def _lazy(**how):
    def run(calls):
        for _ in Parallel(**how)(delayed(done)(call) for call in calls):
            pass
    return run


def _plain(calls):
    for call in calls:
        call()


def raised_in_threads(calls, timeout=None):
    """Make calls in a thread each and wait for them; return what they raised."""
    raised = []

    def run(call):
        try:
            call()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
    return raised


def _threads(calls):
    raised = raised_in_threads(calls)
    if raised:
        raise raised[0]


def _nested(calls):
    """Threads of threads."""
    _threads([lambda call=call: _threads([call]) for call in calls])


def _pool(calls):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(done, calls))


def _spawned(calls):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        list(pool.map(done, calls))


def _forked(calls):
    with get_context("fork").Pool(2) as pool:
        pool.map(done, calls)


def _configured(calls):
    with parallel_config("threading", n_jobs=2):
        Parallel()(delayed(done)(call) for call in calls)


def _cached(calls):
    """What is asked for twice is done once, and given again at no price."""
    with TemporaryDirectory() as folder:
        memory = Memory(folder, verbose=0)
        for place, call in enumerate(calls):
            for _ in range(2):
                memory.cache(_numbered, ignore=["call"])(place, call=call)


def _numbered(place, call):
    call()


BACKENDS = {
    "one after the other": _plain, "threads": _threads, "threads of threads": _nested,
    "thread pool": _pool, "loky": _parallel(n_jobs=2), "joblib's threads": _configured,
    # One at a time: a pool that ends while another process answers may wait for ever.
    "multiprocessing": _parallel(n_jobs=2, backend="multiprocessing", pre_dispatch=1),
    "forked": _forked,
    "spawned": _spawned, "lazy": _lazy(n_jobs=2, return_as="generator"),
    "lazy threads": _lazy(n_jobs=2, return_as="generator_unordered", backend="threading"),
    "lazy, by itself": _lazy(n_jobs=1, return_as="generator"), "memory": _cached}
#: Those that are other processes, whose start takes a while.
PROCESSES = {"loky", "multiprocessing", "forked", "spawned", "lazy"}
