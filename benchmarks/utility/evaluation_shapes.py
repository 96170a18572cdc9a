"""Coverage of private evaluation over shapes of scores, shares of positives, rows and budgets.

    python -m benchmarks.utility.evaluation_shapes [--draws 20] [--coarse] [--output FILE]

Each cell of the grid is one set of scores, which is evaluated over and over.
"""

import argparse
import itertools
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn import metrics

from dpsk.metrics import BinaryEvaluation
from dpsk.testing import NoiseSeed

PREVALENCES, ROWS, EPSILONS = (0.5, 0.1, 0.013), (500, 5000, 50_000), (0.5, 1.0, 4.0)
#: Probabilities of a score z, whose mean is higher for positives.
SHAPES = {"logistic": expit, "sharp": lambda z: expit(6.0 * z),
          "crowded": lambda z: 0.5 + 0.02 * np.tanh(z / 2.0),
          "rounded": lambda z: np.round(expit(z), 2),
          "bimodal": lambda z: np.where(z > 0.0, 0.85, 0.15) + 0.02 * np.tanh(z),
          "constant": lambda z: np.full(len(z), 0.3),
          "four numbers": lambda z: np.array([0.0731, 0.2113, 0.4177, 0.7919])[
              np.searchsorted([0.4, 0.7, 0.9], expit(z))],
          "reversed": lambda z: expit(-z)}
HEADER = """# Coverage of private evaluation by the shape of scores

`python -m benchmarks.utility.evaluation_shapes`: {draws} draws of the noise a cell; delta 1/n^2,
default bins. Of each shape and metric, over {cells} cells of share of positives, rows
and epsilon: the mean coverage of the stated 95 % interval, the least of a cell / the share of
cells whose mean error is at most half of the stated one. {draws} draws leave {doubt:.1f} points of
doubt in the coverage of one cell, so the least of {cells} is below what holds on average.
"""


def scored(shape, prevalence, n, seed=0):
    """Return labels and scores of a shape."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, int)
    y[:max(2, round(prevalence * n))] = 1
    z = rng.normal(size=n) + 1.5 * (y - 0.5)
    return y, SHAPES[shape](z)


def decided(score, **more):
    """Return a metric of predictions at one half."""
    return lambda y, p: score(y, p >= 0.5, **more)


METRICS = {
    "roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score,
    "brier_score": metrics.brier_score_loss, "accuracy": decided(metrics.accuracy_score),
    "balanced_accuracy": decided(metrics.balanced_accuracy_score),
    "precision": decided(metrics.precision_score, zero_division=0.0),
    "recall": decided(metrics.recall_score), "f1": decided(metrics.f1_score)}


def measured(shape, prevalence, n, epsilon, draws, names=METRICS):
    """Return (coverage, mean error, rms error, stated error) by metric."""
    y, p = scored(shape, prevalence, n)
    truth = {name: METRICS[name](y, p) for name in names}
    found = {name: [] for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(draws):
            evaluation = BinaryEvaluation.from_predictions(
                y, p, epsilon=epsilon, random_state=NoiseSeed(seed))
            for name in names:
                estimate = getattr(evaluation, name)()
                found[name].append((estimate.value, estimate.standard_error,
                                    *estimate.interval()))
    return {name: _summary(truth[name], np.array(found[name])) for name in names}


def _summary(truth, found):
    value, stated, low, high = found.T
    error = value - truth
    covers = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
    return np.mean(covers), np.mean(error), np.sqrt(np.mean(error**2)), np.mean(stated)


def lines(draws, cells, each):
    """Yield lines of the table, and of the cells that cover least to `each`."""
    yield HEADER.format(draws=draws, cells=len(cells),
                        doubt=100.0 * np.sqrt(0.95 * 0.05 / draws))
    yield f"| shape | {' | '.join(METRICS)} |"
    yield "|" + "---|" * (len(METRICS) + 1)
    for shape in SHAPES:
        found = [measured(shape, *cell, draws) for cell in cells]
        row = []
        for name in METRICS:
            cover, bias, _, stated = np.array([one[name] for one in found]).T
            near = np.mean(np.abs(bias) <= 0.5 * stated + 1e-9)
            row.append(f"{cover.mean():.3f}, {cover.min():.2f} / {near:.2f}")
            for cell, one in zip(cells, found, strict=True):
                each(f"{shape} {name} {cell} cover {one[name][0]:.2f} bias {one[name][1]:.4f} "
                     f"rms {one[name][2]:.4f} stated {one[name][3]:.4f}")
        yield f"| {shape} | {' | '.join(row)} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--coarse", action="store_true", help="every other cell of the grid")
    parser.add_argument("--cells", action="store_true", help="print every cell")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    cells = list(itertools.product(PREVALENCES, ROWS, EPSILONS))
    if given.coarse:
        cells = [cell for cell in cells if cell[1] != 50_000 and cell[2] != 1.0]
    said = "\n".join(lines(given.draws, cells, print if given.cells else lambda _: None))
    if given.output:
        given.output.write_text(said + "\n", encoding="utf-8")
    print(said)


if __name__ == "__main__":
    main()
