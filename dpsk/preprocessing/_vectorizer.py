"""Encoding of tables as rows of bounded norm, with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._docs import documented
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS, check_missing_indicator
from dpsk.preprocessing._coder import TableCoder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._models.shifted_log import ShiftedLog
    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import FloatArray

__all__ = ["DPTableVectorizer"]


@documented
class DPTableVectorizer(TableCoder):
    r"""Encode a raw table as features of bounded norm, with differential privacy.

    A number becomes its weights at the two nearest knots,

    .. math:: x \mapsto \bigl(h_1(x), \ldots, h_K(x)\bigr), \qquad h_k \ge 0, \quad
              \sum_k h_k(x) = 1,

    by its distances from them, for a skewed column on a shifted logarithmic scale. A categorical
    value becomes its indicator, and a missing number zeros. So the features of a column
    have norm at most 1, and those of a row at most `row_norm_`, whatever the rows. They are
    float32. Knots and categories are released, and nothing else is kept of the rows.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    %(columns)s
    %(n_knots)s
        Of the whole that a model behind it costs as well: inside a `DPPipeline` that is known,
        and by itself the transformer is taken to have a tenth of the whole mu^2.
    %(max_categories)s %(missing_indicator)s %(random_state)s %(verbose)s

    Attributes
    ----------
    knots_ : dict
        The knots of every column of numbers, increasing.
    scales_ : dict
        For every numeric column, the scale on which distances from knots are measured: a function
        with an `inverse`, or None for no scale.
    categories_ : dict
        The categories of every other column, or the buckets that they are hashed into; one more
        feature stands for any other.
    row_norm_ : float
        Bound on the l2 norm of a row of features, the root of the number of columns.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_columns)s

    See Also
    --------
    dpsk.make_dp_pipeline : One budget for this and the model behind it.
    dpsk.DPAdditiveClassifier : Encoder and model in one, with pairs of columns.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: knots chosen under noise;
    noisy counts of small whole numbers or of ranges of numbers, and of buckets of categories; and
    the categories of columns whose noisy counts stand out, at a tenth of delta, which covers that
    of a single row. The number of rows, names and dtypes of columns and all parameters are public.
    Rows that are transformed are as sensitive as before.

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

    _constraints: ClassVar[dict] = {
        **TABLE_CONSTRAINTS, "missing_indicator": check_missing_indicator}
    _learnt: ClassVar[str] = "knots and categories"
    _learnt_names: ClassVar[tuple] = ("knots_", "scales_", "categories_")
    _evens: ClassVar[bool] = True

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 columns: dict[Any, Any] | None = None, n_knots: str | int = "auto",
                 max_categories: int | None = None,
                 missing_indicator: bool | Sequence[Any] = False,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.n_knots = n_knots
        self.max_categories = max_categories
        self.missing_indicator = missing_indicator
        self.random_state = random_state
        self.verbose = verbose

    @property
    def knots_(self) -> dict[Any, FloatArray]:
        """dict : the knots of every column of numbers, by its name or position."""
        return self._parts("knots")

    @property
    def scales_(self) -> dict[Any, ShiftedLog | None]:
        """dict : the scale of every column of numbers; None for no scale."""
        return self._parts("scale")

    @property
    def categories_(self) -> dict[Any, list[Any]]:
        """dict : the categories of every other column, by its name or position."""
        return self._parts("categories")
