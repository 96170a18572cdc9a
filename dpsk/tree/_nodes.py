"""Base classes of trees and forests whose nodes hold noisy sums of targets."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from dpsk._data.columns import LEAST_WIDTH
from dpsk._data.errors import quietly
from dpsk._defaults.trees import (
    BINS_SHARE,
    EVEN_BINS,
    MOST_LEVELS,
    NOISELESS_KNOTS,
    n_levels,
    scale_share,
)
from dpsk._docs import documented
from dpsk._parameters import check_integer, optional
from dpsk.tree._base import TableTrees
from dpsk.tree._growth import NodeSums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray, IntArray, Table

__all__ = ["NODE_CONSTRAINTS", "OneTree", "SumTrees"]

#: Parameter constraints of trees of sums.
NODE_CONSTRAINTS = {
    **TableTrees._constraints,
    "max_depth": optional(lambda name, value: check_integer(
        name, value, low=1, high=MOST_LEVELS, remedy=f"None, or an int in [1, {MOST_LEVELS}]"))}


class SumTrees(TableTrees):
    """Base of trees and forests whose nodes hold noisy sums of targets."""

    _constraints: ClassVar[dict] = NODE_CONSTRAINTS
    #: Whether targets are numeric, and so need their mean and spread estimated.
    _scaled: ClassVar[bool]

    def _scales(self, budget):
        """Return the budget share for the mean and spread of targets; 0 for classes."""
        return scale_share(budget) if self._scaled else 0.0

    @property
    def _declared(self):
        if self.epsilon == math.inf:
            return self.columns
        # Bins of equal width between public bounds are public, at no privacy cost.
        return {name: _even_bins(*given) if isinstance(given, tuple) and len(given) == 2 else given
                for name, given in self.columns.items()} if self.columns else self.columns

    def _start_fit(self, steps, budget, plan, data, targets, told, left):
        before = BINS_SHARE if plan.share else 0.0
        fine = {} if budget.is_private else {"n_knots": NOISELESS_KNOTS}
        X, weights = data[0], told.get("sample_weight")
        told = {name: each for name, each in told.items() if name == "groups"}
        # Bins ignore sample weights, except weights of 0 where nothing is private.
        if weights is not None and not budget.is_private and np.count_nonzero(weights) > 1:
            kept = np.flatnonzero(weights)
            X, told = _safe_indexing(X, kept), {name: each[kept] for name, each in told.items()}
        start = steps.fit(before, partial(self._vectorizer, **fine), X, **told)
        return start, left - before

    def _growth(self, budget):
        return NodeSums(1, self._depth(n_levels(budget, self._scaled)), self._scales(budget))

    def _depth(self, usual):
        """Return the number of levels: 0 if no column has more than one bin."""
        return int(self.max_depth or usual) if len(self._bins.splits) else 0

    def _draws(self, growth):
        """Return the public randomness that trees need, or None."""
        return None

    def _grown_from(self, growth, rows, n_outputs, weights):
        ones = np.ones(rows.n) if weights is None else weights
        return (self._bins.dense(rows.X), self._bins.splits,
                self._as_targets(rows.y, n_outputs), ones, rows.groups,
                self._draws(growth))

    def _told(self, start, count):
        return f"{start}, then " + ("a decision tree" if count == 1 else f"{count} decision trees")

    def _note_trees(self, n_columns):
        gains = sum(tree.gains(n_columns) for tree in self._trees)
        self.feature_importances_ = gains / gains.sum() if gains.sum() > 0.0 else gains

    def _averages(self, X):
        """Return the predicted means of samples, averaged over trees, shape (n, k)."""
        bins = self._binned(X)
        found = sum(tree.means[tree.leaves(bins)] for tree in self._trees)
        return found / len(self._trees)


def _even_bins(low, high):
    """Return edges of bins of equal width, or the bounds if double precision is too coarse."""
    edges = np.unique(np.linspace(low, high, EVEN_BINS + 1))
    return tuple(edges.tolist()) if np.diff(edges).min() > 2.0 * LEAST_WIDTH else (low, high)


@documented
class OneTree(SumTrees):
    """Base of decision trees."""

    _released: ClassVar[tuple[str, ...]] = ("tree_", "feature_importances_")

    @property
    def max_features_(self) -> int:
        """int : number of features that a split is chosen among, which is all."""
        return self.n_features_in_

    @property
    def tree_(self) -> Any:
        """object : the nodes, with their splits, noisy means and noisy counts."""
        return self._trees[0]

    def get_depth(self) -> int:
        """Return the depth of the tree.

        Returns
        -------
        depth : int
            Depth of the deepest leaf.
        """
        return self._fitted_tree().depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree.

        Returns
        -------
        n_leaves : int
            Number of nodes that are not split.
        """
        return self._fitted_tree().n_leaves

    @quietly
    def apply(self, X: Table) -> IntArray:
        """Return the leaf of each sample.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        leaves : ndarray of int, shape (n,)
            Indices of nodes. The children of node i are ``2 i + 1`` and ``2 i + 2``.
        """
        bins = self._binned(X)
        return self.tree_.leaves(bins)

    @quietly
    def decision_path(self, X: Table) -> Any:
        """Return the nodes that each sample passes through.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        indicator : sparse array of shape (n, n_nodes), CSR
            1 where a sample passes through a node, numbered as in `apply`.
        """
        bins = self._binned(X)
        return self.tree_.indicator(bins)

    def _fitted_tree(self):
        """Return the tree; raise NotFittedError if there is none yet."""
        check_is_fitted(self, "privacy_")
        return self.tree_

    def _node_values(self) -> tuple[FloatArray, FloatArray]:
        """Return predictions of nodes, shape (n_nodes, k), and their noise, shape (n_nodes,)."""
        raise NotImplementedError
