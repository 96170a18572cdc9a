"""What privacy adds to one step of a network, or of a critic: norms, clip, noise.

    python -m benchmarks.speed.networks [--output docs/results/network_speed.md] [--repeats 40]

Layers 784-256-128-1, batches of 2048 rows. "Private" is what a step of `sgd` does, by the same
classes; "plain" is the same step of the same passes over rows with neither norms nor clip nor
noise. They alternate in one process; the least time of each counts, and the traced peak.

A step of a critic, layers 784-256-10, is that of `DPWGAN`: it makes 256 rows by a generator of
layers 64-256-784, takes gradients on them and on as many rows of the table, and turns by Adam.
"""

import argparse
import tracemalloc
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.measuring import put_page
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import MLP
from dpsk._models.generator import Generator
from dpsk._objective.losses import Logistic
from dpsk._objective.saddle.critic import CriticScore
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import open_stream
from dpsk._privacy.plans import NoisySums
from dpsk._queries.critic import CriticOracle
from dpsk._queries.gradients import GradientOracle
from dpsk._solvers.adversarial.sgda import GeneratedBatch
from dpsk._solvers.steps import Adaptive, Momentum
from dpsk._sums.network_sums import NetworkSums

MODEL = MLP(784, (256, 128), None, "relu")
BATCH, BLOCK, STEP, CLIP, MULTIPLIER = 2048, 512, 1e-3, 1.0, 1.0
GENERATOR = Generator(64, (256,), 784, 10)
CRITIC, CRITIC_BATCH = MLP(784, (256,), 10, "relu"), 256


def private_steps(X, y, theta, count):
    """Return a function that makes one private step, `count` times at most."""
    declared = NoisySums(FullBatch(), count)
    oracle = GradientOracle(NetworkSums(MODEL, Logistic(), Rows(X, y), CLIP), declared, MULTIPLIER,
                            Session(open_stream(None, None), Ledger(declared(MULTIPLIER))))
    turn = Momentum(0.7)
    return lambda: theta - STEP * turn(oracle.gradient(theta))


def plain_steps(X, y, theta):
    """Return a function that makes one step of sums without norms, clip or noise."""
    turn, ones = Momentum(0.7), np.ones(BLOCK, np.float32)

    def step():
        total, single = np.zeros(MODEL.shape), theta.astype(np.float32)
        for start in range(0, BATCH, BLOCK):
            rows = slice(start, start + BLOCK)
            forward = MODEL.forward(single, X[rows])
            forward.backward(Logistic().gradient(y[rows], forward.raw.copy()))
            forward.add_gradient(ones, total)
        total /= BATCH
        return theta - STEP * turn(total)

    return step


def private_critic_steps(X, y, batch, made, theta, count):
    """Return a function that makes one private step of a critic, `count` times at most."""
    declared = NoisySums(FullBatch(), count)
    sums = NetworkSums(CRITIC, CriticScore(), Rows(X, y), CLIP)
    oracle = CriticOracle(sums, declared, MULTIPLIER,
                          Session(open_stream(None, None), Ledger(declared(MULTIPLIER))))
    turn = Adaptive(0.5)

    def step():
        rows, classes = batch(made)
        gradient = oracle.gradient(theta)
        gradient += oracle.opposed(theta, rows, classes)
        return theta - STEP * turn(gradient)

    return step


def plain_critic_steps(X, y, batch, made, theta):
    """Return a function that makes one step of a critic without norms, clip or noise."""
    turn, ones = Adaptive(0.5), np.ones(CRITIC_BATCH, np.float32)

    def step():
        total, single = np.zeros(CRITIC.shape), theta.astype(np.float32)
        for rows, labels, sign in ((X, y, -1.0), (*batch(made), 1.0)):
            forward = CRITIC.forward(single, rows)
            forward.backward(CriticScore(sign=sign).gradient(labels, forward.raw.copy()))
            forward.add_gradient(ones, total)
        total /= CRITIC_BATCH
        return theta - STEP * turn(total)

    return step


def peak(step):
    """Return the traced peak of one call in MiB."""
    tracemalloc.start()
    step()
    result = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return result


def measured(steps, repeats):
    """Return the least time of every step in ms, and its traced peak in MiB."""
    times = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(repeats):
        for name, step in steps.items():
            start = perf_counter()
            step()
            times[name].append(perf_counter() - start)
    return ({name: 1e3 * min(values) for name, values in times.items()},
            {name: peak(step) for name, step in steps.items()})


def table(times, peaks):
    """Return the lines of a table of private and plain steps."""
    return ["| | time (ms) | traced peak (MiB) |", "|---|---|---|",
            *(f"| {name} | {times[name]:.1f} | {peaks[name]:.1f} |" for name in times),
            f"| ratio | {times['private'] / times['plain']:.2f} | "
            f"{peaks['private'] / peaks['plain']:.2f} |", ""]


def network_steps(rng, repeats):
    X, y = rng.random((BATCH, 784), dtype=np.float32), rng.integers(2, size=BATCH)
    theta = MODEL.initial(lambda shape: rng.normal(size=shape))
    theta += 0.01 * rng.normal(size=theta.shape)
    return {"private": private_steps(X, y, theta, repeats + 2),
            "plain": plain_steps(X, y, theta)}


def critic_steps(rng, repeats):
    X, y = rng.random((CRITIC_BATCH, 784), dtype=np.float32), rng.integers(10, size=CRITIC_BATCH)
    draws = CriticOracle.public_draws(0)
    made = GENERATOR.initial(draws.normals)
    rows = X, y, GeneratedBatch(GENERATOR, draws, (0.1,) * 10, CRITIC_BATCH), made
    theta = CRITIC.initial(lambda shape: rng.normal(size=shape))
    theta += 0.01 * rng.normal(size=theta.shape)
    return {"private": private_critic_steps(*rows, theta, repeats + 2),
            "plain": plain_critic_steps(*rows, theta)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--repeats", type=int, default=40)
    arguments = parser.parse_args()
    rng, repeats = np.random.default_rng(0), arguments.repeats
    lines = ["# Speed of a private network step", "",
             "Layers 784-256-128-1 (234 k weights), batches of 2048 rows, least of "
             f"{repeats} interleaved steps, one process, {date.today()}.", "",
             *table(*measured(network_steps(rng, repeats), repeats)),
             "\"Plain\" has no norms, clip or noise. It too goes by blocks of 512 rows, which is "
             "no slower than the whole batch. Noise is drawn as in a fit without random_state, "
             "on a thread beside the sums.", "",
             "## One step of a critic", "",
             "Layers 784-256-10 (204 k weights), 256 rows of the table and 256 that a generator "
             "of layers 64-256-784 makes in the step, Adam.", "",
             *table(*measured(critic_steps(rng, repeats), repeats))]
    print("\n".join(lines))
    if arguments.output:
        put_page(arguments.output, "\n".join(lines))


if __name__ == "__main__":
    main()
