"""A private head on public features: the structure of table 3 of Zhang et al. (2025).

    python benchmarks/paper/transfer.py --output docs/results/transfer.md
    python benchmarks/paper/transfer.py --features cifar.npz --output transfer.md

The public network is trained on Fashion-MNIST, without privacy: responses to patches that k-means
found there, pooled, then one hidden layer. That layer is a fixed map of the private digits of
MNIST. With `--features` the file's X, X_test, y and y_test, of ten classes, take the place of the
mapped digits: the last layer of a network pretrained on CIFAR-100, for instance, of the images of
CIFAR-10. In use all is one pipeline, ``make_pipeline(FrozenEstimator(network),
DPAUCMaximizer(epsilon))``; here rows are mapped once for all fits, which changes nothing.

Classes are cut in two at random, by the seed. "imbalanced" keeps a tenth of positives in
training; in "heavy-tailed" the k-th class keeps ``100^(-k/9)`` of its rows (Cui et al., 2019), in
a random order of classes. Test sets are whole. "As printed" is Algorithms 1 and 3 with a linear
score on the same features, see auc_networks.py: **not private**, the best of three steps by test
AUC.
"""

import argparse
import sys
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpsk import DPAUCMaximizer
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parent))
import auc_networks
import datasets
from measuring import put_page

EPSILONS = (0.5, 1.0, 5.0, 10.0)
KINDS = ("balanced", "imbalanced", "heavy-tailed")
#: Side of a patch, number of patches, cells a side, the least response and units of the layer.
SIDE, PATCHES, CELLS, THRESHOLD, UNITS = 6, 100, 4, 0.25, 512
#: Ratio of the largest class to the smallest.
TAIL = 100.0


class PublicNetwork(TransformerMixin, BaseEstimator):
    """The last hidden layer of a network trained on public images, of any images."""

    def fit(self, X, y):
        rng = np.random.default_rng(0)
        patches = self._patches(X[:5000]).reshape(-1, SIDE**2)
        centers = MiniBatchKMeans(PATCHES, n_init=1, batch_size=10000, random_state=0).fit(
            patches[rng.choice(len(patches), 100000, replace=False)]).cluster_centers_
        self.patches_ = centers.T / np.linalg.norm(centers, axis=1)
        net = MLPClassifier((UNITS,), max_iter=6, random_state=0).fit(self._pooled(X), y)
        self.weights_, self.biases_ = net.coefs_[0], net.intercepts_[0]
        # Usual rows get a norm of about 1; a constant, of public rows.
        self.scale_ = 1.0
        self.scale_ = float(np.linalg.norm(self.transform(X[:5000]), axis=1).mean())
        return self

    def transform(self, X):
        hidden = np.maximum(self._pooled(X) @ self.weights_ + self.biases_, 0.0)
        return (hidden / self.scale_).astype(np.float32)

    @staticmethod
    def _patches(images):
        """Return all patches, of mean zero and about the same contrast."""
        views = np.lib.stride_tricks.sliding_window_view(
            images.reshape(-1, 28, 28), (SIDE, SIDE), axis=(1, 2))
        views = views.reshape(*views.shape[:3], SIDE**2)
        views = views - views.mean(axis=-1, keepdims=True)
        return views / np.sqrt(np.square(views).sum(axis=-1, keepdims=True) + 0.1)

    def _pooled(self, images):
        """Return mean responses to the patches over the cells of each image."""
        starts = np.linspace(0, 29 - SIDE, CELLS + 1).astype(int)[:-1]
        pooled = []
        for part in np.array_split(images, -(-len(images) // 500)):
            responses = np.maximum(self._patches(part) @ self.patches_ - THRESHOLD, 0.0)
            for axis in (1, 2):
                responses = np.add.reduceat(responses, starts, axis=axis)
            pooled.append(responses.reshape(len(part), -1) / 30.0)
        return np.concatenate(pooled).astype(np.float32)


def features():
    """Return X, X_test, y, y_test: the network's layer of MNIST, and its digits."""
    X, _, y, _ = datasets.load("fashion_mnist")
    network = PublicNetwork().fit(X, y)
    X, X_test, y, y_test = datasets.load("mnist")
    return network.transform(X), network.transform(X_test), y, y_test


def task(table, kind, seed):
    """Return X, X_test, y, y_test of a random cut of the ten classes."""
    X, X_test, digits, test_digits = table
    rng = np.random.default_rng(seed)
    order = rng.permutation(10)
    y, y_test = (np.isin(labels, order[:5]).astype(int) for labels in (digits, test_digits))
    if kind == "balanced":
        return X, X_test, y, y_test
    rows = np.arange(len(y))
    if kind == "imbalanced":
        positive, negative = rows[y == 1], rows[y == 0]
        rows = [negative, rng.permutation(positive)[:round(len(negative) / 9)]]
    else:
        members = [rng.permutation(rows[digits == digit]) for digit in rng.permutation(10)]
        rows = [one[:round(len(one) * TAIL**(-k / 9))] for k, one in enumerate(members)]
    rows = np.sort(np.concatenate(rows))
    return X[rows], X_test, y[rows], y_test


def ours(epsilon, seed, data):
    """Return the AUC of the private head, delta n^-1.1 and otherwise all defaults."""
    head = DPAUCMaximizer(epsilon, delta=len(data[0])**-1.1, classes=[0, 1],
                          random_state=NoiseSeed(seed))
    return auc_networks.score(head, data)


class PrintedHead(auc_networks.Printed):
    """The published algorithms with a linear score of rows that are `scale` times as long."""

    scale = 1.0

    def __init__(self, epsilon, seed, data):
        X, X_test, y, y_test = data
        X, X_test = (np.float32(self.scale) * part for part in (X, X_test))
        super().__init__(epsilon, seed, (X, X_test, y, y_test))
        self.model = auc_networks.PlainMLP(self.X.shape[1], (), None)
        self.start = np.zeros(self.model.dimension + 2)


def printed(method):
    """Return a function as `ours` of a published algorithm."""
    def best(epsilon, seed, data):
        scores = []
        for step in auc_networks.STEPS:
            with np.errstate(all="ignore"):
                try:
                    scores.append(getattr(PrintedHead(epsilon, seed, data), method)(step))
                except ValueError:
                    continue  # the scores are not finite
        return max(scores, default=0.5)
    return best


def not_private(epsilon, seed, data):
    """Return the AUC of scikit-learn's logistic regression, whatever epsilon is."""
    return auc_networks.score(make_pipeline(StandardScaler(), LogisticRegression()), data)


METHODS = {"private head": ours, "DP-SGDA as printed, not private": printed("sgda"),
           "PrivateDiff as printed, not private": printed("privatediff")}


def cell(function, epsilon, tasks):
    """Return the mean AUC over tasks and its spread."""
    scores = [function(epsilon, seed, data) for seed, data in enumerate(tasks)]
    return f"{np.mean(scores):.4f} ± {np.std(scores):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--features", type=Path, help="an .npz with X, X_test, y and y_test")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--printed-seeds", type=int, default=2,
                        help="the first of them, for what is as printed, which takes long")
    parser.add_argument("--printed-scale", type=float, default=PrintedHead.scale,
                        help="what rows are multiplied with for what is as printed")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    PrintedHead.scale = options.printed_scale
    if options.features is None:
        table = features()
    else:
        with np.load(options.features) as file:
            table = tuple(file[name] for name in ("X", "X_test", "y", "y_test"))
    lines = ["# Transfer learning: private heads on public features", "",
             "Test AUC of a private linear score on features that were trained on public data.",
             "", f"- Command: `python benchmarks/paper/transfer.py`, {date.today()}. Mean ± "
             f"standard deviation over {options.seeds} seeds; {options.printed_seeds} seeds as "
             "printed; delta n^-1.1.", "",
             "| classes | epsilon | " + " | ".join(options.methods) + " |",
             "|---|---|" + "---|" * len(options.methods)]
    for kind in options.kinds:
        tasks = [task(table, kind, seed) for seed in range(options.seeds)]
        for epsilon in options.epsilons:
            cells = [cell(METHODS[method], epsilon, tasks if METHODS[method] is ours else
                          tasks[:options.printed_seeds]) for method in options.methods]
            lines.append(f"| {kind} | {epsilon:g} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
        lines.append(f"| {kind} | logistic regression, not private | "
                     f"{cell(not_private, np.inf, tasks)} |" + " |" * (len(options.methods) - 1))
        print(lines[-1], flush=True)
    if options.output:
        put_page(options.output, "\n".join([*lines, ""]))


if __name__ == "__main__":
    # Six passes of the public network, a hundred steps of the reference, are meant to be all.
    warnings.simplefilter("ignore", ConvergenceWarning)
    main()
