"""Base of transformers that code each column by itself: knots, categories, names."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from sklearn.utils.validation import check_is_fitted

from dpsk._data.tables import read_next_table, read_table
from dpsk._defaults.columns import DISCLOSURE_SHARE
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk.preprocessing._base import DPTransformer
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS, CodePlan, indicated

if TYPE_CHECKING:
    from typing import Any

__all__ = ["TableCoder"]


class TableCoder(DPTransformer):
    """Base of transformers whose features of a column have norm at most 1.

    Parameters that a subclass lacks have the defaults of `CodePlan`.
    """

    _constraints: ClassVar[dict] = TABLE_CONSTRAINTS
    _disclosed_share: ClassVar[float] = DISCLOSURE_SHARE
    _column_facts: ClassVar[str] = ("number of rows and of columns, their names, types, and "
                                    "categories listed by types")
    #: Required kind of all columns, "numbers" or "words"; None: either.
    _only: ClassVar[str | None] = None
    #: Whether skewed numeric columns are put on a shifted logarithmic scale.
    _evens: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = self._only != "numbers"
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _read(self, X):
        return read_table(self, X, self.columns, self._only)

    def _check_table(self, X, y):
        indicated(self._read(X).columns, getattr(self, "missing_indicator", False))

    def _plan(self, table, whole):
        given = self.get_params(deep=False)
        options = {name: given[name] for name in (
            "max_categories", "n_buckets", "missing_indicator") if name in given}
        if given.get("n_knots", "auto") != "auto":
            options["n_knots"] = self.n_knots
        return CodePlan.for_table(Budget(*table.values.shape, *whole), table, evens=self._evens,
                                  **options)

    def _own_plan(self, table, budget):
        table, plan = super()._own_plan(table, budget)
        # The delta of this budget may be smaller than that of the pipeline.
        delta = min(plan.mechanism.delta, DISCLOSURE_SHARE * budget.delta)
        return table, replace(plan, mechanism=replace(plan.mechanism, delta=delta))

    def _enforced(self, table):
        return [Enforced("row_norm", math.sqrt(len(table.columns)), "derived",
                         "l2 norm of the features of a row")]

    def _keep(self, found):
        code, self._columns = found
        self._code, self.row_norm_ = code.for_next_rows(), code.norm

    def _mapped(self, X):
        return self._code.features(read_next_table(self, X, self._columns))

    def _names_out(self, names):
        return self._code.names(names)

    def _parts(self, kind):
        """Return an attribute of the code of all columns that have it, by column name."""
        check_is_fitted(self, "privacy_")
        return {column.name: getattr(part, kind)
                for column, part in zip(self._columns, self._code.parts, strict=True)
                if hasattr(part, kind)}
