"""Worst-group accuracy and risk on Adult: DPGroupDROClassifier beside DPLogisticRegression.

    python -m benchmarks.utility.groups > docs/results/groups.md
"""

import numpy as np

from benchmarks.datasets import _adult_frame, load
from dpsk import DPLogisticRegression
from dpsk.robust import DPGroupDROClassifier

SEEDS = 10
EPSILON = 1.0
HEADER = """# Worst group on Adult

`python -m benchmarks.utility.groups`: test set, epsilon {epsilon:g}, delta 1/n^2, mean and
standard deviation over {seeds} seeds, defaults. Groups are known in training only, their labels
public, their shares counted under noise within the budget.

"Worst" is the group of least accuracy, or of greatest mean logistic loss, on the test set.
"""


def groupings():
    """Return {name: group of every row}, training rows first."""
    frame = _adult_frame()
    _, _, y_train, y_test = load("adult")
    sex = frame["sex"].str[0].to_numpy(str)
    race = frame["race"].where(frame["race"].isin(["White", "Black", "Asian-Pac-Islander"]),
                               "Other").str[0].to_numpy(str)
    label = np.concatenate([y_train, y_test]).astype(str)
    return {"sex x label": np.char.add(sex, label), "sex x race": np.char.add(sex, race)}


def measures(scores, y, groups):
    """Return accuracy and risk of all rows and of the worst group."""
    right = (scores > 0) == y
    losses = np.logaddexp(0.0, scores) - y * scores
    parts = [groups == group for group in np.unique(groups)]
    return (right.mean(), min(right[part].mean() for part in parts), losses.mean(),
            max(losses[part].mean() for part in parts))


def main():
    X_train, X_test, y_train, y_test = load("adult")
    print(HEADER.format(epsilon=EPSILON, seeds=SEEDS))
    print("| groups | model | accuracy | worst accuracy | risk | worst risk |")
    print("|---|---|---|---|---|---|")
    for name, groups in groupings().items():
        own, test = groups[:len(y_train)], groups[len(y_train):]
        fits = {
            "DPLogisticRegression": lambda seed: DPLogisticRegression(
                EPSILON, random_state=seed).fit(X_train, y_train),
            "DPGroupDROClassifier": lambda seed, own=own: DPGroupDROClassifier(
                EPSILON, random_state=seed).fit(X_train, y_train, groups=own)}
        for model, fit in fits.items():
            runs = np.array([measures(fit(seed).decision_function(X_test), y_test, test)
                             for seed in range(SEEDS)])
            cells = " | ".join(f"{mean:.4f} ± {spread:.4f}" for mean, spread in
                               zip(runs.mean(axis=0), runs.std(axis=0), strict=True))
            print(f"| {name} | {model} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
