"""Sampler of tables from a forest of pairs of columns, released as noisy counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.source import Rows
from dpsk._docs import documented
from dpsk._parameters import check_integer, optional
from dpsk._problem import Budget
from dpsk._stages.bounds import can_learn
from dpsk._stages.column_bounds import bounds_rule
from dpsk.generative._columns import PLAIN_BOUNDS, ColumnSampler, enforced_bounds
from dpsk.generative._tree_plan import TablePlan, usual_bins

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPTreeSampler"]


@documented
class DPTreeSampler(ColumnSampler):
    r"""Synthetic data from a forest of pairs of columns, with differential privacy.

    Columns are divided into bins. With the parent p(j) of column j in the forest, a row of class
    c is drawn from

    .. math:: P(x \mid c) = \prod_j P(x_j \mid x_{p(j)}, c)

    and a number is drawn uniformly within its bin. The forest joins the columns that depend most
    on each other within classes, chosen under noise. Probabilities come from noisy tables of one
    column and of two.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    columns : dict or None, default=None
        Public possible values of columns, by name in a DataFrame or position in an array: a list
        of categories, or a tuple of increasing numbers, which are two bounds or the edges of
        bins. Numbers outside count in the bins at the ends; other categories are refused. By
        default, categories are those of a categorical or boolean dtype, which are *taken as
        public*, as the certificate says; other string columns are refused. Bounds of other
        numeric columns come from two quantiles each, chosen under noise: a fiftieth of the budget
        each and at most a fifth for all, up to a tenth and two fifths if rows are few. If rows
        are too few for that, bounds are (-1, 1), with a `dpsk.exceptions.PrivacyWarning`. If a
        column is mostly one number, bounds are 1 from it, with such a warning.
    n_bins : int or None, default=None
        Number of equal bins of numeric columns. None: 2 to 32, .4 times the root of ``n mu`` over
        the number of columns.
    %(classes)s
    %(random_state_sampler)s
    %(verbose)s

    Attributes
    ----------
    parents_ : ndarray of int, shape (n_features_in_,)
        The parent of every column in the forest; -1 if it has none.
    bins_ : list of ndarray
        The edges of every column's bins, or its categories.
    tables_ : list of ndarray
        Probabilities of every column's bins, shape (n_classes, n_bins), or with a parent
        (n_classes, n_bins of the parent, n_bins).
    class_prior_ : ndarray of shape (n_classes,)
        Proportions of the classes; only with labels.
    %(classes_)s
        Only with labels.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_columns)s

    See Also
    --------
    DPGaussianSampler : Normal rows of each class.
    DPWGAN : Uses a neural network, for images.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-differentially private, and so is all that
    is ever drawn. Released: bounds that are learnt, noisy tables of all columns by class, the
    pairs of columns, chosen under noise by their distance from independence, and noisy tables of
    those pairs. The number of rows and columns, names, dtypes, categories, the set of labels and
    all parameters are public.

    Integer columns get whole numbers. All pairs of columns are compared, so time grows with the
    square of their number.

    References
    ----------
    Chow, Liu (1968), "Approximating discrete probability distributions with dependence trees";
    McKenna, Miklau, Sheldon (2021), "Winning the NIST contest", MST.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPTreeSampler
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture", "worst area"]]
    >>> bounds = {"mean radius": (0, 30), "mean texture": (0, 40), "worst area": (0, 4300)}
    >>> sampler = DPTreeSampler(epsilon=2.0, columns=bounds).fit(X, y)
    >>> rows, labels = sampler.sample(1000, random_state=0)
    >>> list(rows.columns) == list(X.columns), len(labels)
    (True, 1000)
    """

    _constraints: ClassVar[dict] = {
        **ColumnSampler._constraints,
        "n_bins": optional(lambda name, value: check_integer(
            name, value, low=1, high=10**4, remedy="None, or an int in [1, 10000]")),
    }

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 columns: dict[Any, Any] | None = None, n_bins: int | None = None,
                 classes: ArrayLike | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.n_bins = n_bins
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    def _fitted_to(self, X, codes, n_classes):
        """Fit to validated rows, and return the fitted attributes by name."""
        epsilon, delta = self._budget(len(X))
        budget = Budget(len(X), X.shape[1], epsilon, delta)
        columns = self._bounded(budget, self._described)
        unknown = tuple(place for place, column in enumerate(columns) if column.is_unknown)
        plan = TablePlan(budget, n_classes, unknown)
        n_bins = usual_bins(budget) if self.n_bins is None else int(self.n_bins)
        rows = Rows(X, codes)
        fitted, privacy = self._release(
            "noisy tables", budget, plan, rows, (rows, columns, n_bins),
            enforced=enforced_bounds(columns), public=self._column_facts(columns, n_classes),
            released=["parents_", "bins_", "tables_", *["class_prior_"] * (n_classes > 1)])
        parents = np.full(len(columns), -1)
        for parent, child in fitted.pairs:
            parents[child] = parent
        bins = [column.choices if edges is None else edges
                for column, edges in zip(columns, fitted.edges, strict=True)]
        return {"parents_": parents, "bins_": bins, "tables_": fitted.tables,
                "class_prior_": fitted.shares, "privacy_": privacy, "_columns": columns,
                "_dtype": X.dtype}

    def _bounded(self, budget, columns):
        """Return the columns; unknown ones get default bounds if none can be learnt."""
        n_learnt = sum(column.is_unknown for column in columns)
        if not (n_learnt and budget.is_private):
            return columns
        if can_learn("columns", "auto", PLAIN_BOUNDS,
                     lambda: bounds_rule(budget, n_learnt, "columns")):
            return columns
        return [column.bounded(PLAIN_BOUNDS) for column in columns]

    def _draw(self, codes, draws):
        """Return rows of the classes at `codes`."""
        bins = np.empty((len(codes), len(self._columns)), np.intp)
        for column in _parents_first(self.parents_):
            table, given = self.tables_[column], codes
            if self.parents_[column] >= 0:
                given = codes * table.shape[1] + bins[:, self.parents_[column]]
            bins[:, column] = draws.choices(table.reshape(-1, table.shape[-1]), given)
        drawn = [self._values(place, bins[:, place], draws) for place in range(len(self.bins_))]
        return self._table(drawn)

    def _values(self, place, bins, draws):
        """Return values of one column, given the bins of rows."""
        column, known = self._columns[place], self.bins_[place]
        if column.categories is not None:
            return bins
        low, high = known[bins], known[bins + 1]
        values = low + (high - low) * draws.uniforms(len(bins))
        return np.clip(np.rint(values), np.ceil(known[0]), np.floor(known[-1])) if (
            column.is_whole) else values


def _parents_first(parents):
    """Return the columns in an order in which every one follows its parent."""
    order = np.flatnonzero(parents < 0).tolist()
    for column in order:
        # The loop also visits the columns that it appends.
        order += np.flatnonzero(parents == column).tolist()
    return order
