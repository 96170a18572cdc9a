"""Principal components of a table, with differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.blocks import row_blocks
from dpsk._data.errors import discreetly, quietly
from dpsk._data.groups import groups_of
from dpsk._data.source import Rows
from dpsk._data.validation import FLOATS, check_part, check_prediction_rows, check_unlabeled_rows
from dpsk._docs import documented
from dpsk._estimator import DPEstimator
from dpsk._fit import run_private
from dpsk._mechanism.core import Composite, Share, Statistic, mu_of
from dpsk._models.principal import PrincipalRows
from dpsk._models.ranges import RangedRows
from dpsk._output import check_output_container
from dpsk._parameters import (
    GAUSSIAN_DELTA,
    PARAMETER_CONSTRAINTS,
    check_flag,
    check_learnt,
    norm_origin,
)
from dpsk._problem import Budget
from dpsk._stages.bounds import can_learn
from dpsk._stages.center_rounds import rows_within
from dpsk._stages.centered import Centered, row_rule, spread_rule
from dpsk._stages.spectrum import Spectrum
from dpsk._statistics.moments import noisy_second_moment, second_moment_noise
from dpsk.preprocessing._likelihood import Likelihood

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["DPPCA"]

#: The bound on rows if none is declared or learnt.
_PLAIN_NORM = 1.0
#: Default share of a pipeline's mu^2; the features are worth more than that.
_SHARE = 0.3
#: Number of directions that are always kept by default.
_FEW_DIRECTIONS = 32
#: Least variance for whitening without noise, relative to the largest.
_LEAST_VARIANCE = 1e-10


def _check_components(name, value):
    """Raise a ValueError unless `value` says how many directions are kept."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    is_number = isinstance(value, (Integral, float, np.floating)) and not isinstance(
        value, (bool, np.bool_))
    whole = isinstance(value, Integral)
    if not is_number or not (value >= 1 if whole else 0.0 < value < 1.0):
        raise ValueError(f"{name}={value!r}: must be 'auto', None, an int >= 1, or a share of the "
                         "variance in (0, 1).")


@documented
class DPPCA(Likelihood, ClassNamePrefixFeaturesOutMixin, TransformerMixin, DPEstimator):
    r"""Principal components of a table, with differential privacy.

    Directions are the eigenvectors of the noisy second moment of rows minus their noisy mean,

    .. math:: \tilde M = \frac{1}{n} \sum_i r_i r_i' + N, \qquad
              r_i = (x_i - \tilde m) \min(1, R / \|x_i - \tilde m\|)

    with N a symmetric Gaussian matrix. A row becomes its coordinates :math:`V' r`, whose norm is
    at most `row_norm_`, whatever the row.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    n_components : "auto", None, int or float, default="auto"
        Number of directions to keep. "auto": 32, or all if there are fewer, and up to 64 if that
        many exceed the noise, because omitted directions harm a model more than noise does. None:
        all. A float in (0, 1): as many as explain that fraction of the released variance, at most
        those that noise does not hide. The choice has no privacy cost.
    whiten : bool, default=False
        Whether coordinates are divided by their standard deviation, or by the largest that noise
        can hide if theirs is smaller.
    center : bool, default=True
        Whether a noisy mean is subtracted, for a thirtieth up to three tenths of the budget.
        False: rows are not centered, as in scikit-learn's `TruncatedSVD`.
    data_norm : "auto", None or float, default="auto"
        Bound on the distance of rows from the released mean; farther rows are clipped to it, in
        `transform` too. For the mean, rows are scaled down to this norm. None: after rounds of
        centering, for at most .03 of the budget, quantiles of norms of rows, also centered ones,
        are chosen under noise, for .02 to .1 each; a ValueError if rows are too few. "auto": as
        None if rows suffice, else 1, with a `dpsk.exceptions.PrivacyWarning`; in a `DPPipeline`
        the known bound of the step before, while None learns a narrower one.
    %(random_state)s %(verbose)s

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Directions in order of decreasing variance. The largest entry of each is positive.
    explained_variance_ : ndarray of shape (n_components_,)
        Estimated mean squares of rows in these directions; 0 where noise hides them.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        `explained_variance_` divided by the released variance in all directions.
    mean_ : ndarray of shape (n_features_in_,)
        The released mean; zeros if `center` is False.
    singular_values_ : ndarray of shape (n_components_,)
        Roots of the sums of squares in these directions.
    noise_variance_ : float
        The mean of the variances in directions that are left out.
    n_components_ : int
    n_samples_ : int
        Number of rows, or of groups.
    data_norm_ : float
        The bound on centered rows, as declared or as released.
    row_norm_ : float
        Bound on the l2 norm of a transformed row.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    dpsk.make_dp_pipeline : One budget for this and the model behind it.
    sklearn.decomposition.PCA : Without noise.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: learnt bounds, noisy means of
    the rows, and their noisy second moment. The number of rows and features, names of features and
    all parameters are public. Rows that are transformed are as sensitive as before.

    Rows beyond the bound keep their direction, not their length. With fewer rows, a learnt bound
    clips more of them. Variances are those of clipped rows.

    Likelihoods and covariances are of a normal distribution, with `noise_variance_` as the least
    variance in any direction. If it is 0, the largest that noise can hide takes its place.

    References
    ----------
    Dwork, Talwar, Thakurta, Zhang (2014), "Analyze Gauss", Algorithm 1; Benaych-Georges,
    Nadakuditi (2011), for what noise leaves of a spectrum; Tipping, Bishop (1999), for `score`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> pca = DPPCA(epsilon=4.0, n_components=10).fit(X)
    >>> pca.transform(X[:5]).shape
    (5, 10)
    >>> bool(pca.explained_variance_ratio_.sum() > 0.4)
    True
    """

    _solvers: ClassVar[dict] = {}
    _auto_is_gaussian: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        **PARAMETER_CONSTRAINTS, "delta": GAUSSIAN_DELTA,
        "n_components": _check_components, "whiten": check_flag, "center": check_flag,
        "data_norm": check_learnt(PARAMETER_CONSTRAINTS["data_norm"])}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 n_components: str | float | None = "auto", whiten: bool = False,
                 center: bool = True, data_norm: float | str | None = "auto",
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_components = n_components
        self.whiten = whiten
        self.center = center
        self.data_norm = data_norm
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @private_fit
    def fit(self, X: Any, y: Table | None = None, groups: ArrayLike | None = None) -> Self:
        """Release principal directions under the declared budget.

        Parameters
        ----------
        %(X_dense)s
        y : None
            Ignored.
        %(groups_table)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        check_output_container(self)
        X = self._checked(X)
        members = groups_of(groups, len(X), self.random_state)
        if members is not None:
            X = X[members.one_each(self.random_state)]
        budget = self._table_budget(X.shape, members)
        centered = self._centered(budget)
        rows = Rows(X, np.zeros(len(X)))
        found, self.privacy_ = run_private(
            self._method(), "noisy second moment", budget, _Directions(centered), rows, rows,
            random_state=self.random_state, verbose=self.verbose,
            enforced=centered.enforced_bounds(norm_origin(self)),
            public=self._table_facts(
                members, "number of rows and of features, feature names, types of numbers and "
                "table", "all parameters"),
            released=["components_", "explained_variance_", "explained_variance_ratio_", "mean_",
                      "noise_variance_", "n_components_", "data_norm_", "row_norm_"])
        self.n_samples_ = budget.n_samples
        self._keep(found, X.dtype)
        return self

    @quietly
    def transform(self, X: Any) -> AnyArray:
        """Return the coordinates of rows in the released directions, each row by itself.

        Parameters
        ----------
        %(X_dense)s

        Returns
        -------
        coordinates : ndarray of shape (n, n_components_)
            Or what `set_output` asks for.
        """
        check_is_fitted(self, "privacy_")
        X = check_prediction_rows(self, X, dtype=FLOATS)
        out = np.empty((len(X), self.n_components_), X.dtype)
        row_map = self._row_map()
        for part in row_blocks(len(X), X.shape[1]):
            row_map.dense(X[part], out[part])
        return out

    @quietly
    def inverse_transform(self, X: Any) -> AnyArray:
        """Map coordinates back to rows, up to what the directions leave out.

        Parameters
        ----------
        X : array-like of shape (n, n_components_)
            Coordinates, as `transform` returns them.

        Returns
        -------
        rows : ndarray of shape (n, n_features_in_)
            On the scale of the rows in `fit`.
        """
        check_is_fitted(self, "privacy_")
        X = check_part(type(self).__name__, X, dtype=FLOATS)
        if X.shape[1] != self.n_components_:
            raise ValueError(f"X has {X.shape[1]} features, but n_components_="
                             f"{self.n_components_}; pass rows as transform returns them.")
        return self._row_map().undone(X).astype(X.dtype)

    @property
    def _n_features_out(self):
        return self.n_components_

    def _centered(self, budget):
        """Return the mechanism of mean and bounds."""
        if self.data_norm not in ("auto", None):
            norm = float(self.data_norm)
        else:
            def rules():
                if self.center:
                    row_rule(budget)
                spread_rule(budget)

            learns = not budget.is_private or can_learn("data_norm", self.data_norm, _PLAIN_NORM,
                                                        rules)
            norm = None if learns else _PLAIN_NORM
        return Centered(budget, norm, norm, bool(self.center))

    def _keep(self, found, dtype):
        """Set the fitted attributes."""
        spectrum, total = found.spectrum, found.total
        ratios = spectrum.found / total if total > 0.0 else np.zeros(len(spectrum.found))
        count = self._count(spectrum, ratios)
        self.components_ = spectrum.vectors[:, :count].T.astype(dtype)
        self.explained_variance_ = spectrum.found[:count].astype(dtype)
        self.explained_variance_ratio_ = ratios[:count].astype(dtype)
        self.mean_ = found.center.astype(dtype)
        left = total - float(spectrum.found[:count].sum())
        left *= left > 1e-12 * total  # less is only the rounding of equal sums
        self.noise_variance_ = left / (len(ratios) - count) if count < len(ratios) else 0.0
        self.n_components_ = count
        self.data_norm_ = float(found.radius)
        self._least = max(spectrum.edge, _LEAST_VARIANCE * float(spectrum.found[0]))
        self.row_norm_ = self._row_map().norm

    def _check_table(self, X, y):
        self._checked(X)

    def _like_most(self, X):
        """Return rows of zeros with all possible output columns, from public facts."""
        if _get_output_config("transform", self)["dense"] != "default":
            return None
        n_samples, width = discreetly("X", np.shape, X)
        count = self.n_components if isinstance(self.n_components, Integral) else width
        return np.zeros((n_samples, count))

    def _check_fit(self, n_samples, y):
        """Raise a ValueError where a fit to n rows would, whatever the columns."""
        self._centered(Budget(n_samples, 1, *self._budget(n_samples)))

    def _checked(self, X):
        """Return training rows as an array; refuse rows with too few columns."""
        X = check_unlabeled_rows(self, X, dtype=FLOATS)
        if isinstance(self.n_components, Integral) and self.n_components > X.shape[1]:
            raise ValueError(f"n_components={self.n_components!r}: must be at most the number of "
                             f"features, {X.shape[1]}.")
        return X

    def _count(self, spectrum, ratios):
        """Return how many directions are kept, from what was released."""
        wanted = self.n_components
        if wanted is None:
            return len(ratios)
        if isinstance(wanted, str):
            return min(len(ratios), max(_FEW_DIRECTIONS, spectrum.n_clear))
        if isinstance(wanted, Integral):
            return int(wanted)
        seen = max(1, int(np.count_nonzero(ratios)))
        return min(seen, 1 + int(np.searchsorted(np.cumsum(ratios), wanted)))

    def _row_map(self):
        """Return the map of rows to their coordinates."""
        variances = self.explained_variance_.astype(np.float64)
        units = PrincipalRows.units_of(variances, self._least) if self.whiten else None
        return PrincipalRows(self.mean_.astype(np.float64), self.data_norm_,
                             self.components_.T.astype(np.float64), units)

    def _share(self, X, whole):
        """Return the default share of mu^2 in a pipeline of (epsilon, delta) `whole`."""
        self._check_params()
        return _SHARE


@dataclass(frozen=True, eq=False)
class _Found:
    """Released statistics of the rows.

    Parameters
    ----------
    spectrum : Spectrum
    total : float
        Noisy variance in all directions, at least the sum of estimated variances.
    center : ndarray of shape (n_features,)
    radius : float
    """

    spectrum: Spectrum
    total: float
    center: np.ndarray
    radius: float


@dataclass(frozen=True)
class _Directions(Composite):
    """Second moment of centered rows, within bounds that are declared or learnt."""

    centered: Centered

    @property
    def parts(self):
        """tuple of Mechanism : bounds and mean, and the second moment."""
        return (self.centered,
                Share(Statistic(noisy_second_moment), 1.0 - self.centered.mean_share))

    def run(self, rows, session, noise_multiplier):
        """Return the released statistics of rows as `_Found`."""
        centered, squares = self.parts
        row_map = RangedRows(np.zeros(rows.n_features), None, None, rows.dtype)
        row_map, mapped, radius = centered.run((rows, row_map), session, noise_multiplier)
        model = rows_within(radius, rows.n_features)
        moment = squares.run((model, mapped), session, noise_multiplier)
        noise_std = second_moment_noise(model, len(rows), mu_of(squares.own(noise_multiplier)))
        spectrum = Spectrum.of(moment, noise_std)
        total = max(float(np.trace(moment)), float(spectrum.found.sum()))
        return _Found(spectrum, total, row_map.center, radius)
