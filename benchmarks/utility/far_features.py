"""Scores at default settings where features lie far from 0 or differ in unit.

    python benchmarks/utility/far_features.py [--seeds 10]

The same rows of unit variance are moved by an offset, or each feature gets another unit, from
1e-4 to 1e5. Only epsilon is set.
"""

import argparse
import warnings

import numpy as np

from dpsk import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPMLPRegressor,
)
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed

N, EPSILON, OFFSETS, UNITS = 6000, 1.0, (0.0, 30.0, 300.0), 10.0 ** np.arange(-4, 6)
WEIGHTS = np.array([1.0, -1.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.3, 0.2])
REGRESSORS = (DPLinearRegression, DPHuberRegressor, DPMLPRegressor)
CLASSIFIERS = (DPLogisticRegression, DPLinearSVC, DPMLPClassifier)


def mean_score(cls, X, y, seeds):
    """Return the mean test score over seeds of the noise."""
    return np.mean([cls(epsilon=EPSILON, random_state=NoiseSeed(seed)).fit(
        X[:N], y[:N]).score(X[N:], y[N:]) for seed in range(seeds)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore", PrivacyWarning)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2 * N, len(WEIGHTS)))
    y = rows @ WEIGHTS + 0.5 * rng.normal(size=2 * N)
    tables = [rows + offset for offset in OFFSETS] + [rows * UNITS]
    print("| estimator | " + " | ".join(f"{offset:g}" for offset in OFFSETS) + " | units |")
    print("|---" * (len(tables) + 1) + "|")
    for cls in (*REGRESSORS, *CLASSIFIERS):
        target = y if cls in REGRESSORS else (y > 0.0).astype(int)
        scores = (mean_score(cls, table, target, seeds) for table in tables)
        print(f"| {cls.__name__} | " + " | ".join(f"{score:.3f}" for score in scores) + " |")


if __name__ == "__main__":
    main()
