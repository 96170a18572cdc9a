"""Models of people of several rows, with and without the clip of a person's average.

    python -m benchmarks.utility.group_clips [--output docs/results/group_clips.md]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from benchmarks.measuring import put_page
from benchmarks.utility.person_level import people
from dpsk import (
    DPHuberRegressor,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
)
from dpsk.testing import NoiseSeed

SEEDS, TRAINING, TEST = 5, 20000, 5000
HEADER = """# User-level privacy: two clips against one

By default dpsk clips each sample's gradient and each user's average of them. Accuracy or R2 (D2 of
Poisson) on test samples, mean over {seeds} seeds with the standard error. "Two" is the default.
"One clip" clips samples only, `solver_options={{"group_clip_norm": inf}}`.

- Command: `python -m benchmarks.utility.group_clips`. {n} synthetic samples of 20 features, users
  of 5 to 50 samples at random; `data_norm=1.5`, defaults otherwise.

| model | solver | precondition | epsilon 1, one clip | two | epsilon 4, one clip | two |
|---|---|---|---|---|---|---|
"""


def tables():
    """Return rows, and targets by kind."""
    rng, own = np.random.default_rng(0), np.random.default_rng(0)
    n = TRAINING + TEST
    X = own.normal(size=(n, 20)) @ np.diag(np.linspace(1, 0.1, 20))
    X /= np.sqrt((X**2).sum(1).mean())
    z = X @ own.normal(size=20)
    z /= z.std()
    numbers = np.clip((z + 0.5 * rng.normal(size=n)) / 3, -1, 1)
    scores = np.column_stack([z, X @ rng.normal(size=20) * 2, -z])
    labels = np.argmax(scores + 0.3 * rng.gumbel(size=(n, 3)), axis=1)
    counts = np.minimum(rng.poisson(np.exp(0.5 * z)), 5)
    signs = (z + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, {"numbers": numbers, "labels": labels, "counts": counts, "signs": signs}


MODELS = ((DPLinearRegression, "numbers", {}), (DPRidge, "numbers", {"alpha": 0.01}),
          (DPHuberRegressor, "numbers", {}),
          (DPPoissonRegressor, "counts", {"target_bounds": (0, 5)}),
          (DPLogisticRegression, "labels", {"classes": [0, 1, 2]}), (DPLinearSVC, "signs", {}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("docs/results/group_clips.md"))
    options = parser.parse_args()
    X, targets = tables()
    person, train, test = people(X[:TRAINING], False), slice(TRAINING), slice(TRAINING, None)
    lines = []
    for cls, kind, params in MODELS:
        for solver in ("gd", "sgd"):
            for precondition in ("auto", False):
                cells = []
                for epsilon in (1.0, 4.0):
                    for clip in (np.inf, None):
                        runs = [cls(epsilon, data_norm=1.5, solver=solver,
                                    precondition=precondition, random_state=NoiseSeed(seed),
                                    solver_options={"group_clip_norm": clip}, **params).fit(
                            X[train], targets[kind][train], groups=person).score(
                            X[test], targets[kind][test]) for seed in range(SEEDS)]
                        cells.append(f"{np.mean(runs):.3f} ± {np.std(runs) / SEEDS**0.5:.3f}")
                lines.append(f"| {cls.__name__} | {solver} | {precondition} | "
                             f"{' | '.join(cells)} |")
                print(lines[-1], flush=True)
    put_page(options.output, HEADER.format(seeds=SEEDS, n=TRAINING) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
