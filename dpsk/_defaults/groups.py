"""Clip norm and step of linear models with user-level privacy.

They were measured in docs/results/user_level_privacy.md.
"""

from dpsk._parameters import check_clip_norm

__all__ = ["default_group_clip", "group_step"]

#: The average gradient of a group is far shorter than the clip norm of one gradient.
_SHARE = 0.125
#: Largest factor of steps, as averages of groups are shorter and have less noise.
_LONGER = 4.0


def default_group_clip(problem, clip_norm, group_clip_norm):
    """Return the clip norm of groups: an eighth of that of rows; None without groups.

    It is that of rows where a smaller clip norm would change the loss into another loss.
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
    """Return the factor of steps relative to those on rows: half the reduction of the noise.

    It is at least 1, and at most the largest factor measured.
    """
    if group_clip is None:
        return 1.0
    return min(_LONGER, max(1.0, 0.5 * clip_norm / group_clip))
