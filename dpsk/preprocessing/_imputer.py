"""Imputation of missing numbers with differential privacy."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.tables import read_next_table
from dpsk._defaults.columns import median_share
from dpsk._docs import documented
from dpsk._mechanism.core import Share
from dpsk._parameters import choice, number
from dpsk.preprocessing._numeric import NUMBER_CONSTRAINTS, NumericTransformer, float_dtype
from dpsk.preprocessing._statistics_plan import Quantiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["DPSimpleImputer"]


def _check_indicator(name, value):
    """Raise a ValueError unless `value` is a bool, or a list of columns, each once."""
    if isinstance(value, (bool, np.bool_)):
        return
    named = isinstance(value, list) and all(
        isinstance(each, (str, Real)) and not isinstance(each, bool) for each in value)
    if not named or len(set(value)) != len(value):
        raise ValueError(f"{name}={value!r}: must be True for all columns, False for none, or a "
                         "list of columns, by name or position, each once.")


@documented
class DPSimpleImputer(NumericTransformer):
    """Fill in missing values of numeric columns, with differential privacy.

    Missing values, which are NaN, None or NA, are replaced by the median of their column, chosen
    under noise, or by a public constant, which costs nothing.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    strategy : {"median", "constant"}, default="median"
    fill_value : float, default=0.0
        The constant of ``strategy="constant"``.
    add_indicator : bool or list, default=False
        Columns, by name or position, that get an indicator: 1 where the number is missing, else
        0. True: all. They are declared, because missing values are private.
    %(columns_numbers)s %(random_state)s %(verbose)s

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        The numbers that replace missing values.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_numbers)s

    See Also
    --------
    DPRobustScaler : Keeps missing values.
    dpsk.make_dp_pipeline : One budget for this and the model behind it.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: with "median" one quantile
    per column, by the exponential mechanism over a public grid; with "constant" nothing. Nothing
    else is kept of the rows. The number of rows, names and dtypes of columns and all parameters
    are public. Rows that are transformed are as sensitive as before.

    The median of a column without any number is noise, within its bounds if `columns` declares
    them. Place a scaler after the imputer: its output has a known norm, but an imputer after a
    scaler may fill in any constant. In a `DPPipeline`, medians take from a hundredth to a quarter
    of mu^2, within this as much as gives each an n mu of 60.

    References
    ----------
    Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", for
    medians.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPSimpleImputer
    >>> imputer = DPSimpleImputer(strategy="constant", fill_value=-1.0, add_indicator=[1])
    >>> imputer.fit_transform(np.array([[1.0, np.nan], [2.0, 3.0]])).tolist()
    [[1.0, -1.0, 1.0], [2.0, 3.0, 0.0]]
    """

    _constraints: ClassVar[dict] = {
        **NUMBER_CONSTRAINTS, "strategy": choice("median", "constant"),
        "fill_value": number("a finite number"), "add_indicator": _check_indicator}
    _learnt: ClassVar[str] = "medians"
    _learnt_names: ClassVar[tuple] = ("statistics_",)
    _ends: ClassVar[None] = None
    _keeps_missing: ClassVar[bool] = False

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 strategy: str = "median", fill_value: float = 0.0,
                 add_indicator: bool | Sequence[Any] = False,
                 columns: dict[Any, Any] | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.strategy = strategy
        self.fill_value = fill_value
        self.add_indicator = add_indicator
        self.columns = columns
        self.random_state = random_state
        self.verbose = verbose

    @quietly
    def inverse_transform(self, X: Table) -> AnyArray:
        """Restore missing values, using the indicators of all columns.

        Parameters
        ----------
        X : table or array-like of shape (n, 2 * n_features)
            Rows as `transform` returns them, with the indicators of all columns.

        Returns
        -------
        rows : ndarray of shape (n, n_features)
            NaN where a number was missing.
        """
        check_is_fitted(self, "privacy_")
        width = len(self._columns)
        if len(self._indicated(self._names)) < width:
            raise ValueError(f"add_indicator={self.add_indicator!r}: what was missing is not "
                             "known afterwards; set it to True for the way back.")
        values = self._as_mapped(X, 2 * width)
        rows = values[:, :width]
        rows[values[:, width:] > 0] = np.nan
        return rows

    def _read(self, X):
        table = super()._read(X)
        self._indicated([column.name for column in table.columns])
        return table

    def _statistics(self, budget, table):
        chosen = (self.strategy == "median",) * budget.n_columns
        return Share(Quantiles(chosen, (0.5,)), median_share(budget, sum(chosen)))

    def _keep_statistics(self, found):
        constant = self.strategy == "constant"
        self.statistics_ = np.full(len(found), float(self.fill_value)) if constant else found[:, 0]

    def _mapped(self, X):
        values = read_next_table(self, X, self._columns)
        missing = np.isnan(values)
        filled = np.where(missing, self.statistics_, values)
        return np.hstack([filled, missing[:, self._indicated(self._names)]]).astype(
            float_dtype(X))

    def _like_most(self, X):
        """Return rows with the numbers of X, which stay, and with zeros for missing ones."""
        rows, values = super()._like_most(X), self._read(X).values
        if isinstance(rows, np.ndarray):
            rows[:, :values.shape[1]] = np.nan_to_num(values)
        return rows

    def _names_out(self, names):
        known = self._names if hasattr(self, "_columns") else names
        return [*names, *(f"missingindicator_{names[place]}" for place in self._indicated(known))]

    @property
    def _names(self):
        """list : the names of the columns, or their positions."""
        return [column.name for column in self._columns]

    def _indicated(self, known):
        """Return the indices of the columns that get an indicator, in order."""
        if isinstance(self.add_indicator, (bool, np.bool_)):
            return list(range(len(known))) if self.add_indicator else []
        unknown = [each for each in self.add_indicator if each not in known]
        if unknown:
            raise ValueError(f"add_indicator has {unknown[0]!r}, which is no column; use the "
                             "names of a DataFrame, or positions in an array.")
        return [place for place, name in enumerate(known) if name in self.add_indicator]
