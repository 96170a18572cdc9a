"""Groups of rows and their shares, from what was declared or from the data."""

import numpy as np

from dpsk._data.errors import discreetly
from dpsk._data.labels import encode_labels
from dpsk._parameters import check_real

__all__ = ["encode_groups", "public_shares"]


def encode_groups(groups, labels, n_samples, name):
    """Return the group labels, sorted, and the index of every row's group among them.

    `labels` is the public set of groups; None to take it from `groups`. `name` is that of the
    estimator, for messages.
    """
    groups = discreetly("groups", np.asarray, groups)
    if groups.ndim == 2 and groups.shape[1] == 1:
        groups = groups[:, 0]
    if groups.ndim != 1:
        raise ValueError(f"groups of shape {groups.shape}: must be one label for each row, in one "
                         "dimension.")
    if groups.dtype.kind == "f" and not np.isfinite(groups).all():
        raise ValueError("groups contains NaN or infinity; give those rows a label of their own, "
                         "such as -1.")
    if len(groups) != n_samples:
        raise ValueError(f"groups of length {len(groups)}: must be one label for each of the "
                         f"{n_samples} rows.")
    return encode_labels(groups, labels, name, "groups", "group_labels")


def public_shares(group_shares, labels):
    """Return declared shares of the groups, in the order of `labels`, scaled to sum 1, or None."""
    if group_shares is None:
        return None
    if not isinstance(group_shares, dict):
        raise ValueError(f"group_shares={group_shares!r}: must be None, to count the groups "
                         "under noise, or a dict of public shares by group.")
    known = labels.tolist()
    if set(group_shares) != set(known):
        raise ValueError(f"group_shares={group_shares!r}: must hold one share for every group; "
                         "declare the groups in group_labels=.")
    shares = [check_real("group_shares", group_shares[label], low=1e-6, high=1.0,
                         remedy="a dict of numbers in [1e-6, 1]") for label in known]
    return tuple(share / sum(shares) for share in shares)
