"""Stated errors of bins that follow the scores over those of the best public bins, in hindsight.

    python -m benchmarks.utility.evaluation_bins [--draws 8] [--rows 5000] [--epsilon 1.0]

Public bins are of equal width or of equal numbers of rows, by the exact scores, 4 to 64 of them:
nobody can choose so without a look at the rows. Half of the rows are positive.
"""

import argparse
import warnings
import zlib
from unittest import mock

import numpy as np

from benchmarks.utility.evaluation_shapes import CHOSEN, SHAPES, UNBOUNDED, scored
from dpsk.metrics import BinaryEvaluation
from dpsk.testing import NoiseSeed

NAMES, COUNTS = ("roc_auc", "average_precision"), (4, 8, 16, 32, 64)


def public_edges(p):
    """Yield the edges of all public bins that are compared."""
    for count in COUNTS:
        places = np.arange(1, count) / count
        for edges in (p.min() + np.ptp(p) * places, np.quantile(p, places)):
            edges = np.unique(edges)
            edges = edges[(edges > p.min()) & (edges <= p.max())]
            if len(edges):
                yield edges


def stated(y, p, bounds, bins, epsilon, draws, seed):
    """Return the mean stated error of each metric."""
    with warnings.catch_warnings(), mock.patch("dpsk._fit.table_digest", lambda _: b"rows"):
        warnings.simplefilter("ignore")
        made = [BinaryEvaluation.from_predictions(
            y, p, epsilon=epsilon, score_range=bounds, bins=bins,
            random_state=NoiseSeed(seed + draw)) for draw in range(draws)]
        return np.mean([[getattr(each, name)().standard_error for name in NAMES]
                        for each in made], axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    ratios = {}
    for shape in SHAPES:
        y, p = scored(shape, 0.5, given.rows)
        edges = list(public_edges(p))
        if not edges:
            continue
        bounds = None if shape in UNBOUNDED else (0.0, 1.0)
        options = given.epsilon, given.draws, zlib.crc32(shape.encode())
        best = np.min([stated(y, p, bounds, each, *options) for each in edges], axis=0)
        ratios[shape] = stated(y, p, bounds, "auto", *options) / best
        print(shape, *(f"{name} {ratio:.2f}" for name, ratio in
                       zip(NAMES, ratios[shape], strict=True)), sep="; ", flush=True)
    judged = np.array([each for shape, each in ratios.items() if shape not in CHOSEN])
    for name, found in zip(NAMES, judged.T, strict=True):
        print(f"{name}: median {np.median(found):.2f}, largest {found.max():.2f}")


if __name__ == "__main__":
    main()
