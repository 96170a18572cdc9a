"""Default fits against scikit-learn's of the same task, and the memory they take."""

import tracemalloc
import warnings

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import dpsk

from .ratios import processor_ratio

#: A private estimator, and what a user would fit in its place.
PAIRS = {
    "DPLogisticRegression": LogisticRegression(),
    "DPLinearSVC": LinearSVC(),
    "DPLinearRegression": LinearRegression(),
    "DPRidge": Ridge(),
    "DPLasso": Lasso(alpha=0.01),
    "DPHuberRegressor": HuberRegressor(),
    "DPPoissonRegressor": PoissonRegressor(),
    "DPMLPClassifier": MLPClassifier(max_iter=5),
    "DPAdditiveClassifier": HistGradientBoostingClassifier(),
    "DPStandardScaler": StandardScaler(),
    "DPPCA": PCA(5, svd_solver="covariance_eigh"),
}


def _targets(name, scores):
    """Return targets that an estimator takes, from scores of rows."""
    if "Poisson" in name:
        return np.floor(np.exp(np.clip(scores, -2, 2)))
    return (scores > 0).astype(int) if name.endswith(("Classifier", "SVC", "LogisticRegression")) \
        else scores


class Fits:
    """One table of normal rows, the same for both."""

    params = (sorted(PAIRS), [(5_000, 20), (20_000, 20)])
    param_names = ("estimator", "shape")
    timeout = 300

    def setup(self, name, shape):
        """Make the table and both models."""
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal(shape)
        scores = self.X @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
        self.y = _targets(name, scores)
        self.private, self.plain = getattr(dpsk, name)(), PAIRS[name]

    def track_processor_time(self, name, shape):
        """Return the time of a private fit over that of a plain one."""
        return processor_ratio(lambda: self.private.fit(self.X, self.y),
                               lambda: self.plain.fit(self.X, self.y), repeats=2)

    track_processor_time.unit = "times the plain fit"

    def track_peak_memory(self, name, shape):
        """Return the peak of memory in a private fit over the size of its rows."""
        tracemalloc.start()
        try:
            self.private.fit(self.X, self.y)
            return tracemalloc.get_traced_memory()[1] / self.X.nbytes
        finally:
            tracemalloc.stop()

    track_peak_memory.unit = "times the rows"
