"""Excess risks that `plan_privacy` predicts for raw tables, with those that were measured.

    python -m benchmarks.utility.plans [--fits 10] [--output docs/results/tables/plans.csv]

The measured risk is the log loss of an additive model without pairs on the test set, less that of
the same model at an infinite epsilon. Constants of the plan were chosen on the first five tables,
of Adult and Credit. The next five judge them, and three more that played no part.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from benchmarks.datasets import load_table
from dpsk import DPAdditiveClassifier, plan_privacy

EPSILONS = (0.5, 1.0, 4.0)
#: Names and numbers of training rows of the tables that constants were chosen on, and of others.
TABLES = {
    "chosen on": (("adult", 15_000), ("adult", 10_000), ("adult", 3000), ("credit", 20_000),
                  ("credit", 5000)),
    "judged on": (("bank", 20_000), ("bank", 12_000), ("bank", 3000), ("breast_cancer", None),
                  ("covtype_10000", None)),
    "further": (("wine", None), ("bike", None), ("digits", 1300))}
#: Targets of the second class of tables of numbers.
_ABOVE = {"wine": 0.1, "bike": -0.7}


def table(name, n):
    """Return the split of a table with two classes."""
    if name == "digits":
        X, y = load_digits(return_X_y=True, as_frame=True)
        order, y = np.random.default_rng(0).permutation(len(X)), (y >= 5).to_numpy()
        X, y = X.iloc[order].reset_index(drop=True), y[order]
        return X[:n], X[n:].reset_index(drop=True), y[:n].astype(int), y[n:].astype(int)
    X, X_test, y, y_test = load_table(name)[:4]
    y, y_test = (np.asarray(each > _ABOVE[name] if name in _ABOVE else each).astype(int)
                 for each in (y, y_test))
    return X[:n], X_test, y[:n], y_test


def losses(epsilon, split, fits):
    """Return the log losses of fits on the test set."""
    X, X_test, y, y_test = split
    return np.array([log_loss(y_test, DPAdditiveClassifier(epsilon, interactions=0).fit(
        X, y).predict_proba(X_test)) for _ in range(fits)])


def main():
    """Print the table and how often predictions and ranges held, and write the table to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    lines, held = ["tables,table,rows,epsilon,predicted,low,high,measured,standard error"], []
    print(lines[0])
    for kind, tables in TABLES.items():
        for name, n in tables:
            split = table(name, n)
            X, (least,) = split[0], losses(np.inf, split, 1)
            columns = {column: "numbers" if X[column].dtype.kind in "iuf" else X[column].nunique()
                       for column in X}
            for epsilon in EPSILONS:
                plan = plan_privacy(len(X), columns, epsilon=epsilon)
                (risk,), ((low, high),) = plan.excess_risk, plan.excess_risk_range
                found = losses(epsilon, split, given.fits) - least
                error = found.std(ddof=1) / np.sqrt(len(found))
                held.append((kind, epsilon, risk / 1.5 <= found.mean() <= 1.5 * risk,
                             low <= found.mean() <= high))
                lines.append(f"{kind},{name},{len(X)},{epsilon:g},{risk:.4f},{low:.4f},{high:.4f},"
                             f"{found.mean():.4f},{error:.4f}")
                print(lines[-1], flush=True)
    for kind in TABLES:
        for epsilon in EPSILONS:
            close, inside = zip(*[one[2:] for one in held if one[:2] == (kind, epsilon)],
                                strict=True)
            print(f"{kind}, epsilon {epsilon:g}: within 1.5 {sum(close)}, in the range "
                  f"{sum(inside)}, of {len(close)}")
    if given.output:
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
