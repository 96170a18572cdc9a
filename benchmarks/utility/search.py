"""A private search against default settings and against a budget that is split over a grid.

    python benchmarks/utility/search.py [--output docs/results/search.md] [--seeds 3]

All three spend the same total epsilon, delta = 1/n^2. The search draws strength of the penalty,
clip norm, steps and solver from a list; the even split fits every setting of it at an equal share
of mu^2, scores each under noise at the same share, and keeps the best. Numbers are of the test
part, which nothing was chosen by.
"""

import argparse
import math
import sys
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from sklearn.model_selection import ParameterGrid

from dpsk import DPLogisticRegression, DPRandomizedSearchCV, DPRidge
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk.accounting import Gaussian, epsilon
from dpsk.exceptions import PrivacyWarning

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import put_page

SETS = ("wine", "bike", "bank", "adult", "covtype_binary")
EPSILONS = (1.0, 4.0)
MEAN_RUNS = 20
#: Squared errors of targets in [-1, 1] are cut off at it: less noise hides a row in their mean.
SCORE_BOUND = 0.25
REGRESSIONS = ("wine", "bike")


def model(name, **params):
    """Return the estimator of a set."""
    if name in REGRESSIONS:
        return DPRidge(**{"alpha": 1e-4, "target_bounds": (-1.0, 1.0), **params})
    return DPLogisticRegression(**params)


def by_default(name, rows, total):
    """Return the score of default settings at the whole budget."""
    X, X_test, y, y_test = rows
    return model(name, epsilon=total).fit(X, y).score(X_test, y_test)


def by_search(name, rows, total):
    """Return the score of the best of a secret number of runs."""
    X, X_test, y, y_test = rows
    found = DPRandomizedSearchCV(model(name, solver="gd"), settings_of(name), epsilon=total,
                                 n_iter=MEAN_RUNS, score_bound=(
                                     SCORE_BOUND if name in REGRESSIONS else None)).fit(X, y)
    return found.best_estimator_.score(X_test, y_test)


def by_even_split(name, rows, total):
    """Return the score of the best of a grid, of which each setting has its share."""
    X, X_test, y, y_test = rows
    n, held = len(y), len(y) // 5
    rng = np.random.default_rng()
    order = rng.permutation(n)
    train, hold_out = order[held:], order[:held]
    settings = list(ParameterGrid(settings_of(name)))
    # Training and hold-out rows are disjoint: a fit and its score cost a row one of the two.
    mu = gaussian_mu(total, n**-2.0) / math.sqrt(len(settings))
    one = epsilon(Gaussian(mu), n**-2.0)
    best = None
    for params in settings:
        fitted = model(name, **params, epsilon=one, delta=n**-2.0)
        fitted.fit(X[train], y[train])
        if name in REGRESSIONS:
            loss = np.minimum((fitted.predict(X[hold_out]) - y[hold_out]) ** 2 / SCORE_BOUND, 1)
        else:
            loss = fitted.predict(X[hold_out]) != y[hold_out]
        score = loss.mean() + rng.normal() / (held * mu)
        if best is None or score < best[0]:
            best = score, fitted
    return best[1].score(X_test, y_test)


def settings_of(name):
    """Return the settings that search and even split share, the defaults among them."""
    alphas = [1e-4, 1e-3] if name in REGRESSIONS else [0.0, 1e-4]
    return [{"solver": ["gd"], "alpha": alphas, "clip_norm": [None, 0.1], "max_iter": [None, 10]},
            {"solver": ["sufficient_statistics" if name in REGRESSIONS else "newton"],
             "alpha": alphas}]


WAYS = {"defaults": by_default, "search": by_search, "even split": by_even_split}


def row(name, total, seeds):
    """Return the line of a set and a total, one mean and standard deviation a way."""
    rows = load(name)
    cells = []
    for make in WAYS.values():
        scores = [100 * make(name, rows, total) for _ in range(seeds)]
        cells.append(f"{np.mean(scores):.2f} ± {np.std(scores):.2f}")
    return f"| {name} | {total:g} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    lines = ["# Hyperparameter search: a private search against defaults "
             f"({date.today()})", "",
             f"Test accuracy, or R2, in %, mean ± standard deviation of {args.seeds} repetitions, "
             f"all at the same total epsilon and delta = 1/n². The search makes {MEAN_RUNS} runs "
             "on average; the even split has "
             f"{len(ParameterGrid(settings_of(SETS[0])))} settings.", "",
             "| set | epsilon | " + " | ".join(WAYS) + " |", "|---|---|" + "---|" * len(WAYS)]
    for name in SETS:
        for total in EPSILONS:
            lines.append(row(name, total, args.seeds))
            print(lines[-1], flush=True)
            if args.output:
                put_page(args.output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
