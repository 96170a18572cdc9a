"""Networks at default settings beside linear models at their own.

    python benchmarks/utility/networks.py [--output docs/results/networks.md] [--seeds 5]

Only epsilon is set; delta = 1/n^2. "oriented gradients" maps every digit to 392 histograms, by
scikit-image: 7 x 7 cells of 4 x 4 pixels, 8 orientations.
"""

import argparse
import sys
from datetime import date
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import r2_score, roc_auc_score

from dpsk import DPLogisticRegression, DPMLPClassifier, DPMLPRegressor, DPRidge
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import put_page

#: (title, set, whether mapped, epsilons)
IMAGES = [("MNIST, raw pixels", "mnist", False, (1.0, 3.0)),
          ("MNIST, oriented gradients", "mnist", True, (1.0, 3.0))]
EPSILONS = (0.5, 1.0, 4.0)


def oriented_gradients(images):
    """Return 392 histograms of gradients of each row of 784 pixels; no row sees another."""
    from skimage.feature import hog

    return np.array([hog(image.reshape(28, 28), orientations=8, pixels_per_cell=(4, 4),
                         cells_per_block=(1, 1), feature_vector=True) for image in images],
                    dtype=np.float32)


def gaussian():
    """Return 120,000 rows of ten normal columns, and as many as a tenth of it to test."""
    rng = np.random.default_rng(0)
    X, direction = rng.normal(size=(132000, 10)), rng.normal(size=10)
    y = (X @ direction + rng.normal(size=len(X)) > 0).astype(int)
    return X[:120000], X[120000:], y[:120000], y[120000:]


def bundled(bunch, low, high):
    """Return a set of scikit-learn, columns brought from its bounds to [-1, 1], three to one."""
    X, y = bunch(return_X_y=True)
    X = 2.0 * (X - low) / (high - low) - 1.0
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [int(0.75 * len(X))])
    return X[train], X[test], y[train], y[test]


def _breast_cancer():
    X, _ = load_breast_cancer(return_X_y=True)
    # Bounds that a person could declare: a digit of the extremes.
    scale = 10.0 ** np.floor(np.log10(X.max(axis=0)))
    return bundled(load_breast_cancer, 0.0, np.ceil(X.max(axis=0) / scale) * scale)


#: (title, split, bounds of targets or None)
TABLES = [("Bank", lambda: load("bank"), None),
          ("Adult", lambda: load("adult"), None),
          ("Credit", lambda: load("credit"), None),
          ("Covertype, two classes", lambda: load("covtype_binary"), None),
          ("Breast cancer", _breast_cancer, None),
          ("Digits, ten classes", lambda: bundled(load_digits, 0.0, 16.0), None),
          ("Gaussian, 120,000 x 10", gaussian, None),
          ("Bike", lambda: load("bike"), (-1.0, 1.0)),
          ("Wine", lambda: load("wine"), (-1.0, 1.0)),
          ("Adult, hours", lambda: load("adult_hours"), (0.0, 80.0))]


def measured(make, split, seeds, bounds=None):
    """Return scores over seeds, one row a measure, and the mean CPU seconds of a fit.

    The measures are accuracy in percent, and AUC of two classes; R2 of a regression.
    """
    X_train, X_test, y_train, y_test = split
    scores, seconds = [], 0.0
    for seed in range(seeds):
        start = process_time()
        model = make(random_state=NoiseSeed(seed)).fit(X_train, y_train)
        seconds += process_time() - start
        if bounds is not None:
            scores.append([r2_score(np.clip(y_test, *bounds), model.predict(X_test))])
            continue
        scores.append([100.0 * model.score(X_test, y_test)])
        if len(model.classes_) == 2:
            scores[-1].append(roc_auc_score(y_test, model.decision_function(X_test)))
    return np.array(scores).T, seconds / seeds


def words(values, digits):
    return f"{values.mean():.{digits}f} ± {values.std():.{digits}f}"


def image_lines(seeds, networks_only):
    yield from ["| set | epsilon | estimator | accuracy | seconds |", "|---|---|---|---|---|"]
    for title, name, mapped, epsilons in IMAGES:
        split = load(name)
        if mapped:
            split = (*map(oriented_gradients, split[:2]), *split[2:])
        for epsilon in epsilons:
            for cls in (DPMLPClassifier, DPLogisticRegression)[:2 - networks_only]:
                (accuracy,), seconds = measured(partial(cls, epsilon), split, seeds)
                yield (f"| {title} | {epsilon:g} | `{cls.__name__}` | {words(accuracy, 2)} | "
                       f"{seconds:.0f} |")


def table_lines(seeds, titles):
    yield from ["| set | epsilon | measure | network | linear | seconds |",
                "|---|---|---|---|---|---|"]
    for title, make_split, bounds in TABLES:
        if titles and title not in titles:
            continue
        split = make_split()
        classes = bounds is None
        pair = (DPMLPClassifier, DPLogisticRegression) if classes else (DPMLPRegressor, DPRidge)
        settings = {} if classes else {"target_bounds": bounds}
        for epsilon in EPSILONS:
            (network, seconds), (linear, _) = (
                measured(partial(cls, epsilon, **settings), split, seeds, bounds)
                for cls in pair)
            measures = [("accuracy", 2), ("AUC", 4)] if classes else [("R2", 3)]
            for (measure, digits), one, other in zip(measures, network, linear, strict=False):
                yield (f"| {title} | {epsilon:g} | {measure} | {words(one, digits)} | "
                       f"{words(other, digits)} | {seconds:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parts", nargs="*", default=["images", "tables"])
    parser.add_argument("--tables", nargs="*", default=[])
    parser.add_argument("--networks-only", action="store_true")
    arguments = parser.parse_args()
    lines = ["# Neural networks at default settings", "",
             "`DPMLPClassifier` and `DPMLPRegressor` against linear models at the same epsilon, "
             f"{date.today()}.", ""]
    parts = {"images": lambda: image_lines(arguments.seeds, arguments.networks_only),
             "tables": lambda: table_lines(arguments.seeds, arguments.tables)}
    for part in arguments.parts:
        for line in parts[part]():
            lines.append(line)
            print(line, flush=True)
        lines.append("")
    if arguments.output:
        put_page(arguments.output, "\n".join(lines))


if __name__ == "__main__":
    main()
