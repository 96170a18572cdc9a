"""Scaling of columns by mean and standard deviation, with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.columns import MOMENTS, SPREADS, moment_share, range_tail, spread_share
from dpsk._docs import documented
from dpsk._mechanism.core import Share
from dpsk._parameters import check_flag
from dpsk._privacy.certificate import Enforced
from dpsk.preprocessing._numeric import CLIP, NUMBER_CONSTRAINTS, CenteringScaler
from dpsk.preprocessing._statistics_plan import Moments, Spreads

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPStandardScaler"]


@documented
class DPStandardScaler(CenteringScaler):
    r"""Scale columns by mean and standard deviation, with differential privacy.

    .. math:: x \mapsto \min(\max((x - m) / s, -b), b)

    with m the mean and s the standard deviation of a column's numbers within its range, and b the
    public `clip`. So transformed rows have norm at most `row_norm_`, whatever the rows. Ranges
    are declared, or learnt. Then one noisy sum over all columns gives counts, sums and squares, at
    the privacy cost of the sums alone.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    with_mean : bool, default=True
        Whether means are subtracted.
    with_std : bool, default=True
        Whether numbers are divided by standard deviations.
    clip : float, default=3.0
        Scaled numbers are clipped to [-clip, clip].
    %(columns_numbers)s %(random_state)s %(verbose)s

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,) or None
    scale_, var_ : ndarray of shape (n_features,) or None
        Standard deviations, and their squares; at least what noise tells from 0.
    ranges_ : ndarray of shape (n_features, 2) or None
        The ranges to which numbers were clipped before they were summed.
    row_norm_ : float
        Bound on the l2 norm of a transformed row: `clip` times the root of the number of columns.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_numbers)s

    See Also
    --------
    DPRobustScaler : Scales by median and spread.
    dpsk.make_dp_pipeline : One budget for this and the model behind it.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: for every column without
    declared bounds, a median and a quantile of the distances from it, by the exponential mechanism
    over a public grid, extended to where a normal distribution has a thousandth of its mass; and
    noisy counts, sums and sums of squares of the numbers within these ranges. Nothing else is kept
    of the rows. The number of rows, names and dtypes of columns and all parameters are public.
    Rows that are transformed are as sensitive as before.

    Missing values are not counted and stay missing. With few rows or heavy tails `DPRobustScaler`
    has less error, because a row moves a mean by more than it moves a rank. In a `DPPipeline`,
    ranges take from a hundredth to .15 of mu^2, and sums from a hundredth to a tenth. If rows are
    too few for ranges, a `dpsk.exceptions.PrivacyWarning` says so. Means and scales lie within
    declared bounds.

    References
    ----------
    Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", for
    quantiles; Dwork, Roth (2014), section 3.3 and appendix A, for noisy sums.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPStandardScaler
    >>> X = np.random.default_rng(0).normal(40.0, 12.0, size=(10_000, 1))
    >>> scaler = DPStandardScaler(columns={0: (0, 120)}).fit(X)
    >>> bool(abs(scaler.mean_[0] - 40.0) < 2.0)
    True
    >>> scaler.transform([[scaler.mean_[0]], [1e9]]).tolist()
    [[0.0], [3.0]]
    """

    _constraints: ClassVar[dict] = {**NUMBER_CONSTRAINTS, "clip": CLIP, "with_mean": check_flag,
                                    "with_std": check_flag}
    #: The share for few rows, so that tails suit the budget.
    _usual_share: ClassVar[float] = SPREADS[1] + MOMENTS[1]
    _center_name: ClassVar[str] = "mean_"
    _learnt: ClassVar[str] = "means and standard deviations"
    _learnt_names: ClassVar[tuple] = ("mean_", "scale_", "var_", "ranges_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, with_mean: bool = True,
                 with_std: bool = True, clip: float = 3.0, columns: dict[Any, Any] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.with_mean = with_mean
        self.with_std = with_std
        self.clip = clip
        self.columns = columns
        self.random_state = random_state
        self.verbose = verbose

    def _statistics(self, budget, table):
        if not (self.with_mean or self.with_std):
            return Share(Spreads((False,) * budget.n_columns, None), 0.0)
        unknown = tuple(column.edges is None for column in table.columns)
        count = Spreads(unknown, 0.5).count
        share = spread_share(budget, count)
        ranges = Spreads(unknown, 1.0 - range_tail(budget, count, share, 0.5))
        whole = share + moment_share(budget)
        return Share(Moments(ranges, share / whole), whole)

    def _enforced(self, table):
        return [*super()._enforced(table), Enforced(
            "entry", 1.0, "derived", "size of one number, in units of half its range; larger ones "
            "are clipped")]

    def _keep_statistics(self, found):
        learns = self.with_mean or self.with_std
        means, scales, self.ranges_ = found if learns else (None, None, None)
        self.mean_ = means if self.with_mean else None
        self.scale_ = scales if self.with_std else None
        self.var_ = scales**2 if self.with_std else None
