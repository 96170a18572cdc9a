"""k-means beside scikit-learn's and diffprivlib 0.6.6: inertia of the training rows.

    python -m benchmarks.utility.kmeans [--seeds 4] [--output docs/results/kmeans.md]

Needs diffprivlib 0.6.6, which imports under scikit-learn 1.6 but not under newer ones, so give it
an environment of its own; without it its columns are empty. It offers pure epsilon; dpsk runs at
delta = 1/n² by default.
"""

import argparse
import gzip
import os
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs

from benchmarks.datasets import load
from benchmarks.measuring import put_page
from dpsk import DPKMeans
from dpsk.testing import NoiseSeed

try:
    from diffprivlib.models import KMeans as Theirs
except ImportError:
    Theirs = None

EPSILONS = (0.1, 0.5, 1.0, 4.0)
_DATA = Path(os.environ.get("DPSK_DATA", Path(__file__).parents[3] / "shared" / "data"))
HEADER = """# k-means compared with scikit-learn and diffprivlib 0.6.6

Figures are the inertia of the training rows over that of scikit-learn's `KMeans` without privacy.

"""
FOOTER = """
- Command: `python -m benchmarks.utility.kmeans`. Means of {seeds} seeds of noise, over {seeds}
  starts of `KMeans`. diffprivlib has pure epsilon, dpsk delta = 1/n^2.
- With declared bounds both are told the ends of all columns. In the columns "learnt" nothing is
  declared: dpsk learns a norm within its budget, and diffprivlib takes its bounds from the rows,
  outside of its guarantee.
- Images are 10,000 of 28 x 28 pixels, averaged to 7 x 7. Blobs are normal clusters; narrow ones
  have half the width.
- The numbers of rounds and the radius were chosen on the first part and eight more generated
  tables.
  [The theory](../theory/clusters.md) derives the rest.
- Few rows show no clusters (iris, wine): declare `feature_range` or `data_norm` there.
"""


def images(name):
    """Return small images of a folder."""
    with gzip.open(_DATA / name / "train-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28) / 255.0
    return pixels[:10000].reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)


def blobs(width, count, seed, std=1.0):
    """Return 10,000 rows of round clusters."""
    return make_blobs(10000, width, centers=count, cluster_std=std, random_state=seed)[0]


def uneven():
    """Return clusters of different sizes."""
    sizes = (10000 * np.random.default_rng(3).dirichlet(np.ones(6))).astype(int)
    return make_blobs(sizes, 20, cluster_std=3.0, random_state=3)[0]


CHOSEN = {"digits 7 x 7": (lambda: images("mnist"), 10),
          "adult": (lambda: load("adult")[0], 8), "bank": (lambda: load("bank")[0], 5),
          "blobs, 2": (lambda: blobs(2, 10, 1), 10), "blobs, 10": (lambda: blobs(10, 10, 2), 10),
          "uneven, 20": (uneven, 6), "digits": (lambda: load_digits().data, 10)}
JUDGED = {"clothes 7 x 7": (lambda: images("fashion-mnist"), 10),
          "credit": (lambda: load("credit")[0], 8), "covtype": (lambda: load("covtype")[0], 7),
          "blobs, 50": (lambda: blobs(50, 15, 13, 2.0), 15),
          "blobs, 5": (lambda: blobs(5, 20, 14), 20),
          "narrow, 2": (lambda: blobs(2, 10, 11, 0.5), 10),
          "skewed, 4": (lambda: np.exp(np.random.default_rng(5).normal(size=(20000, 4))), 6),
          "iris": (lambda: load_iris().data, 3), "wine": (lambda: load_wine().data, 3)}


@cache
def rows(name):
    """Return a table and its number of clusters."""
    make, count = {**CHOSEN, **JUDGED}[name]
    return np.asarray(make(), dtype=np.float64)[:50000], count


def inertia(X, centers):
    """Return the sum of squared distances to the nearest centers."""
    distances = -2.0 * X @ centers.T + np.sum(centers**2, axis=1)
    return float(np.sum(X**2) + distances.min(axis=1).sum())


def fitted(ours, X, count, epsilon, ends, seed):
    """Return the inertia of one private fit."""
    if not ours and Theirs is None:
        return np.nan
    model = (DPKMeans(count, epsilon=epsilon, feature_range=ends, random_state=NoiseSeed(seed))
             if ours else Theirs(count, epsilon=epsilon, bounds=ends, random_state=seed))
    return inertia(X, model.fit(X).cluster_centers_)


def lines(names, seeds):
    """Yield the rows of the table of some data sets."""
    yield ("| table | rows | columns | clusters | epsilon | diffprivlib | DPKMeans | "
           "diffprivlib, learnt | DPKMeans, learnt |")
    yield "|---" * 9 + "|"
    for name in names:
        X, count = rows(name)
        plain = np.mean([KMeans(count, n_init=1, random_state=seed).fit(X).inertia_
                         for seed in range(seeds)])
        low, high = X.min(axis=0), X.max(axis=0)
        for epsilon in EPSILONS:
            found = [np.mean([fitted(ours, X, count, epsilon, ends, seed)
                              for seed in range(seeds)]) / plain
                     for ends in ((low, np.maximum(high, low + 1e-3)), None)
                     for ours in (False, True)]
            yield (f"| {name} | {len(X)} | {X.shape[1]} | {count} | {epsilon:g} | "
                   + " | ".join(f"{each:.3f}" for each in found) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    text = [HEADER]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, names in (("Tables that rules were chosen on", CHOSEN),
                             ("Other tables", JUDGED)):
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
