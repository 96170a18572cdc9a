"""k-means with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.blocks import row_blocks
from dpsk._data.errors import discreetly, quietly
from dpsk._data.source import Rows
from dpsk._data.validation import FLOATS, check_prediction_rows, check_unlabeled_rows
from dpsk._docs import documented
from dpsk._estimator import DPEstimator
from dpsk._fit import run_private
from dpsk._output import check_output_container
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, check_integer
from dpsk._problem import Budget
from dpsk._ranged import RANGED_CONSTRAINTS, Ranged
from dpsk._stages.cluster_plan import ClusterPlan, most_clusters
from dpsk._stages.weight_bound import with_weight_bound

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, FloatArray, IntArray, Table

__all__ = ["DPKMeans"]


@documented
class DPKMeans(Ranged, ClassNamePrefixFeaturesOutMixin, TransformerMixin, DPEstimator):
    r"""K-means clustering with differential privacy.

    Every round releases, for all clusters at once, noisy counts and noisy sums of the differences
    of rows from the nearest center, clipped to a radius per cluster from the previous round. The
    first rounds also release second moments, by which wide clusters are split and near ones
    merged, so no random initialization is needed.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters. "auto": as many as are separated by the private moments, at most 20 and
        at most as many as the budget can resolve. Two clusters are merged if their centers are
        closer than twice the sum of their standard deviations along the line between them.
    %(epsilon)s %(delta_gaussian)s
    %(feature_range)s
        Distances are between rows in their original units.
    %(data_norm_ranged)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features_in_)
        Centers of the clusters.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Noisy numbers of rows, or sums of weights, nearest to the centers of the round before the
        last.
    inertia_ : float
        Noisy sum of squared distances of rows to the last centers, with differences clipped to
        the radius.
    n_iter_ : int
        Number of rounds.
    %(ranged)s
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    sklearn.cluster.KMeans : Without noise.
    DPPCA : Main directions of a table.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: learnt bounds, noisy
    means of the rows, their noisy second moment if the rows are projected to fewer directions, and
    noisy counts, sums and moments of clusters in every round. The number of rows and features
    and all parameters are public.

    There is no `labels_`: labels of training rows are as sensitive as the rows. `predict` returns
    the labels of rows that you may see.

    References
    ----------
    Su, Cao, Li, Bertino, Jin (2016), "Differentially private k-means clustering"; Linde, Buzo,
    Gray (1980), "An algorithm for vector quantizer design", for the splits.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from dpsk import DPKMeans
    >>> X, _ = make_blobs(5000, centers=[[-4, 0], [4, 0], [0, 6]], random_state=0)
    >>> model = DPKMeans(n_clusters=3, epsilon=1.0).fit(X)
    >>> len(set(model.predict([[-4, 0], [4, 0], [0, 6]])))
    3
    """

    _solvers: ClassVar[dict] = {}
    _auto_is_gaussian: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        **PARAMETER_CONSTRAINTS, **RANGED_CONSTRAINTS, "delta": GAUSSIAN_DELTA,
        "n_clusters": lambda name, value: _is_auto(value) or check_integer(
            name, value, low=1, remedy="'auto', or an int >= 1")}

    def __init__(self, n_clusters: int | str = 8, *, epsilon: float = 1.0,
                 delta: float | None = None,
                 feature_range: tuple[float, float] | str | None = None,
                 data_norm: float | str | None = "auto",
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.feature_range = feature_range
        self.data_norm = data_norm
        self.random_state = random_state
        self.verbose = verbose

    @property
    def labels_(self) -> IntArray:
        """ndarray : refused, as the labels of training rows are not released."""
        raise AttributeError("labels_: the labels of training rows are not released; use predict "
                             "on rows that you may see.")

    @private_fit
    def fit(self, X: Any, y: Table | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Release the centers of clusters under the declared budget.

        Parameters
        ----------
        %(X_dense)s
        y : None
            Ignored.
        %(sample_weight_moments)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        check_output_container(self)
        X = self._checked(X)
        weights = self._check_weights(sample_weight, X)
        rows = Rows(X, np.zeros(len(X), dtype=np.int8), weights)
        budget = Budget(*X.shape, *self._budget(len(X)))
        (learns_ranges, norm, spread, _), data = self._begins(rows, budget)
        plan = ClusterPlan(budget, self._known_count, learns_ranges, norm, spread)
        mechanism, lowered = (
            with_weight_bound(budget, plan) if rows.is_weighted else (plan, []))
        found, self.privacy_ = run_private(
            self._method(), "noisy sums of clusters", budget, mechanism, rows, data,
            random_state=self.random_state, verbose=self.verbose,
            enforced=[*self._enforced(plan), *lowered],
            public=["number of rows and of features, feature names, types of numbers and table",
                    "all parameters", *self._weight_facts(sample_weight)],
            released=["cluster_centers_", "cluster_sizes_", "inertia_", "n_iter_", "center_",
                      "data_norm_", "feature_range_"])
        row_map = found.row_map
        self.center_ = row_map.undone(np.zeros(X.shape[1]))
        self.feature_range_, self.data_norm_ = row_map.ends, float(found.radius)
        self.cluster_centers_ = row_map.undone(found.centers).astype(X.dtype)
        self.cluster_sizes_, self.inertia_ = found.sizes, found.inertia
        self.n_iter_ = plan.n_rounds
        return self

    def fit_predict(self, X: Any, y: Table | None = None,
                    sample_weight: ArrayLike | None = None) -> IntArray:
        """Fit, and return the index of the nearest released center of each row.

        The labels are for those who may see the rows: the guarantee covers the centers alone.

        Parameters
        ----------
        %(X_dense)s
        y : None
            Ignored.
        %(sample_weight_moments)s

        Returns
        -------
        labels : ndarray of int32, shape (n,)
            Row indices in `cluster_centers_`.
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    @quietly
    def predict(self, X: Any) -> IntArray:
        """Return the index of the nearest center of each row.

        Parameters
        ----------
        %(X_dense)s

        Returns
        -------
        labels : ndarray of int32, shape (n,)
            Row indices in `cluster_centers_`.
        """
        rows = self._read(X)
        found = np.empty(len(rows), dtype=np.int32)
        for part in row_blocks(len(rows), rows.shape[1] + len(self.cluster_centers_)):
            found[part] = self._distances(rows[part]).argmin(axis=1)
        return found

    @quietly
    def transform(self, X: Any) -> AnyArray:
        """Return the distances of rows to the centers.

        Parameters
        ----------
        %(X_dense)s

        Returns
        -------
        distances : ndarray of shape (n, n_clusters)
            An array, or the container set by `set_output`.
        """
        rows = self._read(X)
        found = np.empty((len(rows), len(self.cluster_centers_)), rows.dtype)
        for part in row_blocks(len(rows), rows.shape[1] + found.shape[1]):
            found[part] = self._distances(rows[part])
        return found

    @quietly
    def score(self, X: Any, y: Table | None = None,
              sample_weight: ArrayLike | None = None) -> float:
        """Return the sum of squared distances of rows to their nearest center, times -1.

        The score is exact for the given rows, and has no privacy guarantee for them.

        Parameters
        ----------
        %(X_dense)s
        y : None
            Ignored.
        sample_weight : array-like of shape (n,) or None
            Weights of the rows.

        Returns
        -------
        score : float
            At most 0.
        """
        rows = self._read(X)
        weights = self._check_weights(sample_weight, rows)
        total = 0.0
        for part in row_blocks(len(rows), rows.shape[1] + len(self.cluster_centers_)):
            nearest = self._distances(rows[part]).min(axis=1).astype(np.float64)**2
            total += float(nearest.sum() if weights is None else weights[part] @ nearest)
        return -total

    @property
    def _known_count(self):
        """int or None : the number of clusters, if it is given."""
        return None if _is_auto(self.n_clusters) else int(self.n_clusters)

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def _distances(self, rows: AnyArray) -> FloatArray:
        return euclidean_distances(rows, self.cluster_centers_)

    def _read(self, X):
        """Return validated rows for prediction; the model must be fitted."""
        check_is_fitted(self, "privacy_")
        return check_prediction_rows(self, X, dtype=FLOATS)

    def _checked(self, X):
        """Return training rows as an array; raise a ValueError if there are too few."""
        X = check_unlabeled_rows(self, X, dtype=FLOATS)
        if (self._known_count or 0) > len(X):
            raise ValueError(f"n_clusters={self.n_clusters!r}: must be at most the number of "
                             f"rows, n_samples={len(X)}.")
        return X

    def _check_table(self, X, y):
        self._checked(X)

    def _like_most(self, X):
        """Return zeros of the maximal output shape, from public facts of X."""
        if _get_output_config("transform", self)["dense"] != "default":
            return None
        n_samples, n_columns = discreetly("X", np.shape, X)
        budget = Budget(n_samples, n_columns, *self._budget(n_samples))
        return np.zeros((n_samples, self._known_count or most_clusters(budget)))


def _is_auto(value):
    return isinstance(value, str) and value == "auto"
