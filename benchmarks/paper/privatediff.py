"""PrivateDiff against DP-SGDA, both sound: Zhang et al. (2025), at equal budget and equal work.

    python benchmarks/paper/privatediff.py --part linear

Work is the number of times that a row's score is taken and differentiated: a difference is two,
and so is a dual and a primal gradient on separate batches. Columns: "sgda" with
its defaults; the best of its first step and the half of it, for linear scores the
quarter too; the best and the median
of a grid for "privatediff". "Best" is *by test AUC in that cell*.
"curves" draws figure 1 of the paper, of exact gradients of all rows: **not private**, these
diagnostics leave the oracle here only.
"""

import argparse
import itertools
import sys
from pathlib import Path
from typing import ClassVar

import matplotlib
import numpy as np

from dpsk import DPAUCMaximizer
from dpsk._queries.saddle import SaddleOracle
from dpsk._queries.saddle_difference import SaddleDifferenceOracle
from dpsk._solvers.saddle.privatediff import PrivateDiff
from dpsk._solvers.saddle.sgda import GradientDescentAscent
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parent))
import auc_networks
import datasets

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: Period, factor of the first step, noise of differences over that of bases, C2 = C3.
LINEAR_GRID = list(itertools.product((2, 4), (0.25, 0.5), (1.0, 3.0), (2.0,)))
NETWORK_GRID = [(2, 0.25, 1.0, 0.5), (2, 0.5, 1.0, 0.5), (4, 0.25, 1.0, 0.5)]




class Watched:
    """An oracle's answers against exact sums of clipped gradients; see `curves`."""

    #: Odd, so that bases and differences of an even period both have their turn.
    every = 15

    def watch(self, point, estimate):
        """Note the norm of the mean gradient and the estimate's squared distance from it."""
        if self.seen % self.every == 0:
            exact = self._sums.gradients(*point)[0] / self._sums.n_samples
            self.notes.append((self.seen, np.linalg.norm(exact),
                               np.square(estimate - exact).sum()))
        type(self).seen += 1


class WatchedJoint(Watched, SaddleOracle):
    notes: ClassVar[list] = []
    seen = 0

    def gradients(self, primal, dual):
        answers = super().gradients(primal, dual)
        self.watch((primal, dual), answers[0])
        return answers


class WatchedDifferences(Watched, SaddleDifferenceOracle):
    notes: ClassVar[list] = []
    seen = 0

    def gradient(self, primal, dual):
        self._estimate = super().gradient(primal, dual)
        self.watch((primal, dual), self._estimate)
        return self._estimate.copy()

    def difference(self, new, old):
        change = super().difference(new, old)
        self._estimate = self._estimate + change
        self.watch(new, self._estimate)
        return change


class WatchedDescentAscent(GradientDescentAscent):
    oracle = WatchedJoint


class WatchedPrivateDiff(PrivateDiff):
    oracle = WatchedDifferences


class WatchedMaximizer(DPAUCMaximizer):
    _solvers: ClassVar[dict] = {"sgda": WatchedDescentAscent, "privatediff": WatchedPrivateDiff}


def work(period):
    """Return gradients a row and round: one dual, then a primal one or two for a difference."""
    return 1.0 + (2.0 * period - 1.0) / period


def linear(epsilon, seed, data, **settings):
    return DPAUCMaximizer(epsilon, loss="auc", positive_ratio=round(float(data[2].mean()), 4),
                          classes=[0, 1], random_state=NoiseSeed(seed), **settings)


def differences(steps, first_step, period, factor, ratio, slope):
    """Return settings of "privatediff" with the work of `steps` steps of "sgda"."""
    return {"solver": "privatediff", "max_iter": max(4, round(steps / work(period))),
            "learning_rate": factor * first_step,
            "solver_options": {"period": period, "difference_ratio": ratio,
                               "slopes": (slope, slope)}}


def duel(make, grid, first_step, epsilon, runs, base_factors=(0.5,)):
    """Return mean AUCs of "sgda" at several first steps and of "privatediff" on `grid`."""
    def mean(**settings):
        models = [make(epsilon, seed, data, **settings) for seed, data in runs]
        scores = [auc_networks.score(model, data)
                  for model, (_, data) in zip(models, runs, strict=True)]
        return float(np.mean(scores)), models[0].n_iter_

    default, steps = mean(solver="sgda")
    first = first_step(steps, runs[0][1][2].mean())
    base = {1.0: default, **{factor: mean(solver="sgda", learning_rate=factor * first)[0]
                             for factor in base_factors}}
    return base, {settings: mean(**differences(steps, first, *settings))[0]
                  for settings in grid}


def report(label, epsilon, result):
    base, other = result
    period, factor, ratio, slope = best = max(other, key=other.get)
    print(f"| {label} | {epsilon:g} | {base[1.0]:.4f} | {max(base.values()):.4f} | "
          f"{other[best]:.4f} | {np.median(list(other.values())):.4f} | period {period}, "
          f"step {factor:g}, ratio {ratio:g}, slopes {slope:g} |", flush=True)


def network_step(steps, ratio):
    """Return the first step of configured_saddle, from its 300 k steps."""
    return min(2.0 * steps / 300.0, 1.25 / min(ratio, 1.0 - ratio)) / 4.0


def linear_cells(options):
    for name in ("adult", "bank", "credit"):
        runs = [(seed, datasets.load(name)) for seed in range(options.seeds)]
        for epsilon in (0.2, 0.5, 1.0, 2.0):
            report(name, epsilon, duel(linear, LINEAR_GRID, lambda *_: 16.0, epsilon, runs,
                                       (0.5, 0.25)))


def network_cells(options):
    for name in options.sets:
        for imbalanced in options.balance:
            runs = [(split, auc_networks.task(name, split, imbalanced))
                    for split in range(options.splits)]
            for epsilon in options.epsilons:
                report(("imbalanced " if imbalanced else "") + name, epsilon,
                       duel(auc_networks.network, NETWORK_GRID, network_step, epsilon, runs))


def curves(options):
    """Draw the gradient's norm and the estimate's error, as in figure 1 (a) and (b)."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, color in zip(options.sets, ("C0", "C1"), strict=False):
        data = auc_networks.task(name, 0, 0)
        steps = 0
        for oracle, style in ((WatchedJoint, "-"), (WatchedDifferences, "--")):
            oracle.notes.clear()
            oracle.seen = 0
            joint = oracle is WatchedJoint
            settings = ({"solver": "sgda"} if joint else
                        differences(steps, network_step(steps, data[2].mean()), 2, 0.5, 1.0, 0.5))
            model = auc_networks.network(1.0, 0, data, WatchedMaximizer, **settings)
            score = auc_networks.score(model, data)
            steps = model.n_iter_
            rounds, norms, errors = np.array(oracle.notes).T
            label = f"{settings['solver']}, {name}: AUC {score:.4f}"
            axes[0].semilogy(rounds, norms, color + style, label=label)
            axes[1].plot(rounds, errors, color + style, label=label)
            print(label, f"mean norm {norms.mean():.4f}, mean error {errors.mean():.4f}")
    axes[0].set(xlabel="iteration", title="norm of the mean clipped gradient of all rows")
    axes[1].set(xlabel="iteration", title="squared distance of the estimate from it")
    axes[0].legend(fontsize="x-small")
    figure.savefig(options.output / "auc_gradients.png", dpi=120)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=["linear", "networks", "curves"], required=True)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--sets", nargs="+", default=["mnist", "fashion_mnist"])
    parser.add_argument("--balance", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 5.0])
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    {"linear": linear_cells, "networks": network_cells, "curves": curves}[options.part](options)


if __name__ == "__main__":
    main()
