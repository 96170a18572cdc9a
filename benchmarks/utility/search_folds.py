"""A search by K folds, at their privacy cost, against a search by one split.

    python benchmarks/utility/search_folds.py [--repetitions 12]

A row is in K - 1 trainings of every candidate and scored once, so that K - 1 fits and a score
share the mu^2 that one split has for either. The mean of the K models of the best candidate is
kept.
"""

import argparse
import math
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import ParameterGrid

from dpsk import DPLogisticRegression
from dpsk.accounting import Gaussian, epsilon
from dpsk.exceptions import PrivacyWarning
from dpsk.model_selection._plan import search_plan

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load

CELLS = (("bank", 3000, 1.0), ("bank", 3000, 4.0), ("adult", 3000, 1.0), ("adult", 3000, 4.0),
         ("covtype_binary", 8000, 1.0))
MEAN_RUNS, OF_SCORE = 8, 0.1
SETTINGS = list(ParameterGrid({"alpha": [0.0, 1e-3, 1e-2, 1e-1], "clip_norm": [None, 0.1],
                               "max_iter": [None, 10]}))


def searched(X, y, mu, delta, n_folds, n_runs, rng):
    """Return the models of the best of so many candidates; one split for one fold."""
    order = rng.permutation(len(y))
    folds = np.array_split(order, n_folds) if n_folds > 1 else [order[:len(y) // 5]]
    shares = ((1.0 - OF_SCORE) / (n_folds - 1), OF_SCORE) if n_folds > 1 else (1.0, 1.0)
    of_fit, of_score = (mu * math.sqrt(share) for share in shares)
    best = None
    for _ in range(n_runs):
        params, models, right = SETTINGS[rng.integers(len(SETTINGS))], [], 0
        for fold in folds:
            train = np.setdiff1d(order, fold)
            models.append(DPLogisticRegression(
                epsilon(Gaussian(of_fit), delta), delta=delta, solver="gd", classes=[0, 1],
                **params).fit(X[train], y[train]))
            right += (models[-1].predict(X[fold]) == y[fold]).sum()
        score = (right + rng.normal() / of_score) / sum(map(len, folds))
        if best is None or score > best[0]:
            best = score, models
    return best[1]


def accuracy(models, X, y):
    """Return by how many of 100 rows the mean of models is right."""
    decisions = np.mean([model.decision_function(X) for model in models], axis=0)
    return 100.0 * np.mean((decisions > 0.0) == y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=12)
    repetitions = parser.parse_args().repetitions
    warnings.simplefilter("ignore", PrivacyWarning)
    rng = np.random.default_rng(0)
    print("| set | rows | epsilon | one split | 2 folds | 5 folds |\n|---|---|---|---|---|---|")
    for name, n, total in CELLS:
        X, X_test, y, y_test = load(name)[:4]
        y, y_test = ((each == np.max(y)).astype(int) for each in (y, y_test))
        delta = n**-2.0
        mu = search_plan(total, delta, MEAN_RUNS, n, 1, gaussian=True,
                         disclosed=0.0).event.event.mu
        found = {n_folds: [] for n_folds in (1, 2, 5)}
        for _ in range(repetitions):
            rows, n_runs = rng.permutation(len(y))[:n], int(rng.geometric(1.0 / MEAN_RUNS))
            for n_folds, each in found.items():
                each.append(accuracy(searched(X[rows], y[rows], mu, delta, n_folds, n_runs, rng),
                                     X_test, y_test))
        cells = [f"{np.mean(each):.1f} ± {np.std(each) / math.sqrt(repetitions):.1f}"
                 for each in found.values()]
        print(f"| {name} | {n} | {total:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
