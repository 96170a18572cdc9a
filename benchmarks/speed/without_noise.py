"""Seconds of fits at epsilon=inf beside those of scikit-learn's estimators, as ratios.

    python benchmarks/speed/without_noise.py [--output docs/results/without_noise.md]

On Adult with one-hot columns, dense and CSR, and on normal rows; one BLAS thread, processor time.
"""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPHuberRegressor,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import fastest, put_tables

N, REPEATS = 20_000, 2
GIVEN = {"epsilon": np.inf}
CLASSIFIERS = [
    (DPLogisticRegression(alpha=1 / N, **GIVEN), LogisticRegression()),
    (DPLinearSVC(loss="squared_hinge", alpha=1 / N, **GIVEN), LinearSVC()),
    (DPLinearSVC(**GIVEN), LinearSVC(loss="hinge"))]
REGRESSORS = [
    (DPLinearRegression(**GIVEN), LinearRegression()), (DPRidge(alpha=1 / N, **GIVEN), Ridge()),
    (DPRidge(penalty="l1", alpha=1e-3, **GIVEN), Lasso(alpha=1e-3)),
    (DPLasso(radius=0.5, **GIVEN), Lasso(alpha=1e-3)),
    (DPHuberRegressor(alpha=1e-4, **GIVEN), HuberRegressor()),
    (DPPoissonRegressor(alpha=1e-4, **GIVEN), PoissonRegressor(alpha=1e-4))]


def tables():
    """Yield names of tables, their rows, labels and targets."""
    X, _, y, _ = load("adult")
    X, y = np.asarray(X[:N], dtype=float), np.asarray(y[:N])
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.exp(X @ rng.normal(size=X.shape[1]) / 5)).astype(float)
    yield "Adult", X, y, counts
    yield "Adult, CSR", sparse.csr_matrix(X), y, counts
    X = rng.normal(size=(N, 94))
    scores = X @ rng.normal(size=94) / 10
    yield ("normal", X, (scores + rng.logistic(size=N) > 0).astype(int),
           rng.poisson(np.exp(scores)).astype(float))


def measure():
    """Yield lines of the table."""
    for table, X, y, counts in tables():
        pairs = [(pair, y) for pair in CLASSIFIERS] + [(pair, counts) for pair in REGRESSORS]
        if table == "normal":
            few = X[:, :10]
            pairs += [((DPAdditiveClassifier(**GIVEN), HistGradientBoostingClassifier()), y),
                      ((DPAdditiveRegressor(**GIVEN), HistGradientBoostingRegressor()), counts)]
        for (ours, theirs), targets in pairs:
            rows = few if "Additive" in type(ours).__name__ else X
            if hasattr(ours, "target_bounds"):
                ours.set_params(target_bounds=(0.0, float(targets.max())))
            found, wanted = fastest(partial(ours.fit, rows, targets),
                                    partial(theirs.fit, rows, targets), repeats=REPEATS)
            yield (f"| {table} | {type(ours).__name__} | {type(theirs).__name__} | {found:.3f} | "
                   f"{wanted:.3f} | {found / wanted:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    lines = ["| table | here | scikit-learn | seconds | scikit-learn's | ratio |",
             "|" + "---|" * 6]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in measure():
            print(line, flush=True)
            lines.append(line)
    if output:
        put_tables(output, "\n".join(lines))


if __name__ == "__main__":
    main()
