"""Transformation of training rows by the steps of a pipeline."""

from sklearn.utils.validation import _num_samples

from dpsk._data.errors import discreetly
from dpsk.pipeline._composition import NOTHING
from dpsk.pipeline._known import seed_draws
from dpsk.pipeline._parts import fit_parts, has_parts

__all__ = ["mapped", "transformed"]


def mapped(step, X, n_samples):
    """Return rows after a step that learns nothing from them."""
    if step in NOTHING:
        return X
    if has_parts(step):
        return transformed(fit_parts("", step, X, None, None), X, n_samples)
    seed_draws(step)
    step = discreetly("X", step.fit, X, None)
    if not hasattr(step, "transform"):
        # The last step is a frozen model.
        return X
    return transformed(step, X, n_samples)


def transformed(step, X, n_samples):
    """Return training rows after a fitted step, which must keep their number."""
    X = discreetly("X", step.transform, X)
    if _num_samples(X) != n_samples:
        raise ValueError(f"{type(step).__name__} changes the number of rows; every row has to be "
                         "mapped by itself to one.")
    return X
