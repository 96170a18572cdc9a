"""Tables of numbers and words to rows of bounded norm, with differential privacy."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.source import Rows
from dpsk._data.tables import read_next_table, read_table
from dpsk._defaults.columns import DISCLOSURE_SHARE
from dpsk._docs import documented
from dpsk._estimator import DPEstimator, warn_of_weak_budget
from dpsk._fit import certify, release_private
from dpsk._privacy import accountant
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import Gaussian
from dpsk._problem import Budget
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS, CodePlan

__all__ = ["DPTableVectorizer"]

#: The share of mu^2 that the transformer is taken to have of a whole that nobody named.
_USUAL_SHARE = 0.1


@documented
class DPTableVectorizer(TransformerMixin, DPEstimator):
    r"""Features of the columns of a raw table, of bounded norm, with differential privacy.

    A number becomes its weights between the two nearest of some knots,

    .. math:: x \mapsto \bigl(h_1(x), \ldots, h_K(x)\bigr), \qquad h_k \ge 0, \quad
              \sum_k h_k(x) = 1,

    a word an indicator of its category, and what is missing zeros. So the features of a column
    have norm at most 1, and those of a row at most `row_norm_`, whatever the rows. Knots and
    categories are released, and nothing else is kept of the rows.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    %(columns)s
    %(n_knots)s
        Of the whole that a model behind it costs as well: inside a `DPPipeline` that is known,
        and by itself the transformer is taken to have a tenth of the whole mu^2.
    %(max_categories)s %(random_state)s %(verbose)s

    Attributes
    ----------
    knots_ : dict
        The knots of every column of numbers, increasing.
    categories_ : dict
        The categories of every other column, or the buckets that they are hashed into; one more
        feature stands for any other.
    row_norm_ : float
        Bound on the l2 norm of a row of features, the root of the number of columns.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_columns)s

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: knots chosen under noise, and the
    categories of columns whose noisy counts stand out, at a tenth of delta, which covers that of
    a single row. The number of rows, names and dtypes of columns and all parameters are public.
    Rows that are transformed are as sensitive as before.

    See Also
    --------
    dpsk.make_dp_pipeline : One budget for this and the model behind it.
    dpsk.DPAdditiveClassifier : The two in one, with pairs of columns.

    References
    ----------
    Kaplan, Schnapp, Stemmer (2022), for recursive quantiles; Korolova, Kenthapadi, Mishra, Ntoulas
    (2009), for categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpsk import DPTableVectorizer
    >>> table = pd.DataFrame({"age": range(400), "town": ["Linz", "Graz"] * 200})
    >>> coder = DPTableVectorizer(columns={"age": (0, 400)}, n_knots=2, max_categories=4)
    >>> coder = coder.fit(table)
    >>> coder.get_feature_names_out().tolist()
    ['age[0]', 'age[400]', 'town_Graz', 'town_Linz', 'town_other']
    >>> coder.transform(table.head(2)).tolist()
    [[1.0, 0.0, 0.0, 1.0, 0.0], [0.9975000023841858, 0.0024999999441206455, 1.0, 0.0, 0.0]]
    >>> coder.row_norm_ ** 2
    2.0000000000000004
    """

    _solvers: ClassVar[dict] = {}
    _constraints: ClassVar[dict] = TABLE_CONSTRAINTS
    _auto_is_gaussian: ClassVar[bool] = True
    _disclosed_share: ClassVar[float] = DISCLOSURE_SHARE
    #: The budget of a pipeline that this is a step of, (epsilon, delta); it is not a parameter.
    _whole: ClassVar[tuple | None] = None

    def __init__(self, epsilon=1.0, *, delta=None, columns=None, n_knots="auto",
                 max_categories=None, random_state=None, verbose=0):
        self._store(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    @quietly
    def fit(self, X, y=None):
        """Release knots and categories under the declared budget.

        Parameters
        ----------
        %(X_table)s
        y : None
            Not looked at.

        Returns
        -------
        self : object
        """
        self._check_params()
        table = read_table(self, X, self.columns)
        budget = Budget(*table.values.shape, *self._budget(len(table.values)))
        self._described = table.columns
        table, plan = self._plan(table, self._whole or _usual_whole(budget))
        # A small share of a large delta may come with a smaller one.
        plan = replace(plan, delta=min(plan.delta, DISCLOSURE_SHARE * budget.delta))
        rows = Rows(table.values, np.zeros(len(table.values)))
        warn_of_weak_budget(budget)
        facts = {"enforced": [Enforced("row_norm", math.sqrt(budget.n_columns), "derived",
                                       "l2 norm of the features of a row")],
                 "public": ["number of rows and of columns, their names, and dtypes with the "
                            "categories that these hold", "all parameters"],
                 "released": ["knots_", "categories_"]}
        if plan.share:
            (code, columns), self.privacy_ = release_private(
                self._method(), "knots and categories", budget, _Declared(plan), rows,
                partial(_released, plan, table, rows), random_state=self.random_state,
                verbose=self.verbose, **facts)
        else:
            code, columns = plan.run(table, rows, None)
            self.privacy_ = certify(self._method(), "declared knots and categories", budget,
                                    **facts)
        self._columns, self._code = columns, code.for_next_rows()
        self.row_norm_ = code.norm
        return self

    @quietly
    def transform(self, X):
        """Return the features of rows, each by itself.

        Parameters
        ----------
        %(X_table)s

        Returns
        -------
        features : ndarray of float32, shape (n, n_features_out)
            Or what `set_output` asks for.
        """
        check_is_fitted(self, "privacy_")
        return self._code.features(read_next_table(self, X, self._columns))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features: a column with a knot, or with a category.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns, where these had none in `fit`.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "privacy_")
        columns = _check_feature_names_in(self, input_features)
        return np.array(self._code.names(columns), dtype=object)

    @property
    def knots_(self):
        """dict : the knots of every column of numbers, by its name or position."""
        return self._parts("knots")

    @property
    def categories_(self):
        """dict : the categories of every other column, by its name or position."""
        return self._parts("categories")

    def _parts(self, kind):
        check_is_fitted(self, "privacy_")
        return {column.name: getattr(part, kind)
                for column, part in zip(self._columns, self._code.parts, strict=True)
                if hasattr(part, kind)}

    def _share(self, X, whole):
        """Return the share of mu^2 that features of X are worth of a whole (epsilon, delta)."""
        self._check_params()
        return self._plan(read_table(self, X, self.columns), whole)[1].share

    def _within(self, whole):
        """Return this transformer as a step of a whole (epsilon, delta)."""
        self._whole = whole
        return self

    def _plan(self, table, whole):
        budget = Budget(*table.values.shape, *whole)
        n_knots = None if self.n_knots == "auto" else self.n_knots
        return CodePlan.for_table(budget, table, n_knots, self.max_categories)

    def _method(self):
        """Return what names this method; repeated noise must not meet other features."""
        return super()._method().with_columns(self._described)


@dataclass(frozen=True)
class _Declared:
    """The declaration of a plan that has all of a budget, 1 over its mu the noise multiplier."""

    plan: CodePlan

    def __call__(self, noise_multiplier):
        return self.plan.alone(1.0 / noise_multiplier if noise_multiplier else math.inf).event


def _released(plan, table, rows, noise_multiplier, releases):
    """Return the code of a table with its columns, and no bounds that were released."""
    mu = 1.0 / noise_multiplier if noise_multiplier else math.inf
    return plan.alone(mu).run(table, rows, releases), []


def _usual_whole(budget):
    """Return the (epsilon, delta) of which a budget is the usual share of a transformer."""
    if not budget.is_private:
        return budget.epsilon, budget.delta
    mu = gaussian_mu(budget.epsilon, budget.delta) / math.sqrt(_USUAL_SHARE)
    # Where delta alone allows that much any small epsilon will do.
    return max(accountant.epsilon(Gaussian(mu), budget.delta), budget.epsilon), budget.delta
