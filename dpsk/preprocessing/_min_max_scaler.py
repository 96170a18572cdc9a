"""Scaling of columns from private ranges to a public one, with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.columns import EXTREMES, end_medians_share, extreme_share, range_tail
from dpsk._docs import documented
from dpsk._mechanism.core import Share
from dpsk.preprocessing._numeric import NUMBER_CONSTRAINTS, NumericTransformer, check_pair
from dpsk.preprocessing._statistics_plan import Ends

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPMinMaxScaler"]


@documented
class DPMinMaxScaler(NumericTransformer):
    """Scale columns to a range by extreme quantiles, with differential privacy.

    Numbers between two extreme quantiles of a column are mapped linearly to `feature_range`, and
    those beyond are clipped. So transformed rows have norm at most `row_norm_`, whatever the
    rows. Nothing is released about columns whose bounds are declared.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    feature_range : (float, float), default=(0, 1)
        Range of the transformed numbers.
    %(columns_numbers)s %(random_state)s %(verbose)s

    Attributes
    ----------
    data_min_, data_max_, data_range_ : ndarray of shape (n_features,)
        The ends of every column: declared bounds, or quantiles; and their distance.
    scale_, min_ : ndarray of shape (n_features,)
        The map between them, ``x * scale_ + min_``.
    row_norm_ : float
        Bound on the l2 norm of a transformed row: the larger end of `feature_range` times the
        root of the number of columns.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_numbers)s

    See Also
    --------
    DPRobustScaler : Scales by median and spread, which need the fewest rows.
    dpsk.make_dp_pipeline : One budget for this and the model behind it.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: for every column without
    declared bounds, a median, and two quantiles of distances from it as a whole number (or only
    these, of distances from 0, where rows are too few), each by the exponential mechanism over a
    public grid. Nothing else is kept of the rows. The number of rows, names and dtypes of columns
    and all parameters are public. Rows that are transformed are as sensitive as before.

    A true minimum cannot be private. From a two-hundredth to a quarter of the rows stay beyond
    each end, enough that an end beyond all rows is less likely by ``exp(-20)``. If rows are too
    few for that, a `dpsk.exceptions.PrivacyWarning` says so: declare bounds then. Where both ends
    are one number, they are moved out by 1, as for a flag. Missing values are not counted and
    stay missing. In a `DPPipeline`, medians and ends take from a fiftieth to a fifth of mu^2,
    within this as much as gives each end an n mu of 400.

    References
    ----------
    Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", for
    quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPMinMaxScaler
    >>> scaler = DPMinMaxScaler(columns={0: (0, 120)}).fit(np.arange(100.0)[:, None])
    >>> scaler.transform([[30.0], [150.0]]).tolist()
    [[0.25], [1.0]]
    """

    _constraints: ClassVar[dict] = {**NUMBER_CONSTRAINTS, "feature_range": check_pair}
    #: The share for few rows, so that tails suit the budget.
    _usual_share: ClassVar[float] = EXTREMES[1]
    _learnt: ClassVar[str] = "ranges"
    _learnt_names: ClassVar[tuple] = ("data_min_", "data_max_", "data_range_", "scale_",
                                      "min_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 feature_range: tuple[float, float] = (0, 1),
                 columns: dict[Any, Any] | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.feature_range = feature_range
        self.columns = columns
        self.random_state = random_state
        self.verbose = verbose

    def _statistics(self, budget, table):
        unknown = tuple(column.edges is None for column in table.columns)
        count = 2 * sum(unknown)
        share = extreme_share(budget, count)
        medians = end_medians_share(budget, sum(unknown), share)
        tail = range_tail(budget, count, share * (1.0 - medians), 0.25)
        return Share(Ends(unknown, tail, medians), share)

    def _keep_statistics(self, found):
        for place, column in enumerate(self._described):
            if column.edges is not None:
                found[place] = column.edges
            elif np.ptp(found[place]) == 0.0 and self.epsilon < np.inf:
                # Most numbers are the same one: keep others that are 1 away, as of a flag.
                found[place] += (-1.0, 1.0)
        self.data_min_, self.data_max_ = found.T.copy()
        low, high = self._ends
        self.data_range_ = self.data_max_ - self.data_min_
        self.scale_ = (high - low) / np.where(self.data_range_ > 0, self.data_range_, 1.0)
        self.min_ = low - self.data_min_ * self.scale_

    @property
    def _ends(self):
        return tuple(map(float, self.feature_range))

    def _there(self, values):
        # Subtract first, because sums of numbers far from 0 would lose precision.
        inside = np.clip(values, self.data_min_, self.data_max_)
        return self._ends[0] + (inside - self.data_min_) * self.scale_

    def _back(self, values):
        return self.data_min_ + (values - self._ends[0]) / self.scale_
