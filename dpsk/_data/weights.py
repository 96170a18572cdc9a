"""Sample weights and class weights, which multiply the losses of rows."""

from functools import partial

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from dpsk._data.errors import discreetly
from dpsk._data.structure import refuse_masked
from dpsk._parameters import check_real

__all__ = ["LEAST_WEIGHT", "check_weights", "class_factors", "class_weighted", "divided_weights",
           "is_balanced"]

#: The least normal number of single precision.
LEAST_WEIGHT = float(np.finfo(np.float32).tiny)


def check_weights(sample_weight, X, dtype, whole=True, narrow=None):
    """Return sample weights as an array of `dtype`, or None.

    Raises a ValueError, which carries no weight, if a weight is not finite or is negative. For a
    `whole` table, all weights must not be zero. The checks use the dtype `narrow` if given, in
    which steps of a fit may hold the weights later.
    """
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    weights = discreetly("sample_weight", _check_sample_weight, sample_weight, X,
                         dtype=np.float64)
    with np.errstate(all="ignore"):
        kept = weights.astype(dtype if narrow is None else narrow)
    if not np.all((kept >= 0) & np.isfinite(kept)):
        raise ValueError(f"sample_weight: must be finite and >= 0 as {kept.dtype}; replace "
                         "negative weights; if one is too large, divide all by a public constant.")
    if whole and not kept.any():
        raise ValueError(f"sample_weight: all weights are zero as {kept.dtype}; at least one must "
                         "not be.")
    return weights.astype(dtype)


def class_weighted(rows, class_weight, classes, dtype):
    """Return rows with their weights multiplied by public class weights.

    Targets must be class indices. The bound on weights is the largest class weight.
    """
    if class_weight is None:
        return rows
    factors = class_factors(class_weight, classes)
    return rows.with_weights(partial(_weighted, factors, dtype), float(factors.max()))


def _weighted(factors, dtype, codes, weights):
    per_row = factors[codes].astype(dtype)
    return per_row if weights is None else per_row * weights


def divided_weights(bound, most=1.0):
    """Return the map of targets and weights to weights over a bound, times `most`, at most that.

    Both are exact for powers of two.
    """
    return partial(_divided, bound, most)


def _divided(bound, most, targets, weights):
    divided = np.minimum(weights * (most / bound), most, dtype=weights.dtype)
    # Positive weights stay so in single precision, in which parts of a fit may hold them.
    return np.maximum(divided, LEAST_WEIGHT, out=divided, where=weights > 0)


def is_balanced(class_weight):
    """Return whether `class_weight` is "balanced"."""
    return isinstance(class_weight, str) and class_weight == "balanced"


def class_factors(class_weight, classes, balances=False):
    """Return the weight of every class, 1 for classes not in `class_weight`.

    All weights are 1 for "balanced" too, if the model `balances` its scores instead.
    """
    if balances and is_balanced(class_weight):
        return np.ones(len(classes))
    if not isinstance(class_weight, dict):
        remedy = ("None, 'balanced' or a dict of public weights by class." if balances else
                  "None or a dict of public weights by class; 'balanced' corrects log-odds, as "
                  "those of DPLogisticRegression.")
        raise ValueError(f"class_weight={class_weight!r}: must be {remedy}")
    factors = np.ones(len(classes))
    for label, weight in class_weight.items():
        place = [i for i, known in enumerate(classes.tolist()) if known == label]
        if not place:
            raise ValueError(f"class_weight has {label!r}, which is not a class; declare it "
                             "in classes= or leave it out.")
        factors[place] = check_real("class_weight", weight, low=1e-10, high=1e10,
                                    remedy="a dict of numbers in [1e-10, 1e10]")
    return factors
