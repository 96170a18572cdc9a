"""Checks of the penalty parameters of linear models."""

from inspect import signature

from dpsk._objective.penalties import CONSTRAINTS
from dpsk._parameters import check_real
from dpsk._warnings import warn

__all__ = ["check_penalty"]


def check_penalty(model, usual_radius):
    """Raise a ValueError where `radius` or `alpha` do not go with `penalty`, or warn of `alpha`.

    The default `alpha` of a class may stay with any penalty. With a `usual_radius`, that is not
    None, a constraint set needs no `radius`.
    """
    penalty, alpha, radius = model.penalty, model.alpha, model.radius
    if penalty in CONSTRAINTS:
        if radius is not None or usual_radius is None:
            check_real("radius", radius, low=0, open_low=True,
                       remedy=f"a finite number > 0, as penalty={penalty!r} needs one")
        usual = signature(type(model)).parameters.get("alpha")
        if alpha != 0 and usual is not None and alpha != usual.default:
            # No error, as scikit-learn's checks set alpha whatever the penalty is.
            warn(f"alpha={alpha!r}: has no effect with penalty={penalty!r}; use penalty='l1' or "
                 "'l2', or set radius.", UserWarning)
    elif radius is not None:
        raise ValueError(f"radius={radius!r}: must be None with penalty={penalty!r}, which has no "
                         "radius; leave it, or use a penalty with one, such as "
                         "penalty='l2_ball'.")
    if penalty in ("l1", "elasticnet") and alpha == 0:
        raise ValueError(f"alpha={alpha!r}: must be > 0 with penalty={penalty!r}; set alpha, such "
                         "as 1e-3, or use penalty='l2'.")
