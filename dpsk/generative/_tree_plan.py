"""The releases of a sampler of tables: what they cost, in which order, on which rows."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dpsk._data.columns import bin_edges
from dpsk._defaults.budgets import FOREST_SHARE, TABLE_SHARES, mu_of_share
from dpsk._models.bins import BinnedRows
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Gaussian, NotPrivate, Repeated
from dpsk._privacy.plans import Framed, SharedBudget
from dpsk._problem import Budget
from dpsk._statistics.tables import PairChoices, noisy_tables, table_noise
from dpsk.generative._bounds import bounds_rule, learnt_bounds
from dpsk.generative._margins import (
    conditional,
    grown_forest,
    least_distance,
    nearest,
    pooled,
    shares_of,
)
from dpsk.generative._moments import class_shares

__all__ = ["TableFit", "TablePlan", "usual_bins"]

#: The least and the largest number of bins by default, and the root of the signal over one.
_BINS, _SIGNAL_BINS = (2, 32), 2.5


@dataclass(frozen=True, eq=False)
class TableFit:
    """Consequences of the releases.

    Parameters
    ----------
    edges : list of ndarray or None
        Of the bins of every column of numbers.
    pairs : list of (int, int)
        Parent and child, in an order in which parents come first.
    shares : ndarray of shape (n_classes,)
    tables : list of ndarray
        Of every column the shares of its bins by class, and by its parent's bins if it has one.
    """

    edges: list
    pairs: list
    shares: np.ndarray
    tables: list


@dataclass(frozen=True)
class TablePlan:
    """The declaration of tables of columns, of the choice of pairs, and of their tables.

    Parameters
    ----------
    budget : Budget
    n_classes : int
    n_learnt : int
        How many columns have bounds that are learnt, two quantiles each.
    """

    budget: Budget
    n_classes: int
    n_learnt: int

    def __call__(self, noise_multiplier):
        return Framed(self._choices(), self._sums(), ())(noise_multiplier)

    def _choices(self):
        """Return what bounds that are learnt cost, and the choice of pairs."""
        if not self.budget.is_private:
            return ()
        events = []
        if self.n_learnt:
            rule = bounds_rule(self.budget, self.n_learnt, "columns")
            events.append(Repeated(rule[0], 2 * self.n_learnt))
        if self.budget.n_columns > 1:
            events.append(Repeated(self._pair_event(), self.budget.n_columns - 1))
        return tuple(events)

    def _pair_event(self):
        """Return what each of the choices costs that make a forest."""
        if not self.budget.is_private:
            return NotPrivate()
        share = FOREST_SHARE / (self.budget.n_columns - 1)
        return Gaussian(mu_of_share(self.budget, share))

    def _sums(self):
        return SharedBudget(TABLE_SHARES if self.budget.n_columns > 1 else (1.0,))

    def run(self, rows, columns, n_bins, noise_multiplier, session):
        """Return the `TableFit` of rows of numbers and positions of categories, and bounds.

        `columns` are those of the table, a list of `Column`.
        """
        prices = self._sums().prices(noise_multiplier)
        bounds, edges = [], []
        for place, column in enumerate(columns):
            edges.append(None if column.categories is not None else
                         self._edges(rows, place, column, n_bins, bounds, session))
        sizes = [len(column.categories) if known is None else len(known) - 1
                 for column, known in zip(columns, edges, strict=True)]
        binned = rows.mapped(BinnedRows(edges))
        singles = noisy_tables(binned, sizes, self.n_classes, [(j,) for j in range(len(sizes))],
                               prices[0], session)
        single_noise = table_noise(len(sizes), prices[0])
        totals = self._totals(singles, sizes)
        pairs, tables, pair_noise = [], [], 0.0
        if len(sizes) > 1:
            pairs = self._forest(binned, sizes, singles, totals, prices[1], session)
        if pairs:
            tables = noisy_tables(binned, sizes, self.n_classes, pairs, prices[1], session)
            pair_noise = table_noise(len(pairs), prices[1])
        margins = [nearest(_pooled(j, single, single_noise, pairs, tables, pair_noise), totals)
                   for j, single in enumerate(singles)]
        results = [shares_of(margin, totals) for margin in margins]
        for (parent, child), table in zip(pairs, tables, strict=True):
            results[child] = conditional(table, margins[parent], margins[child], pair_noise)
        return TableFit(edges, pairs, totals / self.budget.n_samples, results), bounds

    def _edges(self, rows, place, column, n_bins, bounds, session):
        """Return the edges of the bins of one column of numbers, learnt if they are not known."""
        if column.edges is not None and len(column.edges) > 2:
            return np.array(column.edges)
        if column.edges is not None:
            return bin_edges(*column.edges, n_bins, column.is_whole)
        low, high = np.clip(self._learnt(rows, place, session), *column.limits).tolist()
        if self.budget.is_private:
            bounds.append(Enforced(f"bounds of {column.name}", [low, high], "released",
                                   "numbers outside count as in the bins at the ends"))
        return bin_edges(low, high, n_bins, column.is_whole)

    def _learnt(self, rows, place, session):
        """Return two released bounds of a column; its ends without a budget."""
        rule = bounds_rule(self.budget, self.n_learnt, "columns") if (
            self.budget.is_private) else None
        return learnt_bounds(rows, place, rule, session)

    def _totals(self, singles, sizes):
        """Return the number of rows in every class, from all tables of one column."""
        weights = 1.0 / np.array(sizes)
        counts = sum(weight * table.sum(axis=1)
                     for weight, table in zip(weights / weights.sum(), singles, strict=True))
        return self.budget.n_samples * class_shares(counts, self.budget.n_samples)

    def _forest(self, rows, sizes, singles, totals, pair_mu, session):
        """Return the pairs of columns that are worth a table."""
        margins = [nearest(table, totals) for table in singles]
        over = 1.0 / np.maximum(totals, 1e-9)

        def independent(pair):
            one, other = pair
            return np.einsum("ca,cb,c->cab", margins[one], margins[other], over)

        cell_noise = table_noise(len(sizes) - 1, pair_mu)
        worth = {pair: least_distance(sizes, self.n_classes, pair, cell_noise)
                 for pair in itertools.combinations(range(len(sizes)), 2)}
        # No table is farther from another of as many rows: larger ones are never made.
        pairs = [pair for pair, least in worth.items() if least < 2.0 * self.budget.n_samples]
        least = np.array([worth[pair] for pair in pairs])
        choices = PairChoices(rows, sizes, self.n_classes, pairs, independent, least,
                              self._pair_event(), session)
        return grown_forest(len(sizes), pairs, choices.best)


def usual_bins(budget):
    """Return a number of bins for columns of numbers, from public facts."""
    least, most = _BINS
    return int(min(most, max(least, math.sqrt(budget.signal_to_noise) / _SIGNAL_BINS)))


def _pooled(column, single, single_noise, pairs, tables, pair_noise):
    """Return the counts of one column from its own table and from those of its pairs."""
    found, deviations = [single], [single_noise]
    for pair, table in zip(pairs, tables, strict=True):
        if column in pair:
            other = 2 if column == pair[0] else 1
            found.append(table.sum(axis=other))
            deviations.append(pair_noise * math.sqrt(table.shape[other]))
    return pooled(found, deviations)
