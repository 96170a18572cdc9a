"""Naive Bayes and discriminants beside diffprivlib 0.6.6, test accuracy on five tables.

    python -m benchmarks.utility.naive_bayes [--seeds 10] [--output docs/results/naive_bayes.md]

Needs diffprivlib 0.6.6, which imports under scikit-learn 1.6 but not under newer ones, so give it
an environment of its own; without it its columns are empty. It offers pure epsilon; dpsk runs at
delta = 1/n² by default.
"""

import argparse
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_moons,
)
from sklearn.model_selection import train_test_split

from benchmarks.datasets import load
from benchmarks.measuring import put_page
from dpsk import DPGaussianNB, DPLinearDiscriminantAnalysis, DPQuadraticDiscriminantAnalysis
from dpsk.testing import NoiseSeed

try:
    from diffprivlib.models import GaussianNB
except ImportError:
    GaussianNB = None

EPSILONS = (0.1, 0.5, 1.0, 4.0)
MODELS = {"NB": DPGaussianNB, "LDA": DPLinearDiscriminantAnalysis,
          "QDA": DPQuadraticDiscriminantAnalysis}
BUNDLED = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer,
           "iris": load_iris,
           "moons": lambda return_X_y: make_moons(4000, noise=0.2, random_state=0),
           "blobs": lambda return_X_y: make_blobs(5000, 20, centers=6, cluster_std=6.0,
                                                  random_state=0)}
REAL = ("adult", "bank", "credit")
NAMED = ("adult", "bank", "digits", "wine", "breast cancer")
OTHERS = ("iris", "moons", "blobs", "credit")
HEADER = """# Naive Bayes and discriminant analysis against diffprivlib 0.6.6

Mean test accuracy.

"""
FOOTER = """
- Command: `python -m benchmarks.utility.naive_bayes`. {seeds} seeds of the noise, and of the split
  where a table has none. diffprivlib's `GaussianNB` guarantees pure epsilon; dpsk has delta 1/n^2.
- Declared bounds, the same for both: 0 to 16 for digits, 0 to 1 for tables of the protocol, else
  the range.
- "Learnt" declares nothing. dpsk learns ranges and norms within its budget; diffprivlib takes its
  bounds from the rows without privacy. Declare `feature_range` of small tables.
- The budget allocation is [derived](../theory/class_moments.md). One shrinkage constant was chosen
  on the first half of [many tables](many_tables.md), and two rules for small tables on wine and
  breast cancer.
"""


@cache
def _protocol(name):
    return load(name)


def split(name, seed):
    """Return training and test rows, and their labels."""
    if name in REAL:
        return _protocol(name)
    return train_test_split(*BUNDLED[name](return_X_y=True), test_size=0.25, random_state=seed)


def bounds(name):
    """Return the declared ends of columns."""
    if name in REAL:
        return 0.0, 1.0
    X, _ = BUNDLED[name](return_X_y=True)
    return (0.0, 16.0) if name == "digits" else (X.min(axis=0), X.max(axis=0))


def theirs(epsilon, seed, ends, classes):
    """Return diffprivlib's classifier, or None without it."""
    return None if GaussianNB is None else GaussianNB(epsilon=epsilon, bounds=ends,
                                                      random_state=seed)


def ours(cls):
    """Return what makes one of our classifiers."""
    return lambda epsilon, seed, ends, classes: cls(
        epsilon, feature_range="auto" if ends is None else ends, classes=classes,
        random_state=NoiseSeed(seed))


def accuracies(make, name, epsilon, declared, seeds):
    """Return the test accuracy of every seed."""
    found = []
    for seed in range(seeds):
        X, X_test, y, y_test = split(name, seed)
        model = make(epsilon, seed, bounds(name) if declared else None, np.unique(y))
        found.append(np.nan if model is None else model.fit(X, y).score(X_test, y_test))
    return found


def lines(names, seeds):
    """Yield the rows of the table of some data sets."""
    makes = {"diffprivlib": theirs, **{name: ours(cls) for name, cls in MODELS.items()}}
    yield ("| table | epsilon | " + " | ".join([*makes, *(f"{name}, learnt" for name in makes)])
           + " |")
    yield "|---" * (2 + 2 * len(makes)) + "|"
    for name in names:
        for epsilon in EPSILONS:
            cells = []
            for declared in (True, False):
                for make in makes.values():
                    found = accuracies(make, name, epsilon, declared, seeds)
                    cells.append(f"{np.mean(found):.3f} ± {np.std(found) / seeds**0.5:.3f}")
            yield f"| {name} | {epsilon:g} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    text = [HEADER]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, names in (("Tables of the comparison", NAMED), ("Other tables", OTHERS)):
            text += [f"## {title}\n\n"]
            for line in lines(names, options.seeds):
                print(line, file=sys.stderr, flush=True)
                text.append(line + "\n")
            text.append("\n")
    if options.output:
        put_page(options.output, "".join(text).rstrip("\n") + "\n"
                                  + FOOTER.format(seeds=options.seeds))


if __name__ == "__main__":
    main()
