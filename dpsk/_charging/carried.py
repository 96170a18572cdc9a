"""Budgets and prepaid fits travel with an estimator, wherever it is fitted."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from dpsk._charging.admission import entered
from dpsk._charging.prepaid import Carried, Prepaid, paying

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Carries", "paid_for"]


class Carries:
    """Mixin of estimators that charge, in another process, the budget that they were pickled in.

    A process that did not open the budget cannot tell whether its block still lasts. In the one
    that did, copies are charged as their originals are: inside of the block, and not after it.

    Clones that are made there charge it as well, also clones of fitted estimators, which may be
    fitted again. A prepaid fit goes along too, pays once wherever that is, and is not cloned.
    """

    #: Not a parameter.
    _carried = Carried()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[misc]  # of an estimator
        state.pop("_carried", None)
        away = [each for each in self._carried.budgets if not each.is_of_this_process]
        budgets = tuple({each.path: each for each in (*away, *entered())}.values())
        carried = replace(self._carried, budgets=budgets)
        if carried != Carried():
            state["_carried"] = carried
        return state

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]  # of an estimator
        if self._carried.budgets:
            copy._carried = Carried(self._carried.budgets)
        return copy


@contextmanager
def paid_for(model: Any, prepaid: Prepaid | None) -> Iterator[Any]:
    """Have the fit of a model inside paid for; None: it pays for itself.

    What the model carries tells it in any thread or process; a fit that it makes of something
    else instead, in this thread, is told by the thread.
    """
    if prepaid is None:
        yield model
        return
    before = vars(model).get("_carried") if isinstance(model, Carries) else None
    if isinstance(model, Carries):
        model._carried = replace(model._carried, prepaid=prepaid)
    try:
        with paying(prepaid):
            yield model
    finally:
        prepaid.close()
        vars(model).pop("_carried", None)
        if before is not None:
            model._carried = before
