"""What additive models share: from a table to features of its columns, and back to curves."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.blocks import row_blocks
from dpsk._data.columns import check_columns
from dpsk._data.errors import quietly
from dpsk._data.opening import check_targets
from dpsk._data.source import Rows
from dpsk._data.tables import Table, read_next_table, read_table
from dpsk._data.weights import check_weights
from dpsk._models import LinearModel
from dpsk._parameters import check_integer, number, optional
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.encoding import CodePlan, Encoding
from dpsk.linear_model._base import LinearEstimator

__all__ = ["AdditiveModel", "TableRows", "Term"]


@dataclass(frozen=True, eq=False, repr=False)
class TableRows(Rows):
    """Rows of a `Table`, whose columns are known."""

    table: Table | None = None
    #: What its columns may be told apart by.
    plan: CodePlan | None = None


@dataclass(frozen=True, eq=False)
class Term:
    """What a column adds to the raw prediction.

    Attributes
    ----------
    column : str or int
    knots : ndarray of float64, or None
        Where the curve of a column of numbers bends; between them it is straight, beyond the
        ends constant.
    categories : list or None
        Of a column of categories; the last value is that of any other.
    values : ndarray of shape (n,) or (n, n_outputs)
        At every knot, or of every category.
    """

    column: object
    knots: np.ndarray | None
    categories: list | None
    values: np.ndarray


class AdditiveModel(LinearEstimator):
    """Base of models that are a sum of curves: linear in hat functions and indicators.

    What a linear estimator lets one choose of rows is settled here: features of a column have
    norm 1 at most, and rows are whitened.
    """

    penalty, alpha, l1_ratio, radius = "l2", 0.0, 0.5, None
    solver, precondition, temperature, solver_options = "auto", "auto", "auto", None
    max_iter = learning_rate = batch_size = clip_norm = None
    data_norm, data_norm_inf, fit_intercept = 1.0, None, True

    _constraints: ClassVar[dict] = {
        **LinearEstimator._constraints,
        "delta": optional(number("None for 1/n**2, or a number in (0, 1), as the noise is "
                                 "Gaussian", low=0, open_low=True, high=1, open_high=True)),
        "columns": check_columns,
        "n_knots": lambda name, value: _check_knots(name, value),
        "max_categories": optional(lambda name, value: check_integer(
            name, value, low=1, high=10**6, remedy="None, or an int >= 1"))}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _read_rows(self, X, y, sample_weight):
        """Return validated training rows as `TableRows`."""
        table = read_table(self, X, self.columns)
        n_samples, n_columns = table.values.shape
        y = check_targets(self, y, n_samples, self._target_checks)
        self._described = table.columns
        plan = CodePlan.of(Budget(n_samples, n_columns, *self._budget(n_samples)), table.columns,
                           None if self.n_knots == "auto" else self.n_knots, self.max_categories)
        weights = check_weights(sample_weight, table.values, np.float64)
        return TableRows(table.values, y, weights, table=table, plan=plan)

    def _read_public_rows(self, X, y, like):
        return None

    def _method(self):
        """Return what names this method; repeated noise must not meet other features."""
        method = super()._method()
        # What is known of columns may come from their dtypes, which no parameter shows.
        return replace(method, settings=f"{method.settings} {self._described!r}")

    def _row_model(self, rows, n_outputs):
        return LinearModel(rows.plan.width, n_outputs, True, math.sqrt(rows.n_features),
                           homogeneous=self._homogeneous)

    def _row_bounds(self, norm, learns, more_words):
        yield Enforced("row_norm", norm, "derived", "l2 norm of the features of one row, of each "
                       "column 1 at most; then a constant 1 is appended" + more_words)

    def _first_stages(self, rows):
        self._encoding = Encoding(rows.table, rows.plan)
        return [self._encoding]

    def _fit_with_rest(self, rows, *args, **settings):
        settings["released"] = [*settings.pop("released", ()), "terms_"]
        try:
            coef, intercept, rest = super()._fit_with_rest(rows, *args, **settings)
            code, self._known = self._encoding.code, self._encoding.columns
        finally:
            # The stage has the table.
            vars(self).pop("_encoding", None)
        self._code = replace(code, width=code.n_used)
        used = [*range(code.n_used), -1]
        if self.preconditioner_ is not None:
            self.preconditioner_ = self.preconditioner_[np.ix_(used, used)]
        del self.data_norm_
        return coef[:code.n_used], intercept, rest

    @property
    def terms_(self):
        """list of Term : what every column adds to the raw prediction."""
        check_is_fitted(self, "privacy_")
        values = np.moveaxis(np.atleast_2d(self.coef_), 0, -1)
        if values.shape[-1] == 1:
            values = values[..., 0]
        return [Term(column.name, getattr(part, "knots", None),
                     getattr(part, "categories", None), values[where])
                for column, part, where in zip(self._known, self._code.parts, self._code.slices,
                                               strict=True)]

    @quietly
    def _predict_raw(self, X):
        """Return raw predictions, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self, "privacy_")
        values = read_next_table(self, X, self._known)
        columns = self.coef_.T if self.coef_.ndim == 2 and len(self.coef_) > 1 else (
            self.coef_.reshape(-1))
        raw = np.empty((len(values), *columns.shape[1:]))
        for part in row_blocks(len(values), self._code.width):
            features = np.empty((part.stop - part.start, self._code.width), np.float32)
            self._code.dense(values[part], features)
            raw[part] = features @ columns
        return raw + self.intercept_


def _check_knots(name, value):
    """Raise a ValueError unless `value` is "auto", or a number of knots that halving makes."""
    if isinstance(value, str) and value == "auto":
        return
    allowed = [2**levels + 1 for levels in range(9)]
    number = check_integer(name, value, low=2, high=allowed[-1],
                           remedy="'auto', or one of 2, 3, 5, 9, 17, 33, 65, 129 and 257")
    if number not in allowed:
        raise ValueError(f"{name}={value!r}: must be 'auto', or one of 2, 3, 5, 9, 17, 33, 65, "
                         "129 and 257, as intervals are halved.")
