"""Time of gradient boosting over that of scikit-learn's, side by side in one run.

    python benchmarks/speed/boosting.py [--rows 1000000]

Normal rows of 20 columns, one thread, process time, as many trees of both; and of trees on bins
alone (`init=None`), without the additive model that they start from by default.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from dpsk import DPGradientBoostingClassifier, DPGradientBoostingRegressor

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import fastest

N_COLUMNS, N_TREES = 20, 60


def lines(n_rows, repeats):
    """Yield the rows of the table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, N_COLUMNS))
    scores = X @ rng.standard_normal(N_COLUMNS) / np.sqrt(N_COLUMNS) + X[:, 0] * np.sin(X[:, 1])
    kinds = [(DPGradientBoostingClassifier, HistGradientBoostingClassifier, {},
              (scores + rng.logistic(size=n_rows) > 0).astype(int)),
             (DPGradientBoostingRegressor, HistGradientBoostingRegressor,
              {"target_bounds": (-5, 5)}, scores + rng.standard_normal(n_rows))]
    for ours, theirs, params, y in kinds:
        models = [ours(max_iter=N_TREES, init=init, **params) for init in (None, "additive")]
        models.append(theirs(max_iter=N_TREES, early_stopping=False))
        bare, whole, plain = fastest(*(
            lambda model=model, y=y: model.fit(X, y) for model in models), repeats=repeats)
        yield (f"| {ours.__name__} | {n_rows} | {bare:.2f} | {whole:.2f} | {plain:.2f} | "
               f"{bare / plain:.1f} | {whole / plain:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print("| model | rows | trees alone, s | default, s | scikit-learn, s | trees' ratio | "
          "default's ratio |\n" + "|---" * 7 + "|")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in lines(options.rows, options.repeats):
            print(line, flush=True)


if __name__ == "__main__":
    main()
