"""Gradient boosting of raw tables, beside the additive models that it starts from.

    python -m benchmarks.utility.boosting [--seeds 5] [--output docs/results/boosting.md]

Both have the whole budget, and everything by default; the same seeds, test set.
"""

import argparse
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

from benchmarks.datasets import load_table
from benchmarks.measuring import put_page
from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPGradientBoostingClassifier,
    DPGradientBoostingRegressor,
)
from dpsk.testing import NoiseSeed

EPSILONS = (0.5, 1.0, 4.0)
TABLES, REGRESSIONS = ("adult", "bank", "bike", "credit", "wine", "covtype_10000"), {
    "bike", "wine"}
HEADER = """# Gradient boosting of raw tables ({today})

| table | epsilon | additive | boosted | gained | `n_iter_` | seconds of a fit |
|---|---|---|---|---|---|---|
"""
FOOTER = """
Command: `python -m benchmarks.utility.boosting`. Test set, delta 1/n^2, AUC or R2 (bike and wine);
both models have the whole budget, defaults and the same {seeds} seeds. `n_iter_` 1: the additive
model is all there is.
"""


def measured(cls, epsilon, seed, split):
    """Return a fitted model, its AUC or R2, and the seconds of its fit."""
    X, X_test, y, y_test = split
    model = cls(epsilon, random_state=NoiseSeed(seed))
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    if hasattr(model, "classes_"):
        return model, roc_auc_score(y_test, model.decision_function(X_test)), seconds
    return model, r2_score(y_test, model.predict(X_test)), seconds


def line(name, epsilon, seeds):
    """Return a row of the table."""
    split, found = load_table(name), []
    pair = (DPAdditiveRegressor, DPGradientBoostingRegressor) if name in REGRESSIONS else (
        DPAdditiveClassifier, DPGradientBoostingClassifier)
    for seed in range(seeds):
        (_, plain, _), (model, boosted, seconds) = (
            measured(cls, epsilon, seed, split) for cls in pair)
        found.append((plain, boosted, boosted - plain, seconds))
    plain, boosted, gained, seconds = np.mean(found, axis=0)
    error = np.std(found, axis=0, ddof=1)[2] / np.sqrt(seeds)
    return (f"| {name} | {epsilon:g} | {plain:.4f} | {boosted:.4f} | "
            f"{gained:+.4f} ± {error:.4f} | {model.n_iter_} | {seconds:.1f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name in args.tables:
        for epsilon in EPSILONS:
            lines.append(line(name, epsilon, args.seeds))
            print(lines[-1], flush=True)
    if args.output:
        put_page(args.output, HEADER.format(today=date.today()) + "\n".join(lines) + "\n"
                               + FOOTER.format(seeds=args.seeds))


if __name__ == "__main__":
    main()
