"""Linear splines of numeric columns, with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sklearn.utils.validation import check_is_fitted

from dpsk._docs import documented
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS, check_missing_indicator
from dpsk.preprocessing._coder import TableCoder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import FloatArray

__all__ = ["DPSplineTransformer"]


@documented
class DPSplineTransformer(TableCoder):
    r"""Encode numeric columns by splines of degree 1 at private knots.

    A number becomes its weights at the two nearest knots. A number beyond the ends counts as the
    end, and a missing value has weights 0:

    .. math:: x \mapsto \bigl(h_1(x), \ldots, h_K(x)\bigr), \qquad h_k \ge 0, \quad
              \sum_k h_k(x) = 1,

    as scikit-learn's `SplineTransformer` has it with ``degree=1``, ``knots="quantile"``,
    ``extrapolation="constant"`` and a bias. The features of a column have norm at most 1, and
    those of a row at most `row_norm_`, whatever the rows.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    %(n_knots)s
        Of the whole that a model behind it costs as well: inside a `DPPipeline` that is known,
        and by itself the transformer is taken to have a tenth of the whole mu^2.
    %(columns_knots)s %(missing_indicator)s %(random_state)s %(verbose)s

    Attributes
    ----------
    knots_ : dict
        The increasing knots of every column, by its name or position. A number that many rows
        share is a knot, so there may be fewer knots than requested.
    n_features_out_ : int
    row_norm_ : float
        Bound on the l2 norm of a row of features, the root of the number of columns.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_numbers)s

    See Also
    --------
    dpsk.DPTableVectorizer : The same, with categorical columns too.
    sklearn.preprocessing.SplineTransformer : Without a guarantee.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: knots chosen under noise,
    and noisy counts of small whole numbers, or of ranges of numbers with few rows; where all are
    declared, nothing. The number of rows, names and dtypes of columns and all parameters are
    public. Rows that are transformed are as sensitive as before.

    References
    ----------
    Kaplan, Schnapp, Stemmer (2022), "Differentially private approximate quantiles", for knots.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPSplineTransformer
    >>> ages = np.arange(100.0)[:, None]
    >>> coder = DPSplineTransformer(columns={0: (0, 50, 100)}).fit(ages)
    >>> coder.transform([[25.0], [100.0]]).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    >>> coder.get_feature_names_out().tolist()
    ['x0_sp_0', 'x0_sp_1', 'x0_sp_2']
    """

    _constraints: ClassVar[dict] = {
        **TABLE_CONSTRAINTS, "missing_indicator": check_missing_indicator}
    _disclosed_share: ClassVar[float] = 0.0
    _learnt: ClassVar[str] = "knots"
    _learnt_names: ClassVar[tuple] = ("knots_",)
    _only: ClassVar[str] = "numbers"

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 n_knots: str | int = "auto", columns: dict[Any, Any] | None = None,
                 missing_indicator: bool | Sequence[Any] = False,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_knots = n_knots
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.random_state = random_state
        self.verbose = verbose

    @property
    def knots_(self) -> dict[Any, FloatArray]:
        """dict : the knots of every column, by its name or position."""
        return self._parts("knots")

    @property
    def n_features_out_(self) -> int:
        """int : the number of features that come out."""
        check_is_fitted(self, "privacy_")
        return self._code.width

    def _names_out(self, names):
        return [f"{name}_missing" if place == len(part.knots) else f"{name}_sp_{place}"
                for name, part in zip(names, self._code.parts, strict=True)
                for place in range(part.width)]
