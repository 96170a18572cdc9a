"""Base of additive models: features of table columns, and their shape functions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.groups import groups_of
from dpsk._data.opening import check_targets
from dpsk._data.source import Rows
from dpsk._data.tables import read_next_table, read_table
from dpsk._data.weights import check_weights
from dpsk._defaults.columns import (
    DISCLOSURE_SHARE,
    FIRST_SHARE,
    PairRule,
    class_scarcity,
    curve_penalty,
    odds_of_rare,
)
from dpsk._estimator import DPEstimator
from dpsk._mechanism.core import Choices, Share
from dpsk._models.monotone import check_monotonic, constrained
from dpsk._models.products import product_by_row
from dpsk._parameters import check_integer
from dpsk._privacy.certificate import Enforced
from dpsk._rehearsal import rehearse
from dpsk._stages.weight_bound import at_most, weighing
from dpsk._statistics.pairs import clipped_residuals, noisy_pairs
from dpsk._steps import Steps
from dpsk.additive._noise import ShapeNoise, centered_values
from dpsk.additive._terms import importances, terms
from dpsk.linear_model._synthetic import feature_moment
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS, CodePlan

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray
    from dpsk.additive._terms import Term

__all__ = ["AdditiveModel"]


class AdditiveModel(DPEstimator):
    """Base of models that are a sum of shape functions, linear in B-splines and indicators.

    Knots and categories are released first. The remaining budget goes to `_linear`, a linear
    model of their features.
    """

    _solvers: ClassVar[dict] = {}
    _auto_is_gaussian: ClassVar[bool] = True
    _disclosed_share: ClassVar[float] = DISCLOSURE_SHARE
    #: Whether empty buckets are left out: features that no row has mislead least squares.
    _spares: ClassVar[bool] = True
    #: Rule for the choice of pairs.
    _pair_rule: ClassVar[PairRule]
    _constraints: ClassVar[dict] = {
        **TABLE_CONSTRAINTS,
        "interactions": lambda name, value: _check_interactions(name, value),
        "monotonic_cst": check_monotonic}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    @abstractmethod
    def _linear(self, **params):
        """Return the linear model of features; `params` has its bound on rows and its budget."""

    def _last_linear(self, budget, code, **params):
        """Return the final linear model; descent starts from the odds of a rare class, if any."""
        model = self._linear(data_norm=code.norm, alpha=curve_penalty(budget), **params)
        if not isinstance(getattr(self, "class_weight", None), dict):
            model._log_odds = odds_of_rare(budget, code.width, code.log_odds)
        return model

    def _first_linear(self, **params):
        """Return the linear model whose residuals determine the pairs of columns."""
        return self._linear(**params)

    @abstractmethod
    def _check_fit(self, n_samples, y):
        """Return targets as numbers.

        Raise a ValueError for invalid targets, before any release.
        """

    def _n_classes(self, y):
        """Return the number of classes; 1 for regression."""
        return 1

    @abstractmethod
    def _residuals(self, model, features, y):
        """Return the residuals of a model, shape (n, n_outputs)."""

    def _fit_table(self, X, y, sample_weight, groups):
        """Fit to a table and return the linear model of its features.

        With groups, knots, categories and pairs are chosen by one row of each group.
        """
        self._check_params()
        table = read_table(self, X, self.columns)
        n_rows = len(table.values)
        y = check_targets(type(self).__name__, y, n_rows, self._target_checks)
        weights = check_weights(sample_weight, table.values, np.float64,
                                narrow=np.float32)
        numbers = self._check_fit(n_rows, y)
        self._check_columns(table.columns)
        members = groups_of(groups, n_rows, self.random_state)
        chosen = slice(None)
        if members is not None:
            chosen = members.one_each(self.random_state)
            table = table.rows(chosen)
        budget, table, plan, steps, left, stages, facts = self._planned(
            table, y, members, weights is not None and self._bounds_weights)
        told = _Told(y, weights, members, chosen)
        for share in self._shares(budget, left):
            self._check_grouped(told, *steps.budget(share))
        weights = at_most(steps, stages, Rows(np.broadcast_to(np.int8(0), (n_rows, 1)), numbers,
                                              groups=members), weights)
        told = replace(told, weights=weights)
        rows = Rows(table.values, numbers[chosen], told.chosen(weights))
        code, columns = steps.release("knots and categories", plan, rows, (table, rows))
        values = table.values
        if members is not None:
            code, values = code.for_next_rows(), read_next_table(self, X, columns)
        code, features, left = self._with_pairs(code, columns, values, told, budget, steps, left)
        model = steps.fit(left, partial(self._last_linear, budget, code), features, **told.of_fit)
        self._columns, self._code = columns, code.for_next_rows()
        self._signs = constrained(self.monotonic_cst, columns)
        self._row_shares, self._centered = centered_values(model, self._code, self._signs)
        self._noise = ShapeNoise(model, self._code, self._signs)
        self.n_iter_ = model.n_iter_
        self.privacy_ = steps.certificate(
            f"knots, then {model.privacy_.solver}",
            enforced=[Enforced("column_norm", 1.0, "derived", "l2 norm of a row's features that "
                               "come from one column or pair of columns")],
            public=[*facts, *(each for each in model.privacy_.public[2:] if each not in facts)],
            released=["terms_", *self._released])
        # The linear model, kept to estimate noise, states the privacy cost of the whole fit.
        model.privacy_ = self.privacy_
        return model

    def _planned(self, table, y, members, weighted):
        """Return budget, table, plan, steps, share of models, stages of weights, public facts.

        Raise a ValueError for invalid parameters before any release. With groups, `table` has one
        row of each group; `y` has the targets of all rows. The stages are for `weighted` rows.
        """
        self._described = table.columns
        budget = self._table_budget(table.values.shape, members)
        n_knots = None if self.n_knots == "auto" else self.n_knots
        table, plan = CodePlan.for_table(budget, table, n_knots, self.max_categories,
                                         self._spares, n_classes=self._n_classes(y), evens=True)
        facts = self._table_facts(
            members, "number of rows and of columns, their names, types, and categories listed by "
            "types", "all parameters")
        steps = Steps(self._method(), budget, plan.mechanism.delta, random_state=self.random_state,
                      verbose=self.verbose, public=[*facts, *self._label_facts(y, len(y))])
        stages = weighing(budget, weighted)
        left = 1.0 - plan.share - sum(map(steps.share_of, stages))
        for share in self._shares(budget, left):
            self._check_share(budget.n_samples, y, *steps.budget(share))
        return budget, table, plan, steps, left, stages, facts

    def _check_table(self, X, y):
        self._check_columns(read_table(self, X, self.columns).columns)

    def _check_share(self, n_samples, y, epsilon, delta):
        """Raise the ValueError of a model with this part of the budget, before any release."""

    def _check_grouped(self, told, epsilon, delta):
        """Raise the error of a model of groups with this part of the budget, for any rows."""
        if told.members is not None:
            model = self._linear(epsilon=epsilon, delta=delta, data_norm=1.0)
            rehearse(model, np.zeros((len(told.y), 1)), **told.of_fit)

    def _shares(self, budget, left):
        """Return the shares of mu^2 of the models that may be fitted, in order."""
        if self._count(budget):
            return FIRST_SHARE, left - FIRST_SHARE - self._pair_rule.share
        return (left,)

    def _count(self, budget):
        """Return the number of pairs to choose."""
        given = self.interactions
        if given == "auto":
            return self._pair_rule.count(budget)
        return given if isinstance(given, Integral) else 0

    def _with_pairs(self, code, columns, values, told, budget, steps, left):
        """Return the code with pairs of columns, its features, and the remaining share."""
        pairs = self._declared_pairs(columns)
        if pairs is not None:
            code = replace(code, pairs=pairs)
            return code, code.compact(values), left
        features = code.compact(values)
        rule = self._pair_rule
        count = self._count(budget)
        if not count:
            return code, features, left
        signs, largest = constrained(self.monotonic_cst, columns), rule.largest(budget)
        free = [(place, width) for place, width in enumerate(code.narrow)
                if width > 1 and not signs[place]]
        candidates = [(one, other) for place, (other, width) in enumerate(free)
                      for one, beside in free[:place] if beside * width <= largest]
        if self.interactions == "auto" and not rule.pays(budget, class_scarcity(code.log_odds)):
            candidates = []
        # The privacy cost must not depend on released values, unlike the candidates.
        left -= FIRST_SHARE + rule.share
        if not candidates:
            return code, features, left
        first = partial(self._first_linear, data_norm=code.norm, alpha=curve_penalty(budget))
        model = steps.fit(FIRST_SHARE, first, features, **told.of_fit)
        seen, y = told.chosen(features), told.chosen(told.y)
        residuals = clipped_residuals(self._residuals(model, seen, y), told.chosen(told.weights),
                                      rule.clip)
        rows = Rows(seen, residuals)
        pairs = steps.release(
            "pairs of columns", Share(Choices(noisy_pairs, count), rule.share), rows,
            (rows, code.slices, _directions(model, code), candidates, rule.clip, count))
        if pairs:
            code = replace(code, pairs=tuple(pairs))
            features = code.compact(values, features)
        return code, features, left

    def _check_columns(self, columns):
        """Raise a ValueError for missing columns, or monotonic columns in pairs."""
        signs = constrained(self.monotonic_cst, columns)
        for pair in self._declared_pairs(columns) or ():
            if signs[list(pair)].any():
                raise ValueError("interactions has a column of monotonic_cst, of which there are "
                                 "no products; leave it out of one of them.")

    def _declared_pairs(self, columns):
        """Return the indices of declared pairs of columns, or None."""
        given = self.interactions
        return None if isinstance(given, (str, Integral)) else _places(given, columns)

    def _method(self):
        """Return the method's name with columns: repeated noise must not meet other features."""
        return super()._method().with_columns(self._described)

    @property
    def terms_(self) -> list[Term]:
        """list of Term : the shape function of every column and chosen pair of columns."""
        check_is_fitted(self, "privacy_")
        coef = self._columns_of_coef()
        return terms(self._code, self._columns, coef, self._centered, self._noise)

    @property
    def term_importances_(self) -> FloatArray:
        """ndarray of shape (n_terms,) : the effect of each of `terms_` on predictions.

        It is the root mean square of `centered`, with the shares of rows that `Term` uses.
        """
        check_is_fitted(self, "privacy_")
        return importances(self._code, self._row_shares, self._centered)

    @property
    def feature_importances_(self) -> FloatArray:
        """ndarray of shape (n_features,) : share of variance by column.

        Squares of `term_importances_`, those of a pair of columns half to each, over their sum.
        """
        squares = self.term_importances_**2
        shares = squares[:self.n_features_in_].copy()
        for pair, square in zip(self._code.pairs, squares[len(shares):], strict=True):
            shares[list(pair)] += 0.5 * square
        return shares / shares.sum() if shares.sum() > 0.0 else shares

    def _columns_of_coef(self):
        """Return the coefficients, shape (n_terms,) or (n_terms, n_outputs)."""
        several = self.term_coef_.ndim == 2 and len(self.term_coef_) > 1
        return self.term_coef_.T if several else self.term_coef_.reshape(-1)

    @quietly
    def _predict_raw(self, X):
        """Return raw predictions, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self, "privacy_")
        return self._raw_of(read_next_table(self, X, self._columns))

    def _raw_of(self, values):
        """Return raw predictions of rows of a read table."""
        coef = self._columns_of_coef()
        columns = coef.reshape(len(coef), -1)
        raw = np.empty((len(values), *coef.shape[1:]))
        for part in self._code.blocks(len(values)):
            features = self._features(values[part])
            raw[part] = product_by_row(features, columns).reshape(raw[part].shape)
        return raw + self.intercept_

    def _features(self, values):
        """Return features to predict by, float64."""
        if not self._signs.any():
            return self._code.compact(values).astype(np.float64)
        # Monotonic functions need the weights of knots at full precision.
        features = np.empty((len(values), self._code.width))
        self._code.dense(values, features)
        return features


@dataclass(frozen=True, eq=False)
class _Told:
    """Targets, weights and groups of the rows of a table.

    Parameters
    ----------
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,) or None
    members : Groups or None
    rows : slice or ndarray of int
        The rows that columns are learnt from: all, or one of every group.
    """

    y: np.ndarray
    weights: np.ndarray | None
    members: Any
    rows: Any

    @property
    def of_fit(self):
        """dict : the arguments of the linear model's fit."""
        groups = {} if self.members is None else {"groups": self.members.codes}
        return {"y": self.y, "sample_weight": self.weights, **groups}

    def chosen(self, values):
        """Return the values of these rows, None for None."""
        return values if values is None or self.members is None else values[self.rows]


def _directions(model, code):
    """Return the released noisy means of every column's features, or ones without them."""
    if model.preconditioner_ is None:
        return [np.ones(part.width) for part in code.parts]
    means = feature_moment(model)[-1]
    return [means[where] for where in code.slices]


def _places(pairs, columns):
    """Return the indices of named pairs of columns; raise ValueError for a missing column."""
    names = [column.name for column in columns]
    found = []
    for pair in pairs:
        for name in pair:
            if name not in names:
                raise ValueError(f"interactions has {name!r}, which is no column; use the names "
                                 "of a DataFrame, or positions in an array.")
        found.append(tuple(sorted(map(names.index, pair))))
    # A pair may be named twice, once in either order.
    return tuple(dict.fromkeys(found))


def _check_interactions(name, value):
    """Raise a ValueError unless `value` is "auto", a number of pairs, or some of them."""
    remedy = ("'auto', an int >= 0, or a list of pairs of columns, such as "
              "[('hour', 'workingday')]")
    if isinstance(value, str) and value == "auto":
        return
    if isinstance(value, list):
        if not all(isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]
                   for pair in value):
            raise ValueError(f"{name}={value!r}: must be {remedy}.")
        return
    check_integer(name, value, low=0, high=10**4, remedy=remedy)
