"""Excess log loss of Newton's method beside descent, on tables and on the same repeated.

    python -m benchmarks.utility.newton [--seeds 10] [--repeated-seeds 3] [--output FILE]

Rows are shortened to the 90 % quantile of their norms, which is the declared bound, so that the
minimum is that of the rows that both methods see; delta is 1/n^2. Descent has its temperature.
"""

import argparse
import time
import warnings
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load
from benchmarks.measuring import put_page
from dpsk import DPLogisticRegression
from dpsk.testing import NoiseSeed

SETS = ("adult", "bank", "credit", "covtype_binary")
EPSILONS = (0.5, 1.0, 4.0)
REPEATED = 10**6


def table(name):
    """Return rows of norm at most 1 and labels."""
    X, _, y, _ = load(name)
    norms = np.linalg.norm(X, axis=1)
    bound = np.quantile(norms, 0.9)
    return X * (np.minimum(1.0, bound / norms) / bound)[:, None], y


def log_loss(model, X, y):
    z = model.decision_function(X)
    return float(np.mean(np.logaddexp(0.0, z) - y * z))


def measured(fit, seeds):
    """Return the losses of fits and the seconds of one."""
    start = time.perf_counter()
    found = np.array([fit(random_state=NoiseSeed(seed)) for seed in range(seeds)])
    return found, (time.perf_counter() - start) / seeds


def lines_of(name, copies, seeds):
    """Yield the lines of a table, its rows repeated `copies` times."""
    X, y = table(name)
    least = log_loss(DPLogisticRegression(np.inf, data_norm=2.0, alpha=1e-9).fit(X, y), X, y)
    rows, targets = np.tile(X, (copies, 1)), np.tile(y, copies)

    def fit(epsilon, solver, random_state):
        model = DPLogisticRegression(epsilon, solver=solver, data_norm=1.0,
                                     random_state=random_state).fit(rows, targets)
        return log_loss(model, X, y) - least

    for epsilon in EPSILONS:
        cells, seconds = [], {}
        for solver in ("gd", "newton"):
            excess, seconds[solver] = measured(partial(fit, epsilon, solver), seeds)
            cells.append(f"{1e4 * excess.mean():.1f} ± {1e4 * excess.std() / seeds**0.5:.1f}")
        taken = DPLogisticRegression(epsilon, data_norm=1.0).fit(rows, targets).privacy_.solver
        yield (f"| {name} | {len(rows)} | {X.shape[1]} | {epsilon:g} | {' | '.join(cells)} | "
               f"{seconds['gd'] / seconds['newton']:.1f} | {taken} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeated-seeds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    lines = ["# Newton's method against gradient descent", "",
             f"Excess log loss times 1e4, {date.today()}. Mean ± standard error of {given.seeds} "
             f"fits ({given.repeated_seeds} of tables whose rows are repeated to about 1e6). Rows "
             "are shortened to their declared 90 % quantile; delta 1/n^2. Faster: time of \"gd\" "
             "over \"newton\", one BLAS thread. Taken: by \"auto\".", "",
             "| set | n | columns | epsilon | gd | newton | faster | taken |", "|" + "---|" * 8]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for repeated, seeds in ((False, given.seeds), (True, given.repeated_seeds)):
            for name in SETS:
                copies = -(-REPEATED // len(table(name)[0])) if repeated else 1
                for line in lines_of(name, copies, seeds):
                    print(line, flush=True)
                    lines.append(line)
    if given.output:
        put_page(given.output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
