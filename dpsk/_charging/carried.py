"""Carry budgets and prepaid fits with an estimator to other processes and clones."""

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
    """Mixin of estimators that take open budgets with them to other processes.

    Another process cannot tell whether the block of a budget has been left, so it always charges.
    In the process that opened the budget, copies are charged inside the block only.

    Clones made in the other process charge the budget as well, also clones of fitted estimators.
    A prepaid fit is pickled with the estimator, pays once in any process, and is not cloned.
    """

    #: Budgets and payment; this is not a parameter.
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
    """Let `prepaid` pay for the fit of a model inside; None charges the fit as usual.

    The model carries `prepaid` to any thread or process. The context of this thread holds it as
    well, for a model that fits another estimator in its place.
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
