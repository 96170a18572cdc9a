"""Validation of groups of rows and of their declared shares."""

import numpy as np

from dpsk._data.errors import discreetly
from dpsk._data.structure import refuse_masked
from dpsk._parameters import check_real

__all__ = ["check_groups", "public_shares"]


def check_groups(groups, n_samples):
    """Return the group of every row as an array; raise a ValueError for a wrong shape."""
    refuse_masked("groups", groups)
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
    return groups


def public_shares(group_shares, labels):
    """Return declared group shares in the order of `labels`, of sum 1, or None."""
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
