"""Base of gradient boosting: an additive model, then trees on its released bins."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.tables import read_next_table
from dpsk._defaults.boosting import (
    BINS_SHARE,
    boosted_share,
    n_trees,
)
from dpsk._models.monotone import check_monotonic, constrained, place_of
from dpsk._models.trees import along
from dpsk._parameters import check_integer, number, optional
from dpsk._privacy.noise.public import PublicDraws
from dpsk._rehearsal import rehearse
from dpsk._warnings import warn
from dpsk._whole import state_as_whole
from dpsk.ensemble._growth import Growth
from dpsk.exceptions import PrivacyWarning
from dpsk.tree._base import TableTrees

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._typing import FloatArray, Table

__all__ = ["BoostedTrees"]


def _check_init(name, value):
    """Raise a ValueError unless `value` is "additive" or None."""
    if not (value is None or (isinstance(value, str) and value == "additive")):
        raise ValueError(f"{name}={value!r}: must be 'additive' or None.")


class BoostedTrees(TableTrees):
    """Base of boosted trees; a subclass has the loss and the additive model."""

    #: Whether the curvature of a row's loss is its weight.
    _counts: ClassVar[bool]
    _loss: Any
    _constraints: ClassVar[dict] = {
        **TableTrees._constraints,
        "init": _check_init,
        "interaction_cst": lambda name, value: _check_sets(name, value),
        "learning_rate": number("a number in (0, 1]", low=0, open_low=True, high=1),
        "monotonic_cst": check_monotonic,
        "max_depth": lambda name, value: check_integer(
            name, value, low=1, high=8, remedy="an int in [1, 8]"),
        "max_iter": optional(lambda name, value: check_integer(
            name, value, low=0, high=10**4, remedy="None, or an int in [0, 10000]"))}

    @abstractmethod
    def _additive(self, **params):
        """Return the additive model that trees start from."""

    @abstractmethod
    def _start(self, values, n_outputs):
        """Return raw predictions before the trees, for rows of a read table, shape (n, k)."""

    @abstractmethod
    def _keep(self, init):
        """Store facts on the targets from a fitted additive model, or None."""

    def _check_combination(self):
        if self.init is None and self.max_iter == 0:
            raise ValueError("max_iter=0: leaves nothing to fit with init=None; use "
                             "init='additive', or max_iter=None.")

    def _check_columns(self, columns):
        self._known_sets(columns)
        constrained(self.monotonic_cst, columns)

    def _check_first(self, steps, budget, data, told, left):
        # Invalid targets must raise before the budget is charged.
        epsilon, delta = steps.budget(self._first_share(budget, left))
        rehearse(self._first(epsilon=epsilon, delta=delta), *data, **self._first_told(told))

    def _start_fit(self, steps, budget, plan, data, targets, told, left):
        share, count = self._shared(budget)
        if not count and self.max_iter is None:
            warn(f"{type(self).__name__}(epsilon={budget.epsilon:.4g}): {budget.n_samples} rows "
                 "are too few for trees after an additive model, so it is the additive model "
                 "alone. Where columns interact, pass init=None: trees without it.",
                 PrivacyWarning, stacklevel=2)
        init = steps.fit(self._first_share(budget, left), self._first, *data,
                         **self._first_told(told))
        self._keep(init if self.init else None)
        self.init_ = init
        self.n_iter_ = count + bool(self.init)
        return init, share * (1.0 - self._balance_share())

    def _first_share(self, budget, left):
        """Return the share of mu^2 of the model before the trees, of the share that is left."""
        balance = self._balance_share()
        return left - self._shared(budget)[0] * (1.0 - balance) - balance

    def _first_told(self, told):
        """Return the weights and groups that the model before the trees uses."""
        # Bins do not use weights.
        return told if self.init else {
            name: each for name, each in told.items() if name == "groups"}

    def _growth(self, budget):
        return Growth(self._shared(budget)[1], int(self.max_depth), float(self.learning_rate),
                      self._loss, self._counts, self._known_sets(self._columns),
                      tuple(constrained(self.monotonic_cst, self._columns).tolist()))

    def _grown_from(self, growth, rows, n_outputs, weights):
        return (self._bins.dense(rows.X), self._bins.sizes, self._scaled(rows.y), weights,
                self._start(rows.X, n_outputs), np.sqrt(self._spreads(rows.n_features)),
                rows.groups, PublicDraws(self.random_state, "cuts of trees", growth))

    def _told(self, start, count):
        return (f"{start}, then {count} trees" if count else
                f"{start}, and no trees: too few rows for them at this budget")

    @property
    def _released(self):
        return ["init_", "feature_importances_", *self._also_released]

    def _fit_table(self, X, y, sample_weight, groups=None):
        super()._fit_table(X, y, sample_weight, groups)
        # The certificate of a part states the privacy cost of the whole fit.
        state_as_whole(self.init_, self.privacy_, ())
        return self

    def _note_trees(self, n_columns):
        self.feature_importances_ = self._importances(n_columns)

    def _balance_share(self):
        """Return the share of mu^2 of the class shares."""
        return 0.0

    def _shared(self, budget):
        """Return the share of mu^2 of trees, and their number."""
        share = 1.0 - BINS_SHARE if self.init is None else (
            boosted_share(budget, self._counts) if self.max_iter is None else
            boosted_share(replace(budget, epsilon=np.inf), self._counts))
        count = n_trees(budget) if self.max_iter is None else int(self.max_iter)
        return (share, count) if share and count else (0.0, 0)

    def _first(self, **params):
        """Return the model that is fitted before the trees."""
        if self.init is None:
            return self._vectorizer(**params)
        params = {**params, "columns": self.columns, "max_categories": self.max_categories,
                  "monotonic_cst": self.monotonic_cst}
        if self.interaction_cst is not None:
            # Interactions are left to the trees.
            params["interactions"] = 0
        model = self._additive(**params)
        model._bounds_weights = False
        return model

    def _order(self, n_columns):
        """Return the order of categories of every column, by released scores if there are any."""
        if not self.init:
            return [np.arange(part.width) for part in self.init_._code.parts]
        coef = self.init_._columns_of_coef().reshape(self.init_._code.width, -1)
        # With several classes, use the direction in which scores vary most.
        found = []
        for where in self.init_._code.slices[:n_columns]:
            own = coef[where] - coef[where].mean(axis=0)
            found.append(own @ np.linalg.svd(own, full_matrices=False)[2][0])
        return found

    def _spreads(self, n_columns):
        """Return the variance of each column's contribution to the released additive model."""
        spreads = np.zeros(n_columns)
        if self.init:
            names = [column.name for column in self._columns]
            shares = self.init_._row_shares
            for term in self.init_.terms_:
                places = [names.index(axis.column) for axis in term.axes]
                squares = np.square(term.centered)
                if len(places) == 1:
                    spreads[places[0]] += np.sum(shares[places[0]] @ squares)
                else:
                    spreads[places] += 0.5 * squares.mean() * (squares.size / np.prod(
                        [len(shares[place]) for place in places]))
        return spreads * self._unit**-2

    def _importances(self, n_columns):
        """Return the share of the variance of raw predictions due to each column."""
        found = self._spreads(n_columns)
        for tree in self._trees:
            for (column, _), bits in zip(tree.cuts, along(tree.values), strict=True):
                difference = 0.5 * (bits[:, 1] - bits[:, 0])
                found[column] += 2.0 * np.square(difference).sum() / len(tree.values)
        total = found.sum()
        return found / total if total > 0.0 else found

    @property
    def _unit(self):
        """float : the unit of the additive model's raw predictions, over that of the trees'."""
        return 1.0

    def _scaled(self, numbers):
        """Return targets in the unit of raw predictions."""
        return numbers

    @quietly
    def _staged_raw(self, X) -> Iterator[FloatArray]:
        """Yield raw predictions, shape (n, k), of the additive model and after every tree.

        The same array is yielded each time; the next step overwrites it.
        """
        check_is_fitted(self, "privacy_")
        values = read_next_table(self, X, self._columns)
        raw, bins = self._start(values, self._n_outputs), self._bins.dense(values)
        if self.init:
            yield raw
        for tree in self._trees:
            tree.add(bins, raw)
            yield raw

    def _raw(self, X: Table) -> FloatArray:
        *_, last = self._staged_raw(X)
        return last

    def _known_sets(self, columns):
        """Return the indices of columns that trees may combine; None: all."""
        given, every = self.interaction_cst, range(len(columns))
        if given is None:
            return None
        if isinstance(given, str):
            return tuple(combinations(every, 2)) if given == "pairwise" and len(columns) > 1 else (
                tuple((place,) for place in every))
        sets = tuple(tuple(sorted({place_of("interaction_cst", columns, name)
                                  for name in each}))
                     for each in given)
        # As in scikit-learn, columns in no set form one more set.
        left = tuple(place for place in every if not any(place in each for each in sets))
        return (*sets, left) if left else sets


def _check_sets(name, value):
    """Raise a ValueError unless `value` is None, a known word or a sequence of sets of columns."""
    known = value is None or (isinstance(value, str) and value in ("pairwise", "no_interactions"))
    sets = isinstance(value, (list, tuple)) and value and all(
        isinstance(each, (list, tuple, set)) and each for each in value)
    if not (known or sets):
        raise ValueError(f"{name}={value!r}: must be None, 'pairwise', 'no_interactions' or a "
                         "list of sets of columns, such as [{'age', 'sex'}].")
