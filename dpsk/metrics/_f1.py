"""F1 score of predicted labels, from a noisy table of labels and predictions."""

import numpy as np

from dpsk._parameters import check_choice
from dpsk.metrics import _curves
from dpsk.metrics._estimate import Estimate

__all__ = ["averaged_f1", "check_average"]

_AVERAGES = ("binary", "macro", "micro", "weighted")
#: Labels whose F1 has a larger standard error are not known well enough for a normal law. Chosen
#: on tables of 2, 5 and 20 labels, and judged on tables of 3, 10 and 40 (coverage .97).
_KNOWN = 0.06


def check_average(classes, average, pos_label):
    """Return the index of the positive label, or None for averages; check arguments."""
    check_choice("average", average, list(_AVERAGES))
    if average != "binary":
        if pos_label is not None:
            raise ValueError(f"pos_label={pos_label!r}: has no meaning where labels are averaged; "
                             "leave it out, or use average='binary'.")
        return None
    if len(classes) != 2:
        raise ValueError(f"average='binary': there are {len(classes)} classes; use 'macro', "
                         "'micro' or 'weighted'.")
    if pos_label is not None and pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r}: must be one of the labels.")
    return 1 if pos_label is None else classes.index(pos_label)


def averaged_f1(evaluated, average="binary", pos_label=None):
    """Return the F1 of one label, or an average over all, of a `MulticlassEvaluation`.

    The error of labels whose F1 is known follows from the noise on the table. The errors of other
    labels add up.
    """
    place = check_average(evaluated.labels, average, pos_label)
    if average == "micro":
        # Every row has one label and one prediction, so micro F1 is the accuracy.
        return evaluated.accuracy()
    found = evaluated.f1()
    if place is not None:
        value = float(found.value[place])
        return Estimate(value, float(found.standard_error[place]), found.bounds,
                        errors=tuple(float(each[place]) for each in found.errors),
                        note=found.note if np.isnan(value) else None)
    known, n_labels = found.standard_error <= _KNOWN, len(evaluated.labels)

    def shares(counts):
        if average == "macro":
            return np.full(counts.shape[:-1], 1.0 / n_labels)
        return counts.sum(axis=-1) / evaluated.n_samples

    def of_known(counts):
        right = np.diagonal(counts, axis1=-2, axis2=-1)
        f1 = _curves.ratio(2.0 * right, counts.sum(axis=-1) + counts.sum(axis=-2))
        return (f1 * shares(counts))[..., known].sum(axis=-1)

    weights = np.maximum(shares(evaluated.counts), 0.0)[~known]
    # A share that noise hides may be as large as the noise.
    least = evaluated.noise_scale * n_labels**0.5 / evaluated.n_samples
    reached = weights if average == "macro" else np.maximum(weights, least)
    value, error = evaluated._estimate(of_known)
    value = float(np.clip(value + weights @ found.value[~known], 0.0, 1.0))
    return Estimate(value, float(error + reached @ found.standard_error[~known]), (0.0, 1.0),
                    note=found.note if np.isnan(value) else None)
