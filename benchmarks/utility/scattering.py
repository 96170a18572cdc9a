"""Logistic regression on scattering coefficients, as Tramer and Boneh (2021) have it.

    python benchmarks/utility/scattering.py [--output docs/results/scattering.md] [--seeds 5]
    python benchmarks/utility/scattering.py --map coefficients --epsilons 3 --seeds 1

Needs kymatio. An image has 81 x 7 x 7 coefficients: two scales, eight angles, two orders. They
are computed once and kept as .npz in the folder of temporary files. "coefficients" are all of
them as they are, rows of norm 1. "public" is a map of constants found on the *other* set of the
two, which counts as public; see `PublicMap`. Both act row by row, so they cost no privacy.
"""

import argparse
import sys
import tempfile
import warnings
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dpsk import DPLogisticRegression
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from datasets import load
from measuring import put_page

TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
#: Test accuracy in percent at epsilon 3, add or remove a row: Tramer and Boneh (2021), table 1.
PUBLISHED = {"mnist": 98.7, "fashion_mnist": 89.7}
DELTA = 1e-5
SCALES, ANGLES, CELLS = 2, 8, 49
CHANNELS = 1 + SCALES * ANGLES + ANGLES**2
CACHE = Path(tempfile.gettempdir()) / "dpsk-scattering"
#: Images that are mapped at once.
BLOCK = 500


def coefficients(name):
    """Return X, X_test of coefficients, a row an image, kept in CACHE."""
    path = CACHE / f"{name}.npz"
    if not path.exists():
        # The package's own front door imports parts that newer versions of SciPy have no more.
        from kymatio.scattering2d.frontend.numpy_frontend import ScatteringNumPy2D

        scattering = ScatteringNumPy2D(SCALES, (28, 28), ANGLES)
        parts = [by_blocks(lambda X: scattering(X.reshape(-1, 28, 28)).reshape(len(X), -1), X)
                 for X in load(name)[:2]]
        CACHE.mkdir(exist_ok=True)
        np.savez(path, X=parts[0], X_test=parts[1])
    with np.load(path) as file:
        return file["X"], file["X_test"]


def by_blocks(function, X):
    """Return a function of rows of all rows, few at a time, in single precision."""
    first = function(X[:1])
    out = np.empty((len(X), first.shape[1]), dtype=np.float32)
    for start in range(0, len(X), BLOCK):
        out[start:start + BLOCK] = function(X[start:start + BLOCK])
    return out


def ratios(X):
    """Return roots of coefficients, those of the second order over the first that they are of."""
    X = np.maximum(X, 0.0).reshape(-1, CHANNELS, CELLS)
    zeroth, first, second = np.split(X, [1, 1 + SCALES * ANGLES], axis=1)
    # Of two scales only the finer one, whose angles come first, has a second order.
    finer = np.repeat(first[:, :ANGLES], ANGLES, axis=1)
    parts = [zeroth, first, second / (finer + np.float32(0.01))]
    return np.sqrt(np.concatenate(parts, axis=1)).reshape(len(X), -1)


class PublicMap(TransformerMixin, BaseEstimator):
    """Ratios, channels of one size, then the leading directions of public rows, whitened.

    Parameters
    ----------
    n_components : int
    floor : float
        Added to eigenvalues, in units of the largest: finer directions stay small.
    """

    def __init__(self, n_components=1000, floor=0.03):
        self.n_components, self.floor = n_components, floor

    def fit(self, X, y=None):
        """Find the constants on public coefficients."""
        X = by_blocks(ratios, X)
        sizes = X.reshape(-1, CHANNELS, CELLS).std(axis=(0, 2)).repeat(CELLS)
        X /= sizes
        mean = X.mean(axis=0)
        X -= mean
        last = X.shape[1] - 1
        values, directions = scipy.linalg.eigh(
            X.T @ X / np.float32(len(X)), subset_by_index=[last + 1 - self.n_components, last])
        directions /= np.sqrt(values + self.floor * values[-1])
        self.components_ = (directions / sizes[:, None]).astype(np.float32)
        self.offset_ = mean @ directions
        return self

    def transform(self, X):
        return by_blocks(lambda part: ratios(part) @ self.components_ - self.offset_, X)


def mapped(name, kind):
    """Return X, X_test of the features of a set."""
    fixed = [Normalizer(copy=False)]
    if kind == "public":
        (other,) = set(TITLES) - {name}
        # Frozen: fitting the pipeline leaves the map as the public rows made it.
        fixed.insert(0, FrozenEstimator(PublicMap().fit(coefficients(other)[0][:20000])))
    pipeline = make_pipeline(*fixed)
    return tuple(pipeline.transform(part) for part in coefficients(name))


def accuracies(data, epsilon, seeds):
    """Return test accuracies in percent over seeds, and the mean seconds of a fit."""
    X, X_test, y, y_test = data
    scores, seconds = [], 0.0
    for seed in range(seeds):
        model = DPLogisticRegression(epsilon, delta=DELTA, data_norm=1.0,
                                     random_state=NoiseSeed(seed))
        start = perf_counter()
        model.fit(X, y)
        seconds += (perf_counter() - start) / seeds
        scores.append(100 * model.score(X_test, y_test))
    return np.array(scores), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 2.0, 3.0])
    parser.add_argument("--map", choices=["public", "coefficients"], default="public")
    options = parser.parse_args()
    lines = ["# Images: logistic regression on scattering coefficients", "",
             f"Test accuracy (%), mean ± standard deviation over {options.seeds} seeds of the "
             f"noise, delta {DELTA:g}, and seconds of a fit, {date.today()}.", "",
             "| set | epsilon | accuracy | published | seconds |", "|---|---|---|---|---|"]
    for name in options.sets:
        data = *mapped(name, options.map), *load(name)[2:]
        for epsilon in options.epsilons:
            scores, seconds = accuracies(data, epsilon, options.seeds)
            published = f"{PUBLISHED[name]}" if epsilon == 3 else ""
            lines.append(f"| {TITLES[name]} | {epsilon:g} | {scores.mean():.2f} ± "
                         f"{scores.std():.2f} | {published} | {seconds:.0f} |")
            print(lines[-1], flush=True)
    if options.output:
        put_page(options.output, "\n".join([*lines, ""]))


if __name__ == "__main__":
    # Delta is that of the published numbers, for whatever it warns of.
    warnings.simplefilter("ignore")
    main()
