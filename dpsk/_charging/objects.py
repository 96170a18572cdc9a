"""All objects of some classes, found without a trace in what other threads do."""

from __future__ import annotations

import gc
from collections import deque
from functools import partial
from itertools import chain, compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["objects_of"]


def objects_of(kinds: Iterable[type]) -> list[Any]:
    """Return the objects of this process whose class is one of some, without those frozen.

    No other thread runs between the first look at an object and the last: where a tuple that a
    thread is building is referred to elsewhere, Python refuses to finish it. So all steps are one
    call of compiled code, which calls nothing that a class may define.
    """
    every: list[Any] = []
    found: list[Any] = []
    wanted = {id(kind) for kind in kinds}.__contains__
    fill = partial(every.extend, chain.from_iterable(map(gc.get_objects, (None,))))
    pick = partial(found.extend, compress(every, map(wanted, map(id, map(type, every)))))
    if gc.isenabled():
        # A collection calls back. None is due meanwhile, as few objects are made.
        gc.collect(0)
    deque(map(partial.__call__, (fill, pick, partial(every.clear))), maxlen=0)
    return found
