"""What DPPCA captures of the variance, and what it is worth before DPLogisticRegression.

    python -m benchmarks.utility.pca [--seeds 5] [--output docs/results/pca.md]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.datasets import load
from benchmarks.measuring import put_tables
from dpsk import DPPCA, DPLogisticRegression, make_dp_pipeline
from dpsk.testing import NoiseSeed

EPSILONS, COMPONENTS = (0.1, 1.0, 4.0), (5, 10, 20)


def captured(components, moment):
    """Return the variance in some directions over the most that as many can have."""
    basis, _ = np.linalg.qr(components.T)
    most = np.linalg.eigvalsh(moment)[-len(components):].sum()
    return float(np.trace(basis.T @ moment @ basis) / most)


def subspaces(X, seeds):
    """Yield (epsilon, [captured of every number of components], directions that are clear)."""
    moment = np.cov(X, rowvar=False)
    for epsilon in EPSILONS:
        found = []
        for seed in range(seeds):
            pca = DPPCA(epsilon, n_components=None, random_state=NoiseSeed(seed)).fit(X)
            directions = pca.components_.astype(np.float64)
            found.append([*(captured(directions[:k], moment) for k in COMPONENTS),
                          np.count_nonzero(pca.explained_variance_)])
        yield epsilon, np.mean(found, axis=0)


def accuracies(splits):
    """Yield (epsilon, model, accuracies) of three models on some splits of ten classes."""
    models = {
        "alone": lambda epsilon: DPLogisticRegression(epsilon, classes=range(10)),
        "after DPPCA()": lambda epsilon: make_dp_pipeline(
            DPPCA(), DPLogisticRegression(classes=range(10)), epsilon=epsilon),
        "after it, precondition=False": lambda epsilon: make_dp_pipeline(
            DPPCA(), DPLogisticRegression(classes=range(10), precondition=False),
            epsilon=epsilon)}
    for epsilon in EPSILONS:
        for name, make in models.items():
            yield epsilon, name, [make(epsilon).fit(A, a).score(B, b) for A, B, a, b in splits]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("docs/results/pca.md"))
    options = parser.parse_args()
    lines = ["| rows | epsilon | " + " | ".join(f"{k} components" for k in COMPONENTS)
             + " | directions not hidden |", "|---" * (3 + len(COMPONENTS)) + "|"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X in (("digits", load_digits().data), ("MNIST", load("mnist")[0])):
            for epsilon, found in subspaces(X, options.seeds):
                cells = " | ".join(f"{each:.3f}" for each in found[:-1])
                lines.append(f"| {name}, {len(X)} x {X.shape[1]} | {epsilon:g} | {cells} | "
                             f"{found[-1]:.0f} |")
                print(lines[-1], flush=True)
        digits = load_digits(return_X_y=True)
        tables = {"digits, 1347 rows": [
            train_test_split(*digits, test_size=0.25, random_state=seed)
            for seed in range(2 * options.seeds)], "MNIST, 60000 rows": [load("mnist")]}
        lines += ["", "Accuracy of DPLogisticRegression on test parts, with standard errors:", "",
                  "| rows | epsilon | model | accuracy |", "|---|---|---|---|"]
        for rows, splits in tables.items():
            for epsilon, name, found in accuracies(splits):
                error = f" ± {np.std(found) / np.sqrt(len(found)):.3f}" if len(found) > 1 else ""
                lines.append(f"| {rows} | {epsilon:g} | {name} | {np.mean(found):.3f}{error} |")
                print(lines[-1], flush=True)
    put_tables(options.output, "\n".join(lines))


if __name__ == "__main__":
    main()
