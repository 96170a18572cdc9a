"""A generator and its critic on MNIST: Wasserstein estimates, rows and pictures of them.

    python -m benchmarks.paper.wgan [--part curves samples solvers] [--rounds 100]
        [--output docs/results]

Networks, batch and clips are those of Table 4 of Zhang et al. (2025), which makes 11 750 rounds of
one critic step; `--rounds` says how many there are here, and noise is for as many.

"As printed" the generator's gradient is clipped and noised too, by the noise multiplier of the
critic's, and so are differences of it. Clips are of mean gradients, not of every row's. That
protects nothing that is not post-processing already, and costs the budget nothing here.
"""

import argparse
import warnings
from pathlib import Path
from unittest import mock

import matplotlib
import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.datasets import load
from dpsk import DPWGAN, DPGaussianSampler
from dpsk._solvers.adversarial import privatediff, sgda

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EPSILONS, DELTA = (8.0, 16.0, 32.0), 1e-5
#: Table 4 and section 9.2.2; steps are not printed.
PRINTED = {"hidden_layer_sizes": (512, 256), "generator_hidden_layer_sizes": (256, 512, 1024),
           "n_noise": 128, "batch_size": 256, "clip_norm": 0.3, "init": "random",
           "solver_options": {"critic_steps": 1, "generator_learning_rate": 1e-4}}
CLIP = 0.3
#: Rows of either kind that an estimate is made of.
ROWS = 256
SOLVERS = {"sgda": sgda.AdversarialDescentAscent,
           "privatediff": privatediff.AdversarialPrivateDiff}
#: Rounds that take the gradients of as many batches, four of them for the critic in either.
EQUAL_WORK = {"sgda": 110, "privatediff": 100}


class Watch:
    """Wasserstein estimates before every step of a generator: mean scores of test rows, less
    those of generated ones. And how far apart the mean rows of both are, with entries in [-1, 1].
    """

    def __init__(self, X, seed):
        self._X, self._rng, self.found = 2.0 * X[:ROWS] - 1.0, np.random.default_rng(seed), []
        self.apart = []

    def __call__(self, batch, made, oracle, theta):
        made_rows = batch._generator.forward(
            made, self._rng.standard_normal((ROWS, batch._generator.n_noise), np.float32),
            np.zeros(ROWS, int)).rows
        real, other = (oracle.critic.forward(theta, rows).raw.mean()
                       for rows in (self._X, made_rows))
        self.found.append(float(real - other))
        self.apart.append(float(np.linalg.norm(self._X.mean(axis=0) - made_rows.mean(axis=0))))


def watched(cls, watch, noise):
    """Return a context in which a solver's generator is watched, with `noise` on its gradient.

    `noise` is the standard deviation on every coordinate of what is clipped to CLIP, or None.
    """
    rng, inner = np.random.default_rng(0), cls._puller

    def puller(solver, oracle):
        pull, kept, count = inner(solver, oracle), None, 0
        period = getattr(solver, "period", 1)

        def noised(batch, made, theta):
            nonlocal kept, count
            watch(batch, made, oracle, theta)
            gradient = pull(batch, made, theta)
            if noise is None:
                return gradient
            # What is noised: the gradient, or how it changed since the last round.
            part = gradient - kept[0] if count % period else gradient
            part = part * min(1.0, CLIP / max(float(np.linalg.norm(part)), 1e-30))
            part = part + noise * rng.standard_normal(part.shape, np.float32)
            answer = part + kept[1] if count % period else part
            kept, count = (gradient, answer), count + 1
            return answer.copy()
        return noised

    return mock.patch.object(cls, "_puller", puller)


def curves(X, X_test, rounds):
    """Return {(epsilon, solver, printed): estimates}."""
    found = {}
    for epsilon in EPSILONS:
        for name, cls in SOLVERS.items():
            multiplier = None
            for printed in (False, True):
                watch = Watch(X_test, 1)
                # Noise as on the critic's mean gradients, which the first fit tells.
                noise = multiplier * CLIP / PRINTED["batch_size"] if printed else None
                with watched(cls, watch, noise):
                    model = DPWGAN(epsilon, delta=DELTA, feature_range=(0, 1), solver=name,
                                   max_iter=rounds, random_state=0, **PRINTED).fit(X)
                multiplier = model.privacy_.noise_multiplier
                found[epsilon, name, printed] = watch.found
                tail = np.array(watch.found[-rounds // 4:])
                print(f"| {epsilon:g} | {name} | {'as printed' if printed else 'sound'} "
                      f"| {watch.found[rounds // 4]:.3f} | {tail.mean():.3f} | {tail.std():.3f} | "
                      f"{np.abs(np.diff(watch.found)).mean():.3f} | {watch.apart[0]:.1f} "
                      f"| {watch.apart[-1]:.1f} |", flush=True)
    return found


def draw(found, path):
    """Draw the estimates by epsilon."""
    figure, axes = plt.subplots(2, len(EPSILONS), figsize=(9, 4.5), sharex=True, sharey="col")
    for (epsilon, name, printed), values in found.items():
        axis = axes[int(printed), EPSILONS.index(epsilon)]
        axis.plot(values, label=name, linewidth=1)
        axis.set_title(f"epsilon {epsilon:g}, {'as printed' if printed else 'sound'}", fontsize=9)
        axis.axhline(0.0, color="0.8", linewidth=0.5, zorder=0)
    axes[0, 0].legend(fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("round")
    figure.supylabel("Wasserstein estimate", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def samples(X, y, path):
    """Draw generated digits: a row of pictures for epsilon and sampler."""
    figure, axes = plt.subplots(2, len(EPSILONS), figsize=(7.5, 3.4))
    for column, epsilon in enumerate(EPSILONS):
        for axis, cls in zip(axes[:, column], (DPWGAN, DPGaussianSampler), strict=True):
            sampler = cls(epsilon, delta=DELTA, feature_range=(0, 1), classes=range(10)).fit(X, y)
            rows = sampler.sample(30, y=np.tile(np.arange(10), 3), random_state=0)[0]
            axis.imshow(np.vstack([np.hstack(line.reshape(10, 28, 28))
                                   for line in np.split(rows, 3)]), cmap="gray_r", vmin=0, vmax=1)
            axis.set_title(f"{cls.__name__}, epsilon {epsilon:g}", fontsize=8)
            axis.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def solvers(X, X_test, y, y_test, seeds):
    """Print what a classifier learns from rows of either solver, at equal work."""
    for epsilon in EPSILONS:
        scores = {name: [] for name in SOLVERS}
        for seed in range(seeds):
            for name, rounds in EQUAL_WORK.items():
                model = DPWGAN(epsilon, delta=DELTA, feature_range=(0, 1), solver=name,
                               init="random", max_iter=rounds, batch_size=1024,
                               hidden_layer_sizes=64, random_state=seed,
                               classes=range(10)).fit(X, y)
                rows, labels = model.sample(10_000, random_state=seed)
                scores[name].append(100 * LogisticRegression(max_iter=60, C=0.1).fit(
                    rows, labels).score(X_test, y_test))
        print(f"| {epsilon:g} | " + " | ".join(f"{np.mean(each):.1f} ± {np.std(each):.1f}"
                                               for each in scores.values()) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", nargs="+", default=["curves", "samples", "solvers"])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    X, X_test, y, y_test = load("mnist")
    X = X.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "samples" in options.part:
            samples(X, y, options.output / "wgan_samples.png")
        if "curves" in options.part:
            draw(curves(X, X_test, options.rounds), options.output / "wgan_estimates.png")
        if "solvers" in options.part:
            solvers(X, X_test, y, y_test, options.seeds)


if __name__ == "__main__":
    main()
