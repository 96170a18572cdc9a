"""Sampler from a normal distribution of every class."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.source import Rows
from dpsk._docs import documented
from dpsk._parameters import check_integer, optional
from dpsk._problem import Budget
from dpsk._ranged import RANGED_CONSTRAINTS, Ranged
from dpsk._stages.class_models import roots
from dpsk._stages.class_plan import FEW_COLUMNS
from dpsk.generative._base import Sampler

if TYPE_CHECKING:

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPGaussianSampler"]

#: Rows drawn at a time.
_BLOCK = 1 << 12


@documented
class DPGaussianSampler(Ranged, Sampler):
    r"""Synthetic data from a normal distribution per class, with differential privacy.

    Every class c has a proportion, a mean and a covariance in the subspace of the principal
    directions V of all rows about their mean m. A row is

    .. math:: x = m + V z + r, \qquad z \sim N(\mu_c, \Sigma_c), \qquad r_j \sim N(0, \tau_j)

    with :math:`\tau` the variances of columns outside the subspace. It is then clipped to the
    ranges of the columns. All statistics come from sums over the rows, each released once.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    n_components : int or None, default=None
        Dimension of the subspace. None: as many directions as exceed the noise, at most 64; all
        of them for up to 64 features.
    %(feature_range)s %(data_norm_ranged)s
    %(classes)s
    %(random_state_sampler)s
    %(verbose)s

    Attributes
    ----------
    center_ : ndarray of shape (n_features_in_,)
        Noisy mean of all rows, in the rows' own units.
    components_ : ndarray of shape (n_components_, n_features_in_)
        Principal directions; with ranges, of rows in units of half a range.
    n_components_ : int
    means_ : ndarray of shape (n_classes, n_components_)
        Means of the classes in the subspace; one row without labels.
    covariances_ : ndarray of shape (n_classes, n_components_, n_components_)
    noise_variance_ : ndarray of shape (n_features_in_,)
        Variances of the columns outside the subspace.
    class_prior_ : ndarray of shape (n_classes,)
        Proportions of the classes; only with labels.
    data_norm_ : float
        The bound on rows, as declared or as released.
    feature_range_ : ndarray of shape (2, n_features_in_), or None
        Lower and upper ends of the ranges, as declared or as released; None without ranges.
    %(classes_)s
        Only with labels.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    ValueError
        For a parameter out of range, labels outside `classes`, a single class when classes are
        inferred, or rows that are not finite; always before any noise is drawn.

    See Also
    --------
    DPTreeSampler : For columns of any kind, categorical ones included.
    DPWGAN : Uses a neural network, for images.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-differentially private, and so is all that
    is ever drawn. Released: bounds that are learnt, then noisy means of the rows, their second
    moment, and second moments, sums and counts of the classes in the subspace, which together cost
    what the second moment of one class would. The number of rows and features, the set of labels
    and all parameters are public.

    A synthetic row is not a modified training row. Synthetic data reflect nothing but means and
    covariances.

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
        **RANGED_CONSTRAINTS}

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
        """Fit to validated rows, and return the fitted attributes by name."""
        width = X.shape[1]
        if self.n_components is not None and self.n_components > width:
            raise ValueError(f"n_components={self.n_components!r}: must be at most the number of "
                             f"features, {width}.")
        rows = Rows(X, codes)
        budget = Budget(len(X), width, *self._budget(len(X)))
        reduces = width > FEW_COLUMNS if self.n_components is None else self.n_components < width
        plan, data = self._planned(rows, budget, n_classes, self.n_components, reduces)
        fitted, privacy = self._release(
            "noisy moments", budget, plan, rows, data,
            enforced=self._enforced(plan), public=self._public_facts(n_classes),
            released=["center_", "components_", "n_components_", "means_", "covariances_",
                      "noise_variance_", "data_norm_", "feature_range_",
                      *["class_prior_"] * (n_classes > 1)])
        shares, means, covariances, _ = fitted.laws
        arrays = {"components_": fitted.basis.T, "means_": means,
                  "covariances_": covariances, "noise_variance_": fitted.rest,
                  "class_prior_": shares, "center_": fitted.row_map.undone(np.zeros(width))}
        return {**{name: value.astype(X.dtype) for name, value in arrays.items()},
                "n_components_": fitted.basis.shape[1], "data_norm_": float(fitted.radius),
                "privacy_": privacy, "feature_range_": fitted.row_map.ends}

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

    def _named(self, rows):
        """Return rows as a DataFrame if the sampler was fitted to one."""
        if self._names is None:
            return rows
        import pandas as pd
        return pd.DataFrame(rows, columns=self._names)
