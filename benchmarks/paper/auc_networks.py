"""AUC of networks under privacy on MNIST and Fashion-MNIST: table 1 of Zhang et al. (2025).

    python benchmarks/paper/auc_networks.py --output table.md

Classes are cut in two at random; imbalanced sets keep a tenth of positives in training, and the
test sets are whole. Features are raw pixels or the histograms of oriented_gradients.py,
which are computed row by row from constants and so change nothing in the guarantee. "As
printed" is Algorithms 1 and 3 with the noise of the paper's remarks and with 1 for the constants
it leaves open. Their guarantees do not hold, so both are **not private**; they run in plain
NumPy and take the best of the paper's three steps by test AUC.
"""

import argparse
import math
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from dpsk import DPAUCMaximizer
from dpsk._models import MLP
from dpsk._objective.saddle import AUCSquare
from dpsk._sums.clip import Clip
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import datasets
from measuring import put_page
from oriented_gradients import oriented_gradients

SIZES = (256, 128)
STEPS = (0.02, 0.2, 2.0)
#: The histograms' rows have norm 1, short for a network's starting weights.
HISTOGRAM_SCALE = np.float32(4.0)


@lru_cache
def images(name, features):
    """Return X, X_test and the labels of both, X of pixels or of histograms."""
    X, X_test, digits, test_digits = datasets.load(name)
    if features == "histograms":
        X, X_test = (oriented_gradients(part, cells=7) for part in (X, X_test))
    return X, X_test, digits, test_digits


def task(name, split, imbalanced, features="pixels"):
    """Return X, X_test, y, y_test of a random cut of the ten classes."""
    X, X_test, digits, test_digits = images(name, features)
    rng = np.random.default_rng(split)
    chosen = rng.permutation(10)[:5]
    y, y_test = (np.isin(d, chosen).astype(int) for d in (digits, test_digits))
    if imbalanced:
        positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
        kept = rng.permutation(positive)[:round(len(negative) / 9)]
        rows = np.sort(np.concatenate([negative, kept]))
        X, y = X[rows], y[rows]
    return X, X_test, y, y_test


def score(model, data):
    X, X_test, y, y_test = data
    return roc_auc_score(y_test, model.fit(X, y).decision_function(X_test))


def network(epsilon, seed, data, kind=DPAUCMaximizer, **settings):
    """Return DPAUCMaximizer on the loss of pairs, otherwise with its defaults for a network."""
    ratio = round(float(data[2].mean()), 4)
    settings = {"data_norm": 28.0, "loss": "auc", "positive_ratio": ratio, **settings}
    return kind(epsilon, delta=len(data[0])**-1.1, hidden_layer_sizes=SIZES, classes=[0, 1],
                random_state=NoiseSeed(seed), **settings)


def ours(epsilon, seed, data):
    return score(network(epsilon, seed, data), data)


def ours_logistic(epsilon, seed, data):
    """The logistic loss by "sgd", which is what loss="auto" takes."""
    return score(network(epsilon, seed, data, loss="logistic", positive_ratio=None), data)


def ours_on_histograms(epsilon, seed, data, **settings):
    X, X_test, y, y_test = data
    data = HISTOGRAM_SCALE * X, HISTOGRAM_SCALE * X_test, y, y_test
    return score(network(epsilon, seed, data, data_norm=float(HISTOGRAM_SCALE), **settings), data)


def logistic_on_histograms(epsilon, seed, data):
    return ours_on_histograms(epsilon, seed, data, loss="logistic", positive_ratio=None)


def linear(epsilon, seed, data):
    """Return the AUC of a linear score of whitened rows, all defaults."""
    model = DPAUCMaximizer(epsilon, delta=len(data[0])**-1.1, classes=[0, 1],
                           random_state=NoiseSeed(seed))
    return score(model, data)


def noiseless(epsilon, seed, data):
    """The same network and solver with an epsilon at which noise is of no consequence."""
    return score(network(1e4, seed, data), data)


def not_private(epsilon, seed, data):
    """Return the AUC of scikit-learn's network of the same layers, trained without privacy."""
    X, X_test, y, y_test = data
    model = MLPClassifier(SIZES, early_stopping=True, random_state=seed).fit(X, y)
    return roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])


class PlainMLP(MLP):
    """Layers as published, whose units enter the next layer as they are."""

    def centers(self, width):
        return False


class Printed:
    """The published algorithms' shared parts: clipped means over a batch."""

    def __init__(self, epsilon, seed, data):
        self.X, self.X_test, self.y, self.y_test = data
        n, p = len(self.X), float(self.y.mean())
        self.rng = np.random.default_rng(seed)
        self.n, self.epsilon, self.log = n, epsilon, math.log(n**1.1)
        self.model = PlainMLP(self.X.shape[1], SIZES, None)
        self.loss = AUCSquare(p, p * (1.0 - p))
        self.mu = 2.0 * p * (1.0 - p)
        self.start = np.append(self.model.initial(self.rng.standard_normal), [0.0, 0.0])

    def batch(self, size):
        return self.rng.choice(self.n, min(size, self.n), replace=False)

    def gradients(self, x, dual, rows, clip=1.0, sign=1.0):
        """Return the mean clipped gradients in x and in the dual variable."""
        total, ascent = np.zeros_like(x), 0.0
        for part in np.array_split(rows, -(-len(rows) // 512)):
            forward = self.model.forward(x[:-2], self.X[part])
            dz, extra, d_dual = self.loss.gradients(
                self.y[part].astype(float), forward.raw.astype(float), x[-2:], dual)
            forward.backward(dz)
            squares = forward.square_norms() + np.square(extra).sum(axis=1)
            factors = Clip(clip, single=True).factors(squares)
            forward.add_gradient(factors, total[:-2])
            total[-2:] += factors @ extra
            ascent += np.clip(d_dual, -1.0, 1.0).sum()
        return sign * total / len(rows), ascent / len(rows) - self.mu * dual

    def noise(self, scale, size):
        return scale * self.rng.standard_normal(size)

    def auc(self, x):
        return roc_auc_score(self.y_test, self.model.forward(x[:-2], self.X_test).raw)

    def sgda(self, step):
        """Algorithm 1: T = m = n eps / sqrt(d log(1/delta)), noise of the remark."""
        steps = max(1, round(self.n * self.epsilon / math.sqrt(self.start.size * self.log)))
        sigma = 8.0 * math.sqrt(steps * self.log) / (self.n * self.epsilon)
        x, dual = self.start.copy(), np.zeros(1)
        for _ in range(steps):
            descent, ascent = self.gradients(x, dual, self.batch(2048))
            x = x - step * (descent + self.noise(sigma, x.size))
            dual = np.clip(dual + step * (ascent + self.noise(sigma, 1)), -2.0, 2.0)
        return self.auc(x)

    def privatediff(self, step, rounds=600, period=2, inner=3):
        """Algorithm 3 with table 2's T, T2 and batch; differences subtract different rows."""
        unit = 4.0 * math.sqrt(rounds * self.log) / (self.n * self.epsilon)
        x, dual, old = self.start.copy(), np.zeros(1), None
        for r in range(rounds):
            rows, exact = self.batch(2048), dual
            for _ in range(inner):
                exact = np.clip(exact + step * self.dual_gradient(x, exact), -2.0, 2.0)
            here = self.gradients(x, exact, rows)[0]
            if r % period == 0:
                estimate = here + self.noise(unit / math.sqrt(period), x.size)
            else:
                clip = np.linalg.norm(x - old[0]) + 1.0
                # The clip of a difference of means, which only leaves more signal than printed.
                change = here - self.gradients(*old)[0]
                change *= min(1.0, clip / np.linalg.norm(change))
                estimate = estimate + change + self.noise(unit * clip, x.size)
            old = (x, dual, rows)
            x = x - step * estimate
            dual = exact + self.noise(2.0 * unit / self.mu, 1)
        return self.auc(x)

    def dual_gradient(self, x, dual):
        rows = self.batch(512)
        raw = self.model.forward(x[:-2], self.X[rows]).raw.astype(float)
        d_dual = self.loss.gradients(self.y[rows].astype(float), raw, x[-2:], dual)[2]
        return np.clip(d_dual, -1.0, 1.0).mean() - self.mu * dual


def best(method, epsilon, seed, data):
    """Return the best finite AUC over the paper's steps."""
    scores = []
    for step in STEPS:
        with np.errstate(all="ignore"):
            try:
                scores.append(getattr(Printed(epsilon, seed, data), method)(step))
            except ValueError:
                continue  # the scores are not finite
    return max(scores, default=0.5)


#: Name: (function, features)
METHODS = {
    "pixels, network": (ours, "pixels"),
    "pixels, network, logistic loss": (ours_logistic, "pixels"),
    "histograms, network": (ours_on_histograms, "histograms"),
    "histograms, network, logistic loss": (logistic_on_histograms, "histograms"),
    "histograms, linear": (linear, "histograms"),
    "pixels, network, hardly any noise": (noiseless, "pixels"),
    "pixels, not private": (not_private, "pixels"),
    "DP-SGDA as printed, not private": (lambda *cell: best("sgda", *cell), "pixels"),
    "PrivateDiff as printed, not private": (lambda *cell: best("privatediff", *cell), "pixels"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", nargs="+", default=["mnist", "fashion_mnist"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 5.0, 10.0])
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--runs", type=int, default=1, help="with a split, other seeds")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--balance", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = ["| set | epsilon | method | test AUC, mean (min to max) | splits |",
             "|---|---|---|---|---|"]
    for method in options.methods:
        run, features = METHODS[method]
        for name in options.sets:
            for imbalanced in options.balance:
                tasks = [task(name, split, imbalanced, features) for split in options.splits]
                label = ("imbalanced " if imbalanced else "") + name
                for epsilon in options.epsilons:
                    scores = [np.mean([run(epsilon, split + 1000 * extra, data)
                                       for extra in range(options.runs)])
                              for split, data in zip(options.splits, tasks, strict=True)]
                    lines.append(f"| {label} | {epsilon:g} | {method} | {np.mean(scores):.4f} "
                                 f"({min(scores):.4f} to {max(scores):.4f}) | {len(scores)} |")
                    print(lines[-1], flush=True)
    if options.output:
        put_page(options.output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
