"""Weights of rows and of classes, which are factors of the rows' losses."""

from functools import partial

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from dpsk._data.errors import discreetly
from dpsk._data.structure import refuse_masked
from dpsk._parameters import check_real

__all__ = ["check_weights", "class_factors", "class_weighted", "is_balanced"]


def check_weights(sample_weight, X, dtype, whole=True, narrow=None):
    """Return sample weights as an array of `dtype`, or None.

    A ValueError if they are not finite and >= 0, or, of a `whole` table, all zero, in `dtype` and
    in the `narrow` one that steps of a fit may have them in later; no message carries a weight.
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
                         "negative weights, and divide large ones by a public constant.")
    if whole and not kept.any():
        raise ValueError(f"sample_weight: all weights are zero as {kept.dtype}; at least one must "
                         "not be.")
    return weights.astype(dtype)


def class_weighted(rows, class_weight, classes, dtype):
    """Return rows, whose targets are indices of classes, weighted by the public class weights.

    The bound on weights is the largest of those.
    """
    if class_weight is None:
        return rows
    factors = class_factors(class_weight, classes)
    return rows.with_weights(partial(_weighted, factors, dtype), float(factors.max()))


def _weighted(factors, dtype, codes, weights):
    per_row = factors[codes].astype(dtype)
    return per_row if weights is None else per_row * weights


def is_balanced(class_weight):
    """Return whether scores of even classes are asked for."""
    return isinstance(class_weight, str) and class_weight == "balanced"


def class_factors(class_weight, classes, balances=False):
    """Return the weight of every class, 1 where `class_weight` names none.

    And for "balanced", where a model `balances` its scores.
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
