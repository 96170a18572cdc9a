"""Accuracy and speed on Adult beside diffprivlib, each at its defaults, in one environment.

    python benchmarks/peers/diffprivlib_adult.py [--output docs/results/diffprivlib.md]

Needs diffprivlib 0.6.6, which imports under scikit-learn 1.6 but not under newer ones, so give it
an environment of its own. It offers pure epsilon; dpsk runs at delta = 1/n² by default, and at
delta = 0 in a column of its own. Row norms are bounded by 1 in both. Times are also taken on
rows as they are, whose declared bounds imply a norm of at most sqrt(14) for both.
"""

import argparse
import sys
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from diffprivlib.models import LogisticRegression
from threadpoolctl import threadpool_limits

from dpsk import DPLinearRegression, DPLogisticRegression
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import put_page

EPSILONS = (0.1, 0.5, 1.0, 2.0)
SEEDS = 10
REPEATS = 15
LONGEST = 14**0.5


def theirs(epsilon, seed):
    return LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed)


def ours(epsilon, seed):
    return DPLogisticRegression(epsilon, random_state=NoiseSeed(seed))


def ours_pure(epsilon, seed):
    return DPLogisticRegression(epsilon, delta=0.0, random_state=NoiseSeed(seed))


def normed(X):
    """Scale long rows to norm 1, as both libraries do in training."""
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))


def classification():
    """Yield (epsilon, mean accuracy of each library)."""
    X_train, X_test, y_train, y_test = load("adult")
    X_train, X_test = normed(X_train), normed(X_test)
    for epsilon in EPSILONS:
        yield epsilon, *(np.mean([100 * make(epsilon, seed).fit(X_train, y_train)
                                  .score(X_test, y_test) for seed in range(SEEDS)])
                         for make in (theirs, ours, ours_pure))


def seconds(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def speed():
    """Yield (epsilon, theirs / ours on rows of norm 1, the same on rows as they are)."""
    X, _, y, _ = load("adult")
    for epsilon in EPSILONS:
        ratios = []
        for rows, norm in ((normed(X), 1.0), (X, LONGEST)):
            models = [kind(epsilon=epsilon, data_norm=norm)
                      for kind in (LogisticRegression, DPLogisticRegression)]
            times = [[seconds(model, rows, y) for model in models] for _ in range(REPEATS)]
            ratios.append(np.divide(*np.min(times, axis=0)))
        yield epsilon, *ratios


def hours():
    """Yield (epsilon, mean test R2) of linear regression on hours per week."""
    X_train, X_test, y_train, y_test = load("adult_hours")
    for epsilon in EPSILONS:
        values = [DPLinearRegression(epsilon, target_bounds=(1, 99), random_state=NoiseSeed(seed))
                  .fit(X_train, y_train).score(X_test, y_test) for seed in range(SEEDS)]
        yield epsilon, np.mean(values), np.std(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    lines = ["# Against diffprivlib 0.6.6 on Adult", "",
             "Mean test accuracy (%), each library at its defaults. diffprivlib guarantees pure "
             "epsilon; dpsk has delta 1/n² unless it says 0.", "",
             f"- {date.today()}. Seeds 0 to {SEEDS - 1}, one thread.", "",
             "| epsilon | diffprivlib | dpsk | dpsk, delta = 0 |", "|---|---|---|---|"]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines += [f"| {epsilon:g} | {a:.1f} | {b:.1f} | {c:.1f} |"
                  for epsilon, a, b, c in classification()]
        lines += ["", f"Time of diffprivlib over that of dpsk, least of {REPEATS} interleaved "
                  "fits each, float64:", "",
                  "| epsilon | rows of norm at most 1 | rows as they are, data_norm = 3.74 |",
                  "|---|---|---|"]
        lines += [f"| {epsilon:g} | {a:.1f} | {b:.1f} |" for epsilon, a, b in speed()]
        lines += ["", "`DPLinearRegression` on hours per week (bounds 1 to 99), test R2:", "",
                  "| epsilon | R2 | std |", "|---|---|---|"]
        lines += [f"| {epsilon:g} | {mean:.3f} | {std:.3f} |" for epsilon, mean, std in hours()]
    print("\n".join(lines))
    if output:
        put_page(output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
