"""Base of transformers of numeric columns: reading, bounds, dtypes, inverse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from dpsk._data.columns import check_columns, is_frame
from dpsk._data.errors import discreetly, quietly
from dpsk._data.tables import read_next_table, read_table
from dpsk._docs import documented
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, number
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk.preprocessing._base import DPTransformer

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, Table

__all__ = ["CLIP", "NUMBER_CONSTRAINTS", "CenteringScaler", "NumericTransformer", "check_bounds",
           "check_pair", "float_dtype"]


def check_bounds(name, value):
    """Raise a ValueError unless `value` is None, or a dict from columns to pairs of numbers."""
    check_columns(name, value)
    for column, given in (value or {}).items():
        if not isinstance(given, tuple) or len(given) != 2:
            raise ValueError(f"{name}: {column!r} has {given!r}; must be a tuple of two "
                             "increasing numbers, its bounds, such as {'age': (17, 90)}.")


def check_pair(name, value):
    """Raise a ValueError unless `value` is a tuple of two increasing numbers."""
    try:
        check_columns(name, {name: tuple(value)})
        sound = len(value) == 2
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"{name}={value!r}: must be two increasing numbers, such as (0, 1).")


#: Constraint on a bound on scaled numbers.
CLIP = number("a number in [1e-3, 1e6], a bound on scaled numbers such as 3.0", low=1e-3,
              high=1e6)
#: Constraints on the parameters of transformers of numeric columns.
NUMBER_CONSTRAINTS = {**PARAMETER_CONSTRAINTS, "delta": GAUSSIAN_DELTA, "columns": check_bounds}


@documented
class NumericTransformer(DPTransformer):
    """Base of transformers that map each number by released statistics of its column.

    Subclasses define the statistics and the maps. Missing values stay missing.
    """

    _constraints: ClassVar[dict] = NUMBER_CONSTRAINTS
    #: Whether missing values stay missing in transformed rows.
    _keeps_missing: ClassVar[bool] = True

    def _statistics(self, budget, table):
        """Return the plan, from the budget of the pipeline and the public columns."""
        raise NotImplementedError

    def _there(self, values):
        """Return the mapped numbers of all columns, float64."""
        raise NotImplementedError

    def _back(self, values):
        """Map numbers of all columns back to their own scale, float64."""
        raise NotImplementedError

    @property
    def _ends(self):
        """(float, float) or None : bounds on the output, if it is bounded."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @quietly
    def inverse_transform(self, X: Table) -> AnyArray:
        """Map rows back to their own scale; clipped numbers stay clipped.

        Parameters
        ----------
        X : table or array-like of shape (n, n_features)
            Rows as `transform` returns them.

        Returns
        -------
        rows : ndarray of shape (n, n_features)
            On the scale of the rows in `fit`.
        """
        check_is_fitted(self, "privacy_")
        values = self._as_mapped(X, len(self._columns))
        return self._back(values.astype(np.float64)).astype(values.dtype)

    def _like_mapped(self, X):
        """Return rows of zeros with the output columns, from public facts of X."""
        shape = discreetly("X", np.shape, X)
        names = list(X.columns) if is_frame(X) else list(range(*shape[1:2]))
        framed = is_frame(X) and _get_output_config("transform", self)["dense"] != "default"
        made = self._names_out(names)
        zeros = np.zeros((shape[0], len(made)), float_dtype(X))
        return type(X)(zeros, columns=made) if framed else zeros

    def _read(self, X):
        return read_table(self, X, self.columns, "numbers")

    def _plan(self, table, whole):
        return table, self._statistics(Budget(*table.values.shape, *whole), table)

    def _enforced(self, table):
        if self._ends is None:
            return []
        norm = max(map(abs, self._ends)) * math.sqrt(len(table.columns))
        return [Enforced("row_norm", norm, "derived", "l2 norm of one transformed row")]

    def _keep(self, found):
        self._columns = self._described
        self._keep_statistics(found)
        if self._ends is not None:
            self.row_norm_ = max(map(abs, self._ends)) * math.sqrt(len(self._columns))

    def _keep_statistics(self, found):
        """Set the fitted attributes from what the mechanism returned."""
        raise NotImplementedError

    def _mapped(self, X):
        values = self._there(read_next_table(self, X, self._columns))
        if self._ends is None:
            return values.astype(float_dtype(X))
        return _rounded_within(values, *self._ends, float_dtype(X))

    def _names_out(self, names):
        return names


class CenteringScaler(NumericTransformer):
    """Base of scalers that subtract a center, divide by a scale and clip to +-clip."""

    #: Name of the attribute of the centers. It, or `scale_`, is None if it is left out.
    _center_name: ClassVar[str]

    @property
    def _ends(self):
        return -float(self.clip), float(self.clip)

    def _there(self, values):
        centers = getattr(self, self._center_name)
        if centers is not None:
            values = values - centers
        return values if self.scale_ is None else values / self.scale_

    def _back(self, values):
        centers = getattr(self, self._center_name)
        if self.scale_ is not None:
            values = values * self.scale_
        return values if centers is None else values + centers


def _rounded_within(values, low, high, dtype):
    """Return numbers clipped to public ends, which hold after rounding to the dtype."""
    ends = np.array([low, high]).astype(dtype)
    inward = np.array([high, low], dtype)
    ends = np.where(np.abs(ends.astype(np.float64)) > np.abs([low, high]),
                    np.nextafter(ends, inward), ends)
    return np.clip(values.astype(dtype), *ends)


def float_dtype(X):
    """Return float32 for rows that are all float32, else float64."""
    dtypes = set(X.dtypes) if is_frame(X) else {getattr(X, "dtype", None)}
    return np.float32 if dtypes == {np.dtype(np.float32)} else np.float64
