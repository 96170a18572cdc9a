"""Train on a small medical table at several epsilons, beside a non-private model.

Prints the privacy certificate of one fit and a table of test accuracy, and saves a picture
of the curve to demo_output/.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPLogisticRegression

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Round upper ends of what such measurements come to, declared beforehand: bounds read from
# the table would be data. The first ten are means, then standard errors, then worst values.
UPPER = np.array([20, 30, 140, 1500, 0.15, 0.3, 0.35, 0.17, 0.3, 0.1,
                  1.5, 3, 10, 150, 0.02, 0.08, 0.12, 0.03, 0.04, 0.01,
                  28, 40, 180, 2500, 0.2, 0.8, 0.8, 0.25, 0.5, 0.15])
# No row of that many entries in [-1, 1] is longer; so few rows are not enough to learn a bound.
LONGEST = np.sqrt(len(UPPER))
EPSILONS = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
FITS = 20


def scale(X):
    """Map [0, UPPER] to [-1, 1], clipping what lies beyond."""
    return np.clip(2 * X / UPPER - 1, -1, 1)


def private(epsilon):
    return DPLogisticRegression(epsilon=epsilon, data_norm=LONGEST)


def pipeline(classifier):
    return make_pipeline(FunctionTransformer(scale), classifier)


def accuracies(X_train, X_test, y_train, y_test):
    """Return test accuracies, shape (len(EPSILONS), FITS): the noise differs in every fit."""
    return np.array([[pipeline(private(epsilon)).fit(X_train, y_train).score(X_test, y_test)
                      for _ in range(FITS)] for epsilon in EPSILONS])


def draw(means, deviations, plain, majority, path):
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.errorbar(EPSILONS, means, yerr=deviations, marker="o", capsize=3,
                  label="DPLogisticRegression (mean and standard deviation)")
    axes.axhline(plain, color="k", linestyle="--", label="LogisticRegression, not private")
    axes.axhline(majority, color="k", linestyle=":", label="majority class")
    axes.set(xscale="log", xlabel="epsilon (smaller is more private)", ylabel="test accuracy",
             title="Breast cancer, delta = 1/n²")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.legend(loc="center right", fontsize="small")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)


def main():
    X, y = load_breast_cancer(return_X_y=True)
    split = train_test_split(X, y, test_size=0.25, random_state=0)
    X_train, X_test, y_train, y_test = split

    fitted = pipeline(private(1.0)).fit(X_train, y_train)
    print(fitted[-1].privacy_)

    plain = pipeline(LogisticRegression()).fit(X_train, y_train).score(X_test, y_test)
    majority = max(np.mean(y_test), 1 - np.mean(y_test))
    scores = accuracies(*split)
    means, deviations = scores.mean(axis=1), scores.std(axis=1)
    print(f"\nTest accuracy on breast cancer, {len(y_train)} training rows, {FITS} fits each:\n")
    print(f"{'epsilon':>12} {'accuracy':>9} {'std':>6}")
    for epsilon, mean, deviation in zip(EPSILONS, means, deviations, strict=True):
        print(f"{epsilon:>12g} {mean:>9.3f} {deviation:>6.3f}")
    print(f"{'not private':>12} {plain:>9.3f}\n{'majority':>12} {majority:>9.3f}")

    path = Path("demo_output") / "accuracy_against_epsilon.png"
    draw(means, deviations, plain, majority, path)
    print(f"\nThe curve is in {path}")


if __name__ == "__main__":
    main()
