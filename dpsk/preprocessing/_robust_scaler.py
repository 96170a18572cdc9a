"""Scaling of columns by median and spread, with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import ndtri

from dpsk._defaults.columns import median_share
from dpsk._docs import documented
from dpsk._mechanism.core import Share
from dpsk._parameters import check_flag
from dpsk.preprocessing._numeric import CLIP, NUMBER_CONSTRAINTS, CenteringScaler
from dpsk.preprocessing._statistics_plan import Spreads

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPRobustScaler"]


@documented
class DPRobustScaler(CenteringScaler):
    r"""Scale columns by median and quantile range, with differential privacy.

    .. math:: x \mapsto \min(\max((x - c) / s, -b), b)

    with c the median of a column, s the width of the interval centered on it that holds half of
    the rows, and b the public `clip`. For a symmetric column, s is the interquartile range, but it
    needs fewer rows under noise. So transformed rows have norm at most `row_norm_`, whatever the
    rows.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    with_centering : bool, default=True
        Whether medians are subtracted.
    with_scaling : bool, default=True
        Whether spreads are chosen, and numbers divided by them.
    unit_variance : bool, default=False
        Whether scales are such that a normal column gets variance 1.
    clip : float, default=3.0
        Scaled numbers are clipped to [-clip, clip].
    %(columns_numbers)s %(random_state)s %(verbose)s

    Attributes
    ----------
    center_ : ndarray of shape (n_features,) or None
        Medians.
    scale_ : ndarray of shape (n_features,) or None
        Twice the median distances from the medians; 1 where that is 0, as in scikit-learn.
    row_norm_ : float
        Bound on the l2 norm of a transformed row: `clip` times the root of the number of columns.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_numbers)s

    See Also
    --------
    DPStandardScaler : Scales by mean and standard deviation.
    dpsk.make_dp_pipeline : One budget for this and the model behind it.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: the median of each column,
    then that of the distances from it, each by the exponential mechanism over a public grid.
    Nothing else is kept of the rows. The number of rows, names and dtypes of columns and all
    parameters are public. Rows that are transformed are as sensitive as before.

    Missing values are not counted and stay missing. If most rows share one number, the scale is
    1, or a step of the grid. For a column without any number, both are noise. In a `DPPipeline`,
    the choices take from a hundredth to a quarter of mu^2, within this as much as gives each an
    n mu of 60: ranks are then off by about a fiftieth of the rows. If rows are too few for that, a
    `dpsk.exceptions.PrivacyWarning` says so. Centers and scales lie within declared bounds.

    References
    ----------
    Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", for
    quantiles; Dwork, Lei (2009), "Differential privacy and robust statistics", for scales.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPRobustScaler
    >>> X = np.random.default_rng(0).normal(40.0, 12.0, size=(10_000, 1))
    >>> scaler = DPRobustScaler(columns={0: (0, 120)}).fit(X)
    >>> bool(abs(scaler.center_[0] - 40.0) < 2.0)
    True
    >>> scaler.transform([[scaler.center_[0]], [1e9]]).tolist()
    [[0.0], [3.0]]
    """

    _constraints: ClassVar[dict] = {**NUMBER_CONSTRAINTS, "clip": CLIP, **dict.fromkeys(
        ("with_centering", "with_scaling", "unit_variance"), check_flag)}
    _center_name: ClassVar[str] = "center_"
    _learnt: ClassVar[str] = "medians and spreads"
    _learnt_names: ClassVar[tuple] = ("center_", "scale_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 with_centering: bool = True, with_scaling: bool = True,
                 unit_variance: bool = False, clip: float = 3.0,
                 columns: dict[Any, Any] | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.with_centering = with_centering
        self.with_scaling = with_scaling
        self.unit_variance = unit_variance
        self.clip = clip
        self.columns = columns
        self.random_state = random_state
        self.verbose = verbose

    def _statistics(self, budget, table):
        level = 0.5 if self.with_scaling else None
        chosen = (bool(self.with_centering or self.with_scaling),) * budget.n_columns
        spreads = Spreads(chosen, level)
        return Share(spreads, median_share(budget, spreads.count))

    def _keep_statistics(self, found):
        centers, spreads = found
        self.center_ = centers if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            width = spreads / float(ndtri(0.75)) if self.unit_variance else 2.0 * spreads
            self.scale_ = np.where(width > 0, width, 1.0)
