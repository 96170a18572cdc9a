"""Mapping of columns to a uniform or normal distribution by private knots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from dpsk._defaults.columns import knot_levels, knot_signal
from dpsk._docs import documented
from dpsk._parameters import choice
from dpsk.preprocessing._code_plan import TABLE_CONSTRAINTS, CodePlan
from dpsk.preprocessing._numeric import NUMBER_CONSTRAINTS, NumericTransformer

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPQuantileTransformer"]

#: Normal output is clipped here, beyond which a normal distribution has probability .0013.
_REACH = 3.0


@documented
class DPQuantileTransformer(NumericTransformer):
    """Map columns to a uniform or normal distribution, with differential privacy.

    The knots of a column, found by halving intervals at medians, map to even steps from 0 to 1,
    and numbers between two knots are interpolated. "normal" maps these probabilities to normal
    quantiles, clipped to +-3. So transformed rows have norm at most `row_norm_`, whatever the
    rows. The map is monotone in every number.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    n_quantiles : "auto" or int, default="auto"
        Number of knots per column: 2, 3, 5, 9 and so on, as intervals are halved. "auto": about
        the cube root of n mu over the number of columns, with the mu of the whole pipeline.
        Outside a `DPPipeline`, the transformer is assumed to have a tenth of its mu^2.
    output_distribution : {"uniform", "normal"}, default="uniform"
    %(columns_numbers)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    n_quantiles_ : int
        The largest number of knots of a column.
    references_ : ndarray of shape (n_quantiles_,)
        Even steps from 0 to 1.
    quantiles_ : ndarray of shape (n_quantiles_, n_features_in_)
        The numbers that map to `references_`: knots, or interpolated between fewer knots.
    row_norm_ : float
        Bound on the l2 norm of a transformed row: the root of the number of columns, 3 times that
        for "normal".
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_numbers)s

    See Also
    --------
    DPTableVectorizer : The same knots, with a feature each.
    dpsk.make_dp_pipeline : One budget for this and the model behind it.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: knots chosen under noise, one
    choice per halving and column, and noisy counts of small whole numbers, or of ranges of
    numbers with few rows. Nothing else is kept of the rows. The number of rows, names and dtypes
    of columns and all parameters are public. Rows that are transformed are as sensitive as before.

    A number that many rows share takes one knot, and the others divide the remaining rows: ranks
    next to it are ranks among these. Ends are computed from the outer medians, or declared.
    Missing values are not counted and stay missing. Shares of mu^2 are those of
    `DPTableVectorizer`.

    References
    ----------
    Kaplan, Schnapp, Stemmer (2022), "Differentially private approximate quantiles", for recursive
    quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPQuantileTransformer
    >>> X = np.random.default_rng(0).exponential(size=(10_000, 1))
    >>> uniform = DPQuantileTransformer(columns={0: (0, 50)}).fit(X).transform(X)
    >>> bool(abs(uniform.mean() - 0.5) < 0.1)
    True
    """

    _constraints: ClassVar[dict] = {
        **NUMBER_CONSTRAINTS, "n_quantiles": TABLE_CONSTRAINTS["n_knots"],
        "output_distribution": choice("uniform", "normal")}
    _learnt: ClassVar[str] = "knots"
    _learnt_names: ClassVar[tuple] = ("quantiles_", "n_quantiles_", "references_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 n_quantiles: str | int = "auto", output_distribution: str = "uniform",
                 columns: dict[Any, Any] | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.columns = columns
        self.random_state = random_state
        self.verbose = verbose

    def _statistics(self, budget, table):
        n_knots = self.n_quantiles
        if n_knots == "auto":
            # With few rows, a plan without this number would count ranges, which are no quantiles.
            # Without noise, quantiles need no limit as curves do, which could overfit.
            signal = knot_signal(budget, len(table.columns)) if budget.is_private else math.inf
            n_knots = 2 ** knot_levels(signal) + 1
        return CodePlan.of(budget, table.columns, n_knots)

    def _keep_statistics(self, found):
        self._knots = [part.knots for part in found[0].parts]
        self.n_quantiles_ = max(map(len, self._knots))
        self.references_ = np.linspace(0.0, 1.0, self.n_quantiles_)
        steps = np.broadcast_to(self.references_[:, None], (self.n_quantiles_, len(self._knots)))
        self.quantiles_ = self._between(steps, lambda knots, steps, x: np.interp(x, steps, knots))

    @property
    def _ends(self):
        return (-_REACH, _REACH) if self.output_distribution == "normal" else (0.0, 1.0)

    def _there(self, values):
        shares = self._between(values, lambda knots, steps, x: np.interp(x, knots, steps))
        if self.output_distribution == "uniform":
            return shares
        # Both functions keep NaN.
        return ndtri(np.clip(shares, ndtr(-_REACH), ndtr(_REACH)))

    def _back(self, values):
        shares = ndtr(values) if self.output_distribution == "normal" else values
        return self._between(shares, lambda knots, steps, x: np.interp(x, steps, knots))

    def _between(self, values, interpolated):
        """Interpolate every column by a function of its knots, steps and values."""
        return np.column_stack([
            interpolated(knots, np.linspace(0.0, 1.0, len(knots)) if len(knots) > 1
                         else np.array([0.5]), values[:, place])
            for place, knots in enumerate(self._knots)])
