"""Mechanism of the sampler of tables: its parts, their costs and their order."""

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpsk._data.columns import bin_edges
from dpsk._defaults.budgets import FOREST_SHARE, TABLE_SHARES, mu_of_share
from dpsk._mechanism.core import Choices, Composite, Fixed, Share, Statistic, mu_of
from dpsk._models.bins import BinnedRows
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.class_models import class_shares
from dpsk._stages.column_bounds import REACH, bounds_rule, learnt_bounds
from dpsk._statistics.tables import PairChoices, noisy_tables, table_noise
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning
from dpsk.generative._margins import (
    conditional,
    grown_forest,
    least_distance,
    nearest,
    pooled,
    shares_of,
)

__all__ = ["TableFit", "TablePlan", "usual_bins"]

#: Least and largest default number of bins, and the divisor of the signal's square root.
_BINS, _SIGNAL_BINS = (2, 32), 2.5
#: Most columns that a warning names.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class TableFit:
    """Results that are computed from the mechanism outputs.

    Parameters
    ----------
    edges : list of ndarray or None
        Edges of the bins of every numeric column; None for other columns.
    pairs : list of (int, int)
        Parent and child, in an order in which parents come first.
    shares : ndarray of shape (n_classes,)
    tables : list of ndarray
        Probabilities of every column's bins by class, and by its parent's bins if it has one.
    """

    edges: list
    pairs: list
    shares: np.ndarray
    tables: list


@dataclass(frozen=True)
class TablePlan(Composite):
    """Learnt bounds, then tables of columns, the choice of pairs, and tables of pairs.

    Parameters
    ----------
    budget : Budget
    n_classes : int
    unknown : tuple of int
        Indices of columns whose bounds are learnt, two quantiles each.
    """

    budget: Budget
    n_classes: int
    unknown: tuple

    @property
    def parts(self):
        """tuple of Mechanism : bounds, pairs, tables of columns and those of pairs."""
        rule = partial(bounds_rule, n_learnt=len(self.unknown), name="columns")
        pairs = self.budget.n_columns - 1
        singles, of_pairs = TABLE_SHARES if pairs else (1.0, 0.0)
        forest = 1.0 / mu_of_share(self.budget, FOREST_SHARE)
        return (learnt_bounds(self.budget, self.unknown, rule, REACH, marks=True),
                Fixed(Choices(PairChoices, pairs), forest),
                Share(Statistic(noisy_tables), singles), Share(Statistic(noisy_tables), of_pairs))

    def run(self, data, session, noise_multiplier):
        """Return the `TableFit` of rows of numbers and positions of categories.

        `data` is a tuple of rows, a list of `Column`, and a number of bins.
        """
        (rows, columns, n_bins), given = data, (session, noise_multiplier)
        ends, choices, of_columns, of_pairs = self.parts
        edges = self._edges(ends.run((rows,), *given), columns, n_bins, session)
        sizes = [len(column.categories) if known is None else len(known) - 1
                 for column, known in zip(columns, edges, strict=True)]
        binned = rows.mapped(BinnedRows(edges))
        singles = of_columns.run(
            (binned, sizes, self.n_classes, [(j,) for j in range(len(sizes))]), *given)
        single_noise = table_noise(len(sizes), mu_of(of_columns.own(noise_multiplier)))
        totals = self._totals(singles, sizes)
        pairs, tables, pair_noise = [], [], 0.0
        if len(sizes) > 1:
            pair_mu = mu_of(of_pairs.own(noise_multiplier))
            candidates = self._candidates(sizes, singles, totals, pair_mu)
            best = choices.run((binned, sizes, self.n_classes, *candidates), *given).best
            pairs = grown_forest(len(sizes), candidates[0], best)
        if pairs:
            tables = of_pairs.run((binned, sizes, self.n_classes, pairs), *given)
            pair_noise = table_noise(len(pairs), pair_mu)
        margins = [nearest(_pooled(j, single, single_noise, pairs, tables, pair_noise), totals)
                   for j, single in enumerate(singles)]
        results = [shares_of(margin, totals) for margin in margins]
        for (parent, child), table in zip(pairs, tables, strict=True):
            results[child] = conditional(table, margins[parent], margins[child], pair_noise)
        return TableFit(edges, pairs, totals / self.budget.n_samples, results)

    def _edges(self, ends, columns, n_bins, session):
        """Return the bin edges of numeric columns, from learnt ends if none are declared."""
        learnt, found, hidden = dict(zip(self.unknown, ends, strict=True)), [], []
        for place, column in enumerate(columns):
            known, marked = column.edges, ()
            if place in learnt:
                low, high, *marked = learnt[place].tolist()
                known = np.clip((low, high), *column.limits).tolist()
                if self.budget.is_private:
                    session.enforced.append(Enforced(
                        f"bounds of {column.name}", known, "released",
                        "numbers outside count as in the bins at the ends"))
            if column.categories is not None:
                found.append(None)
            elif len(known) > 2:
                found.append(np.array(known))
            elif any(marked):
                hidden.append(str(column.name))
                found.append(_edges_about(*known, n_bins, column.is_whole))
            else:
                found.append(bin_edges(*known, n_bins, column.is_whole))
        if hidden:
            named = ", ".join(hidden[:_NAMED]) + " and others" * (len(hidden) > _NAMED)
            warn("columns: a column is mostly one number, so numbers more than 1 from it count as "
                 f"those 1 from it (column {named}); declare their values or bounds in columns.",
                 PrivacyWarning)
        return found

    def _totals(self, singles, sizes):
        """Return the number of rows in every class, from all single-column tables."""
        weights = 1.0 / np.array(sizes)
        counts = sum(weight * table.sum(axis=1)
                     for weight, table in zip(weights / weights.sum(), singles, strict=True))
        return self.budget.n_samples * class_shares(counts, self.budget.n_samples)

    def _candidates(self, sizes, singles, totals, pair_mu):
        """Return pairs of columns, their tables under independence, and least distances."""
        margins = [nearest(table, totals) for table in singles]
        over = 1.0 / np.maximum(totals, 1e-9)

        def independent(pair):
            one, other = pair
            return np.einsum("ca,cb,c->cab", margins[one], margins[other], over)

        cell_noise = table_noise(len(sizes) - 1, pair_mu)
        worth = {pair: least_distance(sizes, self.n_classes, pair, cell_noise)
                 for pair in itertools.combinations(range(len(sizes)), 2)}
        # Two tables of n rows are at most 2 n apart, so pairs that need more are left out.
        pairs = [pair for pair, least in worth.items() if least < 2.0 * self.budget.n_samples]
        return pairs, independent, np.array([worth[pair] for pair in pairs])


def _edges_about(low, high, n_bins, whole):
    """Return the bin edges of a column that is mostly one number, `REACH` from both bounds.

    The number and both bounds have bins of their own, so that 0 and 1 stay 0 and 1.
    """
    off = float(np.spacing(np.float32(max(abs(low), abs(high)))))
    inner = low + REACH - off, high - REACH + off
    if whole or inner[1] - inner[0] > REACH:
        return bin_edges(low, high, max(n_bins, 3), whole)
    return np.unique([low, low + off, *inner, high - off, high])


def usual_bins(budget):
    """Return the default number of bins of numeric columns, from public facts."""
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
