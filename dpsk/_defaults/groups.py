"""The clip of what a group adds, and steps beside it, on rows that enter linearly.

Measured on docs/results/user_level_privacy.md.
"""

from dpsk._parameters import check_clip_norm

__all__ = ["default_group_clip", "group_step"]

#: An average of a group's gradients is far shorter than the clip of one of them.
_SHARE = 0.125
#: By how much longer steps are, as they are made of shorter averages under less noise.
_LONGER = 4.0


def default_group_clip(problem, clip_norm, group_clip_norm):
    """Return the clip norm of groups: an eighth of that of rows; None where there are none.

    It is that of rows where a narrower one would turn the loss into another.
    """
    name = "solver_options: group_clip_norm"
    linear = problem.model.is_linear
    if group_clip_norm is None:
        clips = problem.grouped and linear and problem.is_private
        share = _SHARE if problem.loss.clippable else 1.0
        return share * clip_norm if clips else None
    check_clip_norm(name, group_clip_norm)
    if not linear:
        raise ValueError(f"{name}={group_clip_norm!r}: networks clip rows alone; leave it out, "
                         "and set clip_norm.")
    if not problem.grouped:
        raise ValueError(f"{name}={group_clip_norm!r}: clips what groups of rows add; pass "
                         "groups to fit, or leave it out.")
    return min(float(group_clip_norm), clip_norm)


def group_step(clip_norm, group_clip):
    """Return by how much longer steps are than those on rows: half of what noise is less by.

    No shorter, and at most as long as was measured.
    """
    if group_clip is None:
        return 1.0
    return min(_LONGER, max(1.0, 0.5 * clip_norm / group_clip))
