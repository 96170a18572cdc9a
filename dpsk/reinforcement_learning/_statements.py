"""Entries of a certificate for transitions: enforced bounds and public facts."""

from dpsk._privacy.certificate import Enforced

__all__ = ["public_lines", "state_lines"]


def state_lines(model, data_norm, is_learnt):
    """Return the bounds enforced on every state; a learnt norm is not among them.

    `data_norm` is the parameter of the estimator.
    """
    if model.bounds is not None:
        alike = (model.bounds == model.bounds[0]).all()
        shown = model.bounds[0] if alike else model.bounds.ravel()
        which = "every column" if alike else "one column after the other"
        return [Enforced("state_bounds", shown.tolist(), "declared",
                         f"low and high of {which}; states outside are clipped")]
    if is_learnt:
        return []
    origin = "default" if data_norm in ("auto", None) else "declared"
    return [Enforced("data_norm", model.data_norm, origin,
                     "l2 norm of a state; longer ones are scaled down")]


def public_lines(n_groups):
    """Return the public facts; `n_groups` is None if single transitions are protected."""
    units = ("number of transitions" if n_groups is None
             else f"number of groups, {n_groups}: what is protected is a whole group")
    return [f"{units}; number of columns, feature names and dtype",
            "all parameters, and the random features"]
