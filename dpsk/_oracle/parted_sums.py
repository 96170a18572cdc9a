"""Sums over rows in several places: each is made where rows are, and only sums come back."""

import numpy as np
from scipy import sparse

from dpsk._data.source import Rows

__all__ = ["PartedSums", "sums_over"]


def sums_over(kind, model, loss, rows, *args):
    """Return the sums ``kind(model, loss, rows, *args)``, in whatever places the rows are."""
    if rows.is_parted:
        return PartedSums(kind, model, loss, rows, args)
    return kind(model, loss, rows, *args)


class PartedSums:
    """What sums rows of each place by a `kind` of sums, and adds.

    What else is asked of sums follows from public facts. A twin over one row of zeros answers it.
    """

    def __init__(self, kind, model, loss, rows, args):
        self._held = rows.hold(_made, kind, model, loss, args, rows.n_units)
        self._twin = _made(_zero(rows), kind, model, loss, args, rows.n_units)

    def __getattr__(self, name):
        return getattr(self._twin, name)

    def gradient(self, theta, rows=None):
        """Return the sum of clipped gradients; `rows` are indices, None for all."""
        whole = self._held.added("whole_gradient", theta, rows=rows)
        return self._twin.from_whole_gradient(whole)

    def hessian(self, theta):
        """Return the Hessian of the sum of clipped losses."""
        return self._held.added("hessian", theta)

    def curvature(self, theta, *bound):
        """Return the sum of curvatures."""
        whole = self._held.added("whole_curvature", theta, *bound)
        return self._twin.from_whole_curvature(whole, *bound)

    def value(self, theta):
        """Return the sum of losses."""
        return self._held.added("value", theta)

    def majorant(self, theta):
        """Return what no Hessian of the sum of losses exceeds."""
        return self._held.added("majorant", theta)

    def anchor_gradient(self, anchor):
        """Return the sum of clipped gradients at `anchor`, held on to in every place."""
        return self._held.added("anchor_gradient", anchor)

    def difference(self, theta, anchor, bound, rows=None):
        """Return the sum of clipped differences of gradients from those at the anchor."""
        # A place that was lost, and is made again, has no anchor.
        return self._held.added("difference_anew", theta, anchor, bound, rows=rows)

    def gradients(self, primal, dual, rows=None):
        """Return the sums of clipped primal and dual gradients."""
        return self._held.added("gradients", primal, dual, rows=rows)

    def dual_gradient(self, primal, dual, rows=None):
        """Return the sum of clipped dual gradients."""
        return self._held.added("dual_gradient", primal, dual, rows=rows)

    def differences(self, new, old, clip, rows=None):
        """Return the sum of clipped differences of clipped primal gradients."""
        return self._held.added("differences", new, old, clip, rows=rows)

    def scores(self, theta):
        """Return a source of the rows' raw predictions."""
        return self._held.rows("scores", theta, width=self._twin.model.n_outputs or 1)


def _made(rows, kind, model, loss, args, n_samples):
    return kind(model, loss, rows, *args, n_samples=n_samples)


def _zero(rows):
    """Return one row of zeros, in the place of rows that stay where they are."""
    X = np.zeros((1, rows.n_features), rows.dtype)
    return Rows(sparse.csr_matrix(X) if rows.is_sparse else X, np.zeros(1), None,
                rows.weight_bound)
