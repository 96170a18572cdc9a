"""Decision trees and random forests beside diffprivlib 0.6.6, test accuracy on five tables.

    python -m benchmarks.utility.trees [--seeds 10] [--output docs/results/tables/trees.csv]

Needs diffprivlib 0.6.6, which imports under scikit-learn 1.6 but not under newer ones, so give it
an environment of its own; without it its columns are empty. It offers pure epsilon; dpsk runs at
delta = 1/n² by default.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks.measuring import put_page
from benchmarks.utility.naive_bayes import EPSILONS, NAMED, bounds, split
from dpsk import DPDecisionTreeClassifier, DPRandomForestClassifier
from dpsk.testing import NoiseSeed

try:
    from diffprivlib.models import DecisionTreeClassifier, RandomForestClassifier
except ImportError:
    DecisionTreeClassifier = RandomForestClassifier = None


def theirs(cls):
    """Return what makes one of diffprivlib's classifiers, or None without it."""
    return lambda epsilon, seed, ends, classes: None if cls is None else cls(
        epsilon=epsilon, bounds=tuple(ends), classes=classes, random_state=seed)


def ours(cls):
    """Return what makes one of our classifiers."""
    def make(epsilon, seed, ends, classes):
        columns = {place: (low, high if high > low else low + 1.0)
                   for place, (low, high) in enumerate(ends.T.tolist())}
        return cls(epsilon, columns=columns, classes=classes, random_state=NoiseSeed(seed))
    return make


def accuracies(make, name, epsilon, seeds):
    """Return the test accuracy of every seed."""
    found = []
    for seed in range(seeds):
        X, X_test, y, y_test = split(name, seed)
        ends = np.array([np.broadcast_to(end, X.shape[1]) for end in bounds(name)], float)
        model = make(epsilon, seed, ends, np.unique(y))
        found.append(np.nan if model is None else model.fit(X, y).score(X_test, y_test))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    makes = {"diffprivlib tree": theirs(DecisionTreeClassifier),
             "tree": ours(DPDecisionTreeClassifier),
             "diffprivlib forest": theirs(RandomForestClassifier),
             "forest": ours(DPRandomForestClassifier)}
    lines = ["table,epsilon," + ",".join(makes)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMED:
            for epsilon in EPSILONS:
                cells = []
                for make in makes.values():
                    found = accuracies(make, name, epsilon, options.seeds)
                    error = np.std(found) / options.seeds**0.5
                    cells.append(f"{np.mean(found):.3f} ± {error:.3f}")
                lines.append(f"{name},{epsilon:g}," + ",".join(cells))
                print(lines[-1], file=sys.stderr, flush=True)
    if options.output:
        put_page(options.output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
