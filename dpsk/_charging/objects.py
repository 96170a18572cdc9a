"""Find all objects of given classes without disturbing other threads."""

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
    """Return all objects of the given classes, except those frozen by `gc.freeze`.

    No other thread may run between the first look at an object and the last. Python refuses to
    finish a tuple that a thread is building if another object refers to it. So all steps are one
    call of compiled code, which calls no method that a class may define.
    """
    every: list[Any] = []
    found: list[Any] = []
    wanted = {id(kind) for kind in kinds}.__contains__
    fill = partial(every.extend, chain.from_iterable(map(gc.get_objects, (None,))))
    pick = partial(found.extend, compress(every, map(wanted, map(id, map(type, every)))))
    if gc.isenabled():
        # A collection may run callbacks. After this one none is due here: few objects are made.
        gc.collect(0)
    deque(map(partial.__call__, (fill, pick, partial(every.clear))), maxlen=0)
    return found
