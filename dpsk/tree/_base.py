"""Base of estimators made of trees on the released bins of a raw table."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from dpsk._data.groups import groups_of
from dpsk._data.labels import encode_labels
from dpsk._data.opening import check_targets
from dpsk._data.source import Rows
from dpsk._data.tables import read_next_table, read_table
from dpsk._data.weights import check_weights, class_factors
from dpsk._defaults.columns import DISCLOSURE_SHARE
from dpsk._estimator import DPEstimator
from dpsk._mechanism.core import Share
from dpsk._models.trees import TableBins
from dpsk._stages.weight_bound import at_most, weighing
from dpsk._steps import Steps
from dpsk.preprocessing import DPTableVectorizer
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS, CodePlan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["TableTrees", "weighed_labels"]


class TableTrees(DPEstimator):
    """Base of trees on released bins; subclasses define the first model and the growth."""

    _solvers: ClassVar[dict] = {}
    _auto_is_gaussian: ClassVar[bool] = True
    _disclosed_share: ClassVar[float] = DISCLOSURE_SHARE
    _constraints: ClassVar[dict] = TABLE_CONSTRAINTS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    @abstractmethod
    def _read_targets(self, y):
        """Return targets for trees, the number of outputs, class weights of rows, and attributes.

        Class weights are at most 1, or None. Raise a ValueError for invalid targets, before any
        release.
        """

    @abstractmethod
    def _start_fit(self, steps, budget, plan, data, targets, told, left):
        """Fit the model before the trees; return it, and the trees' share of mu^2.

        `data` holds the table and its targets, `plan` is the plan of its bins, `targets` holds
        rows with the targets that were read, `told` has weights and groups by name, if given, and
        `left` is the share of mu^2 for both.
        """

    def _check_first(self, steps, budget, data, told, left):
        """Raise the ValueErrors of the model before the trees, before any release."""

    @abstractmethod
    def _growth(self, budget):
        """Return the mechanism that grows trees on the released bins."""

    def _pure(self, growth):
        """Return the same mechanism at a pure epsilon, or None if there is none."""
        return None

    @abstractmethod
    def _grown_from(self, growth, rows, n_outputs, weights):
        """Return the data of the growth mechanism, from table rows and weights of at most 1."""

    @abstractmethod
    def _told(self, start, count):
        """Return the name of the whole method: the first model, then `count` trees."""

    _released: ClassVar[Sequence[str]]

    @property
    def _declared(self):
        """dict or None : the public facts about columns."""
        return self.columns

    def _check_table(self, X, y):
        self._check_columns(read_table(self, X, self._declared).columns)

    def _check_columns(self, columns):
        """Raise a ValueError where parameters name missing columns."""

    def _fit_table(self, X, y, sample_weight, groups=None):
        """Fit to a table; with groups, bins are chosen by one row of each group."""
        self._check_params()
        table = read_table(self, X, self._declared)
        n_samples, n_columns = table.values.shape
        self._check_columns(table.columns)
        y = check_targets(type(self).__name__, y, n_samples, self._target_checks)
        weights = check_weights(sample_weight, table.values, np.float64, narrow=np.float32)
        members = groups_of(groups, n_samples, self.random_state)
        numbers, n_outputs, factors, known = self._read_targets(y)
        self._described = table.columns
        n_units = n_samples if members is None else members.count
        budget = self._table_budget((n_units, n_columns), members)
        _, plan = CodePlan.for_table(budget, table, max_categories=self.max_categories)
        facts = self._table_facts(
            members, "number of rows and of columns, their names, types, and categories listed by "
            "types", "all parameters")
        steps = Steps(self._method().with_columns(table.columns), budget, plan.mechanism.delta,
                      random_state=self.random_state, verbose=self.verbose,
                      public=[*facts, *self._label_facts(y, n_samples)])
        told = {} if weights is None else {"sample_weight": weights}
        if members is not None:
            told["groups"] = members.codes
        # The output of transformers is not used, so no DataFrame library is needed.
        with config_context(transform_output="default"):
            targets = Rows(np.broadcast_to(np.int8(0), (n_samples, 1)), numbers, groups=members)
            stages = weighing(budget, weights is not None)
            left = 1.0 - sum(map(steps.share_of, stages))
            self._check_first(steps, budget, (X, y), told, left)
            at_most_one = at_most(steps, stages, targets, weights)
            if weights is not None:
                told["sample_weight"] = at_most_one
            start, share = self._start_fit(steps, budget, plan, (X, y), targets, told, left)
            if factors is not None:
                at_most_one = factors if weights is None else at_most_one * factors
        vars(self).update(known)
        self._columns = start._columns
        self._bins = TableBins.of(start._code, self._order(n_columns), self._columns)
        self._trees: list = []
        # Repeated noise must not be added to different sums. The data of trees may depend on more
        # than bins, and on whole weights.
        rows = Rows(read_next_table(self, X, self._columns), numbers, weights, groups=members)
        self._release_more(steps, rows)
        if share:
            growth = self._growth(budget)
            alone = self._pure(growth) if share == 1.0 and steps.may_be_pure else None
            growth = alone or growth
            data = self._grown_from(growth, rows, n_outputs, at_most_one)
            # Bins depend on the original categories, but rows hold only those that were found.
            had_words = any(found is not None for found in table.found)
            known = (_digest(data),) if had_words else ()
            self._trees = steps.release("trees", Share(growth, share), rows, data, known,
                                        pure=alone is not None)
        self._note_trees(n_columns)
        self.privacy_ = steps.certificate(
            self._told(start.privacy_.solver, len(self._trees)),
            enforced=(),
            public=[*facts, *self._label_facts(y, n_samples),
                    *self._weight_facts(sample_weight)], released=self._released)
        return self

    def _order(self, n_columns):
        """Return the order of categories of every column."""
        return [np.arange(len(column.categories or ()) + 1) for column in self._columns]

    def _release_more(self, steps, rows):
        """Release what trees do not depend on, outside their share of the budget."""

    def _note_trees(self, n_columns):
        """Set attributes computed from the trees."""

    def _vectorizer(self, **params):
        """Return the transformer that releases bins alone."""
        return DPTableVectorizer(columns=self._declared, max_categories=self.max_categories,
                                 **params)

    def _binned(self, X):
        """Return the bins of new rows, shape (n_columns, n)."""
        check_is_fitted(self, "privacy_")
        return self._bins.dense(read_next_table(self, X, self._columns))


def _digest(data):
    """Return a digest of the arrays in the data that trees grow from."""
    digest = hashlib.sha256()
    for each in data:
        if isinstance(each, np.ndarray):
            digest.update(each.ravel())
    return digest.hexdigest()


def weighed_labels(model, y):
    """Return the classes, the class index of each row, and class weights of at most 1, or None."""
    classes, codes = encode_labels(y, model.classes, type(model).__name__)
    if model.class_weight is None or model._is_balanced():
        return classes, codes, None
    factors = class_factors(model.class_weight, classes, model._balances)
    return classes, codes, (factors / factors.max())[codes]
