"""Base class of solvers with a second clip norm, for groups of rows."""

from dataclasses import dataclass, field

from dpsk._solvers.base import Solver

__all__ = ["GroupClipped"]


@dataclass(frozen=True)
class GroupClipped(Solver):
    """A solver that clips rows' gradients and, for grouped rows, the groups' averages.

    Parameters
    ----------
    group_clip_norm : float or None
        For linear models on grouped rows: clip norm of the average of a group's clipped
        gradients. It replaces C in the noise scale. None: C / 8; inf means C.
    """

    # Not in the repr, so that fits without groups keep their noise key.
    group_clip_norm: float | None = field(default=None, repr=False, kw_only=True)

    takes_groups = True
