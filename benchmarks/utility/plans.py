"""Excess risks that `plan_privacy` predicts for raw tables, beside those that were measured.

    python -m benchmarks.utility.plans [--seeds 2]

The measured risk is the log loss of an additive model without pairs on the test set, less that of
the same model at epsilon 1000.
"""

import argparse

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.datasets import load_table
from dpsk import DPAdditiveClassifier, plan_privacy

EPSILONS = (0.5, 1.0, 4.0)
TABLES = (("adult", 15_000), ("adult", 10_000), ("adult", 3000), ("bank", 20_000),
          ("bank", 12_000), ("bank", 3000), ("credit", 20_000), ("credit", 5000),
          ("breast_cancer", None), ("covtype_10000", None))


def losses(epsilon, X, y, X_test, y_test, seeds):
    """Return the mean log loss on the test set."""
    return np.mean([log_loss(y_test, DPAdditiveClassifier(epsilon, interactions=0).fit(
        X, y).predict_proba(X_test)) for _ in range(seeds)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = parser.parse_args().seeds
    print("| table | rows | epsilon | predicted | measured |\n|---|---|---|---|---|")
    for name, n in TABLES:
        X, X_test, y, y_test = load_table(name)[:4]
        X, y = X[:n], y[:n]
        least = losses(1000.0, X, y, X_test, y_test, 1)
        kinds = {column: "numbers" if X[column].dtype.kind in "iuf" else X[column].nunique()
                 for column in X}
        for epsilon in EPSILONS:
            (risk,) = plan_privacy(len(X), kinds, epsilon=epsilon).excess_risk
            found = losses(epsilon, X, y, X_test, y_test, seeds) - least
            print(f"| {name} | {len(X)} | {epsilon:g} | {risk:.4f} | {found:.4f} |", flush=True)


if __name__ == "__main__":
    main()
