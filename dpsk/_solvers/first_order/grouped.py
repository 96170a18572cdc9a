"""The second clip of solvers whose sums may be over groups of rows."""

from dataclasses import dataclass, field

from dpsk._solvers.base import Solver

__all__ = ["GroupClipped"]


@dataclass(frozen=True)
class GroupClipped(Solver):
    """A solver that clips rows' gradients, and where they are in groups their averages.

    Parameters
    ----------
    group_clip_norm : float or None
        Of linear models of rows in groups: the most that a group adds, the average of its rows'
        clipped gradients; it takes the place of C in the noise. None: C / 8, and inf for C.
    """

    # Where there are no groups it is no part of what keys noise.
    group_clip_norm: float | None = field(default=None, repr=False, kw_only=True)

    takes_groups = True
