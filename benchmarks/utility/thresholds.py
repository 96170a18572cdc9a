"""What choices after the training bring: thresholds of two classes, and paths of a penalty.

    python benchmarks/utility/thresholds.py [--output table.md] [--seeds 5]

All spend the same total epsilon, delta = 1/n^2; thresholds 1, paths 1 and 4. Numbers are of the
test part, which nothing was chosen by.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn import metrics
from sklearn.base import clone

from dpsk import DPGridSearchCV, DPLogisticRegression, DPRidge, DPTunedThresholdClassifier
from dpsk.exceptions import PrivacyWarning
from dpsk.model_selection._split import holdout_size, split_rows

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import put_page

CLASSIFIED, REGRESSED = ("bank", "adult"), ("wine", "bike")
#: The share of the second class, as one who knows such tables would declare it.
SHARES = {"bank": 0.12, "adult": 0.24}
SCORES = {"accuracy": metrics.accuracy_score,
          "balanced_accuracy": metrics.balanced_accuracy_score, "f1": metrics.f1_score}
GRID = np.linspace(0.0, 1.0, 100)
ALPHAS = [1e-5, 1e-4, 1e-3, 1e-2]
#: Squared errors of targets in [-1, 1] are cut off at it.
SCORE_BOUND = 0.25


def thresholds(name, scoring, epsilon, seed):
    """Return the test scores of the ways to a threshold."""
    X, X_test, y, y_test = load(name)
    metric, model = SCORES[scoring], DPLogisticRegression(epsilon=epsilon)
    share = SHARES[name]
    plain = clone(model).fit(X, y)
    weighted = clone(model).set_params(class_weight={0: share, 1: 1 - share}).fit(X, y)
    tuned = DPTunedThresholdClassifier(model, epsilon=epsilon, scoring=scoring,
                                       random_state=seed).fit(X, y)
    # The same model with the threshold that is best on the same rows, without noise.
    _, held = split_rows(len(y), holdout_size(len(y), 0.2), seed)
    chances = tuned.predict_proba(X[held])[:, 1]
    exact = GRID[np.argmax([metric(y[held], chances >= each) for each in GRID])]
    return [metric(y_test, predicted) for predicted in (
        plain.predict(X_test), weighted.predict(X_test), tuned.predict(X_test),
        tuned.predict_proba(X_test)[:, 1] >= exact)]


def paths(name, epsilon, seed):
    """Return the test R2 of the ways to a penalty of least squares."""
    X, X_test, y, y_test = load(name)
    model = DPRidge(solver="sufficient_statistics", target_bounds=(-1.0, 1.0))
    given = {"epsilon": epsilon, "score_bound": SCORE_BOUND, "random_state": seed}
    fitted = (clone(model).set_params(epsilon=epsilon),
              DPGridSearchCV(model, {"alpha": ALPHAS}, **given),
              DPGridSearchCV(model, {}, post_params={"alpha": ALPHAS}, **given))
    return [getattr(each.fit(X, y), "best_estimator_", each).score(X_test, y_test)
            for each in fitted]


def line(names, make, seeds):
    """Return the line of a table: the mean and the deviation of every way."""
    found = 100 * np.array([make(seed) for seed in range(seeds)])
    cells = [f"{mean:.2f} ± {std:.2f}" for mean, std in zip(found.mean(0), found.std(0),
                                                            strict=True)]
    return f"| {' | '.join([*names, *cells])} |"


def main():
    """Print the tables, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    lines = ["| set | score | defaults, at .5 | class weights declared, at .5 | tuned | tuned "
             "without noise |", "|---|---|---|---|---|---|"]
    for name in CLASSIFIED:
        for scoring in SCORES:
            lines.append(line((name, scoring), lambda seed, name=name, scoring=scoring: thresholds(
                name, scoring, 1.0, seed), given.seeds))
            print(lines[-1], flush=True)
    lines += ["", "| set | epsilon | default alpha, all rows | alpha drawn, 4 runs on average | "
              "alpha path of one run |", "|---|---|---|---|---|"]
    for name in REGRESSED:
        for epsilon in (1.0, 4.0):
            lines.append(line((name, f"{epsilon:g}"), lambda seed, name=name, epsilon=epsilon: (
                paths(name, epsilon, seed)), given.seeds))
            print(lines[-1], flush=True)
    if given.output:
        put_page(given.output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
