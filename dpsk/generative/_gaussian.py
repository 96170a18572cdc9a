"""A normal law for every class, released at once."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.source import Rows
from dpsk._docs import documented
from dpsk._models.ranges import RangedRows
from dpsk._parameters import check_integer, check_learnt, optional
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.bounds import can_learn
from dpsk._stages.centered import row_rule, spread_rule
from dpsk.generative._base import Sampler
from dpsk.generative._gaussian_plan import FEW_COLUMNS, GaussianPlan, range_rule
from dpsk.generative._moments import roots

if TYPE_CHECKING:

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPGaussianSampler"]

#: The bound on rows that stands where none is declared or learnt.
_PLAIN_NORM = 1.0
#: Rows drawn at a time.
_BLOCK = 1 << 12


@documented
class DPGaussianSampler(Sampler):
    r"""Rows drawn from a normal law for every class, fitted with differential privacy.

    Every class c has a share, a mean and a covariance in the subspace of the main directions V of
    all rows about their mean m. A row is

    .. math:: x = m + V z + r, \qquad z \sim N(\mu_c, \Sigma_c), \qquad r_j \sim N(0, \tau_j)

    with :math:`\tau` what the columns vary beside the subspace, and then clipped to the ranges
    of the columns. All of it comes from sums over the rows, each released once.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    n_components : int or None, default=None
        Dimension of the subspace. None: as many directions as stand clear of the noise, 64 at
        most; all of them for up to 64 features.
    feature_range : "auto", None or (low, high), default="auto"
        Ranges of the columns. Entries outside are clipped, columns enter with their range as the
        unit, and rows that are drawn are within. A pair, two numbers or two arrays of shape
        (n_features,), is public and costs nothing. "auto": ranges come from two quantiles a
        column, chosen under noise: a fiftieth of the budget each and at most a fifth for all, up
        to a tenth and two fifths where rows are few; where they are too few for that, as None,
        with a `dpsk.exceptions.PrivacyWarning`. Beyond 64 columns, and beside a number as
        `data_norm`, which is in the unit of the rows, "auto" is None. None: columns enter as
        they are, so they should be of like size.
    data_norm : "auto", None or float, default="auto"
        Rows farther than it from the released mean are brought that near, in half ranges where
        there are ranges; without, rows are scaled down to it for the mean as well.
        None: a fiftieth of the budget each, and up to a tenth, goes to quantiles of the norms; a
        ValueError where rows are too few for that. "auto": so where rows suffice, else
        ``sqrt(n_features)`` with ranges, or 1, with a `dpsk.exceptions.PrivacyWarning`.
    %(classes)s
    %(random_state_sampler)s
    %(verbose)s

    Attributes
    ----------
    center_ : ndarray of shape (n_features_in_,)
        The mean of all rows, in the rows' own units, as far as noise lets it be told.
    components_ : ndarray of shape (n_components_, n_features_in_)
        The main directions, of rows in half ranges where there are ranges.
    n_components_ : int
    means_ : ndarray of shape (n_classes, n_components_)
        Of the classes in the subspace; one row where there are no labels.
    covariances_ : ndarray of shape (n_classes, n_components_, n_components_)
    noise_variance_ : ndarray of shape (n_features_in_,)
        What the columns vary beside the subspace.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes; only where there are labels.
    data_norm_ : float
        The bound that held, as declared or as released.
    feature_range_ : ndarray of shape (2, n_features_in_), or None
        Lower and upper ends of the ranges, as declared or as released; None without.
    %(classes_)s
        Only where there are labels.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    ValueError
        For a parameter out of range, labels outside `classes`, a single class when classes are
        inferred, or rows that are not finite; always before any noise is drawn.

    See Also
    --------
    DPTreeSampler : For columns of any kind, words included.
    DPWGAN : By a network, for images.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-indistinguishable, and so is all that is
    ever drawn. Released: bounds that are learnt, then the noisy mean of the rows, their second
    moment, and second moments, sums and counts of the classes in the subspace, which together
    cost what the second moment of one class would. The number of rows and features, labels of
    classes and all parameters are public.

    A row that is drawn is no row of the table with something changed, but a table drawn here
    knows nothing that means and covariances do not say.

    References
    ----------
    Dwork, Talwar, Thakurta, Zhang (2014), "Analyze Gauss", Algorithm 1, for the second moment.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPGaussianSampler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> high = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.3, 0.4, 0.1]
    >>> sampler = DPGaussianSampler(epsilon=2.0, feature_range=(0.0, high)).fit(X[:, :10], y)
    >>> rows, labels = sampler.sample(1000, random_state=0)
    >>> rows.shape, labels.shape
    ((1000, 10), (1000,))
    """

    _constraints: ClassVar[dict] = {
        **Sampler._constraints,
        "n_components": optional(lambda name, value: check_integer(
            name, value, low=1, remedy="None, or an int >= 1")),
        "data_norm": check_learnt(Sampler._constraints["data_norm"]),
        "feature_range": check_learnt(lambda name, value: _ranges(value, None)),
    }

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 n_components: int | None = None,
                 feature_range: tuple[float, float] | str | None = "auto",
                 data_norm: float | str | None = "auto", classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_components = n_components
        self.feature_range = feature_range
        self.data_norm = data_norm
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    def _fitted_to(self, X, codes, n_classes):
        """Release what is fitted to validated rows, and return the fitted attributes by name."""
        width = X.shape[1]
        if self.n_components is not None and self.n_components > width:
            raise ValueError(f"n_components={self.n_components!r}: must be at most the number of "
                             f"features, {width}.")
        low, high = _ranges(self.feature_range, width) if self._declares_ranges() else (None, None)
        epsilon, delta = self._budget(len(X))
        budget = Budget(len(X), width, epsilon, delta)
        learns_ranges = self._learns_ranges(budget)
        norm, spread = self._bounds(budget, learns_ranges or low is not None)
        reduces = width > FEW_COLUMNS if self.n_components is None else self.n_components < width
        plan = GaussianPlan(budget, n_classes, self.n_components, reduces, learns_ranges, norm,
                            spread)
        names = getattr(self, "feature_names_in_", range(width))
        rows = Rows(X, codes)
        fitted, privacy = self._release(
            "noisy moments", budget, plan, rows, (rows, names, low, high),
            enforced=self._enforced(plan), public=self._public_facts(n_classes),
            released=["center_", "components_", "n_components_", "means_", "covariances_",
                      "noise_variance_", "data_norm_", "feature_range_",
                      *["class_prior_"] * (n_classes > 1)])
        arrays = {"components_": fitted.basis.T, "means_": fitted.means,
                  "covariances_": fitted.covariances, "noise_variance_": fitted.rest,
                  "class_prior_": fitted.shares, "center_": fitted.row_map.undone(np.zeros(width))}
        return {**{name: value.astype(X.dtype) for name, value in arrays.items()},
                "n_components_": fitted.basis.shape[1], "data_norm_": float(fitted.radius),
                "privacy_": privacy, "feature_range_": fitted.row_map.ends}

    def _declares_ranges(self):
        # Of arrays, "==" would be one too.
        return self.feature_range is not None and not isinstance(self.feature_range, str)

    def _learns_ranges(self, budget):
        """Return whether ranges are learnt, from public facts."""
        if self.feature_range is None or self._declares_ranges() or (
                budget.n_columns > FEW_COLUMNS or self.data_norm not in ("auto", None)):
            return False
        return not budget.is_private or can_learn(
            "feature_range", "auto", None, lambda: range_rule(budget),
            effect="columns enter as they are")

    def _bounds(self, budget, ranged):
        """Return the bounds on rows and on centered ones, None where they are learnt.

        `ranged` is whether columns enter in half ranges.
        """
        plain = math.sqrt(budget.n_columns) if ranged else _PLAIN_NORM
        if self.data_norm not in ("auto", None):
            return plain if ranged else float(self.data_norm), float(self.data_norm)

        def rules():
            if not ranged:
                row_rule(budget)
            spread_rule(budget)

        learns = not budget.is_private or can_learn("data_norm", self.data_norm, plain, rules)
        return plain if ranged or not learns else None, None if learns else plain

    def _enforced(self, plan):
        """Return what is enforced on rows, beside the bounds that are learnt."""
        lines = []
        if self._declares_ranges():
            low, high = _ranges(self.feature_range, None)
            lines.append(Enforced("feature_range", [float(low.min()), float(high.max())],
                                  "declared", "entries outside of their column's declared range "
                                  "are clipped; these are the lowest and the highest end"))
        origin = "default" if self.data_norm in ("auto", None) else "declared"
        return lines + plan.enforced_bounds(origin)

    def _draw(self, codes, draws):
        """Return rows of the classes at `codes`."""
        width, dtype = self.components_.shape[1], self.components_.dtype
        row_map = self._row_map()
        factors = roots(self.covariances_.astype(np.float64))
        deviations = np.sqrt(self.noise_variance_.astype(np.float64))
        out = np.empty((len(codes), width), dtype)
        for start in range(0, len(codes), _BLOCK):
            own = codes[start:start + _BLOCK]
            z = draws.normals((len(own), factors.shape[1]))
            for label in np.unique(own):
                chosen = own == label
                z[chosen] = z[chosen] @ factors[label].T + self.means_[label]
            rows = z @ self.components_.astype(np.float64)
            if deviations.any():
                rows += deviations * draws.normals(rows.shape)
            out[start:start + _BLOCK] = row_map.undone(rows)
        return self._named(out)

    def _row_map(self):
        """Return the map of rows to their ranges, less the released center."""
        center = self.center_.astype(np.float64)
        ends = (None, None) if self.feature_range_ is None else self.feature_range_
        plain = RangedRows(np.zeros(len(center)), *ends, np.float64)
        mapped = np.empty((1, len(center)))
        plain.dense(center[None], mapped)
        return replace(plain, center=mapped[0])

    def _named(self, rows):
        """Return rows as a DataFrame where the sampler was fitted to one."""
        if self._names is None:
            return rows
        import pandas as pd
        return pd.DataFrame(rows, columns=self._names)


def _ranges(given, width):
    """Return the ends of public ranges as arrays, of shape (width,) where that is known."""
    try:
        low, high = (np.atleast_1d(np.asarray(end, dtype=np.float64)) for end in given)
        shape = np.broadcast_shapes(low.shape, high.shape, (1 if width is None else width,))
        sound = not isinstance(given, str) and len(shape) == 1 and width in (None, *shape)
        sound = sound and bool(
            np.all((high - low >= 1e-100) & (np.abs(low) <= 1e30) & (np.abs(high) <= 1e30)))
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"feature_range={given!r}: must be 'auto', None, or (low, high), each a "
                         "number or an array of one a feature, with low < high, such as "
                         "(0.0, 1.0).")
    return np.broadcast_to(low, shape), np.broadcast_to(high, shape)
