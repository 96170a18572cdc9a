"""Networks at default settings beside logistic regression at its own.

    python benchmarks/utility/networks.py [--output docs/results/networks.md] [--seeds 5]

Only epsilon is set; delta = 1/n^2. "hog" maps every digit to 392 histograms of oriented
gradients, by scikit-image, in a pipeline: 7 x 7 cells of 4 x 4 pixels, 8 orientations.
"""

import argparse
import sys
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPLogisticRegression, DPMLPClassifier
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load

#: (title, set, whether mapped, epsilons)
CASES = [("MNIST, raw pixels", "mnist", False, (1.0, 3.0)),
         ("MNIST, oriented gradients", "mnist", True, (1.0, 3.0)),
         ("Adult", "adult", False, (1.0,))]


def oriented_gradients(images):
    """Return 392 histograms of gradients of each row of 784 pixels; no row sees another."""
    from skimage.feature import hog

    return np.array([hog(image.reshape(28, 28), orientations=8, pixels_per_cell=(4, 4),
                         cells_per_block=(1, 1), feature_vector=True) for image in images],
                    dtype=np.float32)


def accuracies(make, split, seeds):
    """Return test accuracies in percent over seeds, and the mean seconds of a fit."""
    X_train, X_test, y_train, y_test = split
    scores, start = [], perf_counter()
    for seed in range(seeds):
        model = make_pipeline(FunctionTransformer(), make(seed)).fit(X_train, y_train)
        scores.append(100 * model.score(X_test, y_test))
    return np.array(scores), (perf_counter() - start) / seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cases", nargs="*", type=int, default=list(range(len(CASES))))
    parser.add_argument("--networks-only", action="store_true")
    arguments = parser.parse_args()
    lines = [f"# Networks at default settings ({date.today()})", "",
             f"Test accuracy (%), mean ± standard deviation over {arguments.seeds} seeds (noise "
             "and start; the split is fixed). delta = 1/n². Seconds a fit, test included.", "",
             "| set | epsilon | estimator | accuracy | seconds |", "|---|---|---|---|---|"]
    for title, name, mapped, epsilons in (CASES[i] for i in arguments.cases):
        split = load(name)
        if mapped:
            # The map is fixed, so that doing it once for all seeds changes nothing.
            split = (*map(oriented_gradients, split[:2]), *split[2:])
        for epsilon in epsilons:
            for cls in (DPMLPClassifier, DPLogisticRegression):
                if arguments.networks_only and cls is not DPMLPClassifier:
                    continue
                scores, seconds = accuracies(
                    lambda seed, cls=cls, epsilon=epsilon: cls(
                        epsilon, random_state=NoiseSeed(seed)), split, arguments.seeds)
                lines.append(f"| {title} | {epsilon:g} | `{cls.__name__}` | {scores.mean():.2f} ± "
                             f"{scores.std():.2f} | {seconds:.0f} |")
                print(lines[-1], flush=True)
    if arguments.output:
        arguments.output.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
