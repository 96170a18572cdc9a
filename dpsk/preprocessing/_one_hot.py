"""One-hot encoding of categories, with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._docs import documented
from dpsk._parameters import check_integer, optional
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS
from dpsk.preprocessing._coder import TableCoder

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["DPOneHotEncoder"]


@documented
class DPOneHotEncoder(TableCoder):
    r"""One-hot encode categories that are declared, found under noise or hashed.

    A cell becomes 1 at its category and 0 elsewhere. One more feature of each column stands for
    all other cells: rare or unseen categories, and missing values. So the features of a row have
    norm `row_norm_`, whatever the rows.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    %(columns_words)s
        Numbers are treated as categories too.
    %(max_categories)s
    n_buckets : int or None, default=None
        Number of public buckets into which undeclared categories are hashed, which costs nothing.
        None: by the rule of `max_categories`.
    %(random_state)s %(verbose)s

    Attributes
    ----------
    categories_ : dict
        The categories of every column, or its buckets, by name or position; one more feature
        stands for any other.
    row_norm_ : float
        The l2 norm of a row of features, the root of the number of columns.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    ValueError
        For a parameter out of range, a column of dates, or a cell that is neither a word nor a
        number; always before any noise is drawn.

    See Also
    --------
    dpsk.DPTableVectorizer : The same, with numeric columns too.
    sklearn.preprocessing.OneHotEncoder : Without a guarantee.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: the categories whose noisy
    counts stand out, at a tenth of delta, which covers that of a single row; with few rows noisy
    counts of buckets instead; where all are declared, or hashed by `n_buckets`, nothing. The
    number of rows, names and dtypes of columns, with the categories that dtypes of pandas hold,
    and all parameters are public. Rows that are transformed are as sensitive as before.

    References
    ----------
    Korolova, Kenthapadi, Mishra, Ntoulas (2009), "Releasing search queries and clicks privately";
    Wilkins, Kifer, Zhang, Karrer (2024), for Gaussian noise.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsk import DPOneHotEncoder
    >>> table = pd.DataFrame({"town": ["Linz", "Graz"] * 200, "floor": [1, 2, 3, 4] * 100})
    >>> encoder = DPOneHotEncoder(columns={"floor": [1, 2, 3]}, max_categories=4).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['town_Graz', 'town_Linz', 'town_other', 'floor_1', 'floor_2', 'floor_3', 'floor_other']
    >>> encoder.transform(table.tail(1)).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    """

    _constraints: ClassVar[dict] = {
        **TABLE_CONSTRAINTS, "n_buckets": optional(lambda name, value: check_integer(
            name, value, low=1, high=10**6, remedy="None, or an int in [1, 10**6]"))}
    _learnt: ClassVar[str] = "categories"
    _learnt_names: ClassVar[tuple] = ("categories_",)
    _only: ClassVar[str] = "words"

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 columns: dict[Any, Any] | None = None, max_categories: int | None = None,
                 n_buckets: int | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.max_categories = max_categories
        self.n_buckets = n_buckets
        self.random_state = random_state
        self.verbose = verbose

    @property
    def categories_(self) -> dict[Any, list[Any]]:
        """dict : the categories of every column, by its name or position."""
        return self._parts("categories")

    @quietly
    def inverse_transform(self, X: Table) -> AnyArray:
        """Return the category of every cell, None where it is none that is known.

        Parameters
        ----------
        X : array-like of shape (n, n_features_out)
            Rows as `transform` returns them.

        Returns
        -------
        cells : ndarray of object, shape (n, n_features_in_)
            Categories as in `categories_`; hashed ones come back as the names of their buckets.
        """
        check_is_fitted(self, "privacy_")
        values = self._as_mapped(X, self._code.width, finite=True)
        found = np.empty((len(values), len(self._columns)), dtype=object)
        for place, (names, where) in enumerate(zip(
                self.categories_.values(), self._code.slices, strict=True)):
            own = values[:, where]
            codes = np.where(own.max(axis=1) > 0.0, own.argmax(axis=1), len(names))
            found[:, place] = np.array([*names, None], dtype=object)[codes]
        return found

    def _check_combination(self):
        super()._check_combination()
        if self.n_buckets is not None and self.max_categories is not None:
            raise ValueError(f"n_buckets={self.n_buckets!r}: goes without max_categories="
                             f"{self.max_categories!r}, as what is hashed is not found; leave one "
                             "of them None.")
