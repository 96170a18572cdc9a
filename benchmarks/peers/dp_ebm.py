"""DP-EBM (InterpretML) on the raw tables of benchmarks/utility/additive.py.

    python -m benchmarks.peers.dp_ebm [--seeds 3] [--output docs/results/dp_ebm.md]

Needs interpret-core 0.7.8, in an environment of its own: dpsk is not imported. Its relation is
add/remove, under which the same noise claims a smaller epsilon than under replace-one, and without
`privacy_bounds` it takes the ranges of numbers and the categories from the rows, which its
guarantee does not cover: both are in its favor. Delta is 1/n^2 as for dpsk.
"""

import argparse
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from sklearn.metrics import r2_score, roc_auc_score

from benchmarks.datasets import load_table
from benchmarks.measuring import put_page

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
TABLES = ("adult", "bank", "credit", "bike", "wine")
REGRESSIONS = {"bike", "wine"}
#: Its defaults, and three other settings: fewer bins, fewer rounds, both.
SETTINGS = ({}, {"max_bins": 8}, {"max_rounds": 100}, {"max_bins": 8, "max_rounds": 100})
HEADER = """# Against DP-EBM on raw tables

AUC of classifiers (Adult, Bank, Credit) and R2 of regressors (bike, wine) on the test set.

- Command: `python -m benchmarks.peers.dp_ebm`, interpret-core {version}, {today}. Mean over
  {seeds} seeds, delta 1/n^2.
- DP-EBM: at its defaults, and at the best of four settings chosen on the test set. It protects
  against adding or removing a row, and takes ranges and categories from the rows without privacy.
- dpsk: `DPAdditiveClassifier` and `DPAdditiveRegressor` [at their defaults](additive.md). They
  protect against replacing a row, and nothing about the rows is declared.

| table | epsilon | DP-EBM, defaults | DP-EBM, best of four | dpsk | seconds of a fit, DP-EBM |
|---|---|---|---|---|---|
"""


def fitted(name, epsilon, seed, settings):
    """Return the measure on test rows, and seconds of processor time."""
    X, X_test, y, y_test = load_table(name)
    kind = (DPExplainableBoostingRegressor if name in REGRESSIONS else
            DPExplainableBoostingClassifier)
    model = kind(epsilon=epsilon, delta=1 / len(X)**2, random_state=seed, n_jobs=1, **settings)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    if name in REGRESSIONS:
        return r2_score(y_test, model.predict(X_test)), seconds
    return roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]), seconds


def ours(page):
    """Return {(table, epsilon): what the page of additive models shows}."""
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines()
            if line.startswith("| ")]
    return {(name, epsilon): value.split(" ")[0] for name, epsilon, value, *_ in rows}


def main():
    import interpret
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    known = ours(Path(__file__).parents[2] / "docs" / "results" / "additive.md")
    lines = []
    for name in args.tables:
        for epsilon in EPSILONS:
            found = np.array([[fitted(name, epsilon, seed, settings) for seed in range(args.seeds)]
                              for settings in SETTINGS])
            means = found[:, :, 0].mean(axis=1)
            lines.append(f"| {name} | {epsilon:g} | {means[0]:.4f} | {means.max():.4f} | "
                         f"{known[name, f'{epsilon:g}']} | {np.median(found[0, :, 1]):.1f} |")
            print(lines[-1], flush=True)
    if args.output:
        header = HEADER.format(today=date.today(), version=interpret.__version__,
                               seeds=args.seeds)
        put_page(args.output, header + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
