"""What `solver="auto"` takes for least squares, beside every other solver: R2 on test rows.

    python benchmarks/paper/auto_squares.py [--seeds 10]

The lines are a section of docs/results/auto_choice.md. Every solver has its defaults; bounds are
learnt, or declared as those of the training rows. A solver that is far behind "auto" after its
first fits gets no more of them.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dpsk import DPLinearRegression, DPRidge
from dpsk._solvers import SOLVERS
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load

TABLES = ("wine", "bike", "adult_hours")
ESTIMATORS = {"no penalty": (DPLinearRegression, {}), "alpha 1e-4": (DPRidge, {"alpha": 1e-4}),
              "alpha 0.01": (DPRidge, {"alpha": 0.01})}
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
#: Fits after which a solver is given up, and by how much it is behind then.
FIRST, BEHIND = 3, 0.1


def cells():
    """Yield names of cells, and functions from solver and seed to R2 and the solver taken."""
    for name in TABLES:
        split = load(name)
        X, _, y, _ = split
        bounds = {"data_norm": float(np.linalg.norm(X, axis=1).max()),
                  "target_bounds": (float(y.min()), float(y.max()))}
        for how, given in (("learnt", {}), ("declared", bounds)):
            for kind, (cls, params) in ESTIMATORS.items():
                for epsilon in EPSILONS:
                    yield (f"{name}, {kind}, {how}, epsilon {epsilon:g}",
                           fitted(cls, epsilon, {**params, **given}, split))


def fitted(cls, epsilon, params, split):
    """Return the function of a cell."""
    X, X_test, y, y_test = split

    def fit(solver, seed):
        model = cls(epsilon, solver=solver, random_state=NoiseSeed(seed), **params).fit(X, y)
        return model.score(X_test, y_test), model.privacy_.solver

    return fit


def measured(fit, seeds):
    """Return the scores by solver, and the name that "auto" stands for."""
    answers = [fit("auto", seed) for seed in range(seeds)]
    taken = answers[0][1]
    scores = {taken: np.array([score for score, _ in answers])}
    for solver in SOLVERS:
        values = []
        for seed in range(seeds if solver != taken else 0):
            try:
                values.append(fit(solver, seed)[0])
            except ValueError:
                break  # the solver does not take this problem
            if len(values) == FIRST and np.mean(values) < scores[taken].mean() - BEHIND:
                break
        if values:
            scores[solver] = np.array(values)
    return scores, taken


def row(name, scores, taken):
    """Return the line of a cell, and by how much "auto" is behind the best."""
    order = sorted(scores, key=lambda solver: -scores[solver].mean())
    gap = scores[order[0]].mean() - scores[taken].mean()
    error = scores[taken].std(ddof=1) / np.sqrt(len(scores[taken]))
    others = [solver for solver in order if solver != taken][:3]
    shown = ", ".join(f"{solver} {scores[solver].mean():.3f}" for solver in others)
    return (f"| {name} | {taken} | {scores[taken].mean():.3f} ± {error:.3f} | {order[0]} | "
            f"{gap:.3f} | {shown} |"), gap


def section(seeds):
    """Return the lines of the section."""
    lines, gaps = [], []
    for name, fit in cells():
        line, gap = row(name, *measured(fit, seeds))
        print(line, flush=True)
        lines.append(line)
        gaps.append(gap)
    gaps = np.array(gaps)
    return ["", "## Least squares", "",
            f"R2 on test rows, mean ± standard error of {seeds} fits; bounds learnt, or declared "
            "as those of the training rows. Behind: of \"auto\" to the best solver. At most 0.01: "
            f"{np.mean(gaps <= 0.01):.0%} of {len(gaps)} cells (goal: 90 %). Largest: "
            f"{gaps.max():.3f}.", "",
            "| cell | auto | its R2 | best | behind | others |", "|" + "---|" * 6, *lines]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print("\n".join(section(parser.parse_args().seeds)))
