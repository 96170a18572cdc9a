"""Arguments with which an oracle is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._data.source import RowSource
from dpsk._mechanism.session import Session
from dpsk._problem import Problem

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Context"]


@dataclass(frozen=True, eq=False, repr=False)
class Context:
    """The rows of a fit, what was declared of them, and the way out.

    Parameters
    ----------
    problem : Problem
    rows : RowSource
        Sensitive.
    declared : callable, float -> Event
        The solver's plan.
    clip : float, tuple of float or None
        The solver's clips.
    noise_multiplier : float
    session : Session
    """

    problem: Problem
    rows: RowSource
    declared: Any
    clip: Any
    noise_multiplier: float
    session: Session
