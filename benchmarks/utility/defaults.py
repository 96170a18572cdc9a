"""Test metrics at default settings against the frontier that hand-tuning reaches.

    python benchmarks/utility/defaults.py [--output docs/results/defaults.md] [--seeds 10]

Only epsilon is set, and a small ridge for DPRidge: bounds on rows and targets are learnt, from
the same budget. The frontier was tuned on the test set over a grid of steps, clips and step
sizes, with and without a preconditioner, with bounds declared; the tuning was not charged.
"""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from dpsk import DPHuberRegressor, DPLinearRegression, DPLogisticRegression, DPRidge
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import put_tables

EPSILONS = (0.1, 0.5, 1.0, 2.0)
AUC_EPSILONS = (0.2, 0.5, 1.0, 2.0)
#: set -> the better of the plain and the preconditioned frontier at EPSILONS
FRONTIER = {
    "adult": (82.7, 84.6, 84.8, 84.8),
    "bank": (89.4, 89.8, 90.0, 90.2),
    "credit": (79.3, 81.3, 81.3, 81.5),
    "covtype_binary": (73.5, 76.0, 76.1, 76.1),
    "covtype": (69.0, 71.7, 71.7, 71.7),
    "mnist": (80.1, 88.6, 90.0, 91.0),
    "fashion_mnist": (71.9, 80.3, 82.4, 83.2),
}
#: set -> R2 to reach at EPSILONS, of every estimator of REGRESSORS
GOALS = {"wine": (0.13, 0.29, 0.31, 0.33), "bike": (0.42, 0.68, 0.69, 0.69)}
REGRESSORS = {
    "DPLinearRegression": DPLinearRegression,
    "DPRidge(alpha=1e-4)": partial(DPRidge, alpha=1e-4),
    "DPHuberRegressor": DPHuberRegressor,
}
#: set -> test AUC that a tuned prototype reached at AUC_EPSILONS
AUC = {
    "adult": (0.875, 0.890, 0.894, 0.895),
    "bank": (0.83, 0.888, 0.902, 0.905),
    "credit": (0.748, 0.754, 0.759, 0.763),
}


def metrics(name, epsilons, seeds, measure, make=DPLogisticRegression):
    """Return the metric at every epsilon and seed, shape (len(epsilons), seeds)."""
    X_train, X_test, y_train, y_test = load(name)

    def value(epsilon, seed):
        model = make(epsilon=epsilon, random_state=NoiseSeed(seed))
        return measure(model.fit(X_train, y_train), X_test, y_test)

    return np.array([[value(epsilon, seed) for seed in range(seeds)] for epsilon in epsilons])


def score(model, X, y):
    return model.score(X, y)


def auc(model, X, y):
    return roc_auc_score(y, model.decision_function(X))


def table(title, epsilons, rows):
    """Return lines of a markdown table; rows are (name, means, deviations, targets)."""
    yield from (f"## {title}", "", "| set | " + " | ".join(f"{e:g}" for e in epsilons) + " |",
                "|---" * (len(epsilons) + 1) + "|")
    for name, means, deviations, targets in rows:
        digits = 3 if np.max(means) <= 1 else 1
        cells = [f"{m:.{digits + 1}f} ± {d:.{digits + 1}f} ({m - t:+.{digits + 1}f})"
                 for m, d, t in zip(means, deviations, targets, strict=True)]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=[*FRONTIER, *GOALS])
    arguments = parser.parse_args()
    # Where bounds cannot be learnt, constants hold, and a warning says so.
    warnings.simplefilter("ignore", PrivacyWarning)
    rows, areas, gaps = [], [], []
    for name in arguments.sets:
        if name in GOALS:
            for kind, make in REGRESSORS.items():
                values = metrics(name, EPSILONS, arguments.seeds, score, make)
                rows.append((f"{name}, {kind}", values.mean(axis=1), values.std(axis=1),
                             GOALS[name]))
                print(*list(table(name, EPSILONS, rows[-1:]))[4:5], flush=True)
            continue
        seeds = min(3, arguments.seeds) if "mnist" in name else arguments.seeds
        values = 100.0 * metrics(name, EPSILONS, seeds, score)
        rows.append((f"{name} (3 seeds)" if "mnist" in name else name, values.mean(axis=1),
                     values.std(axis=1), FRONTIER[name]))
        gaps += list(values.mean(axis=1) - FRONTIER[name])
        print(*list(table(name, EPSILONS, rows[-1:]))[4:5], flush=True)
    for name in set(AUC) & set(arguments.sets):
        values = metrics(name, AUC_EPSILONS, arguments.seeds, auc)
        areas.append((name, values.mean(axis=1), values.std(axis=1), AUC[name]))
    lines = list(table("Test accuracy (%) or R2 by epsilon, difference from the better column of "
                   "the frontier", EPSILONS, rows))
    lines += [f"Mean difference over the accuracy cells: {np.mean(gaps):+.2f} points.", ""] \
        if gaps else []
    lines += table("Test AUC by epsilon, difference from a tuned prototype", AUC_EPSILONS,
                   sorted(areas, key=lambda row: row[0]))
    print("\n".join(lines))
    if arguments.output:
        put_tables(arguments.output, "\n".join(lines))


if __name__ == "__main__":
    main()
