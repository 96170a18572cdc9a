"""What privacy adds to one step of a network: norms, clip, noise against the plain step.

    python benchmarks/speed/networks.py [--output docs/results/network_speed.md] [--repeats 40]

Layers 784-256-128-1, batches of 2048 rows. "Private" is what a step of `sgd` does, by the same
classes; "plain" is the same step of the same passes over rows with neither norms nor clip nor
noise. They alternate in one process; the least time of each counts, and the traced peak.
"""

import argparse
import tracemalloc
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np

from dpsk._data.source import Rows
from dpsk._models import MLP
from dpsk._objective.losses import Logistic
from dpsk._oracle import GradientOracle, Releases
from dpsk._oracle.network_sums import NetworkSums
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import open_stream
from dpsk._privacy.plans import NoisySums
from dpsk._solvers.steps import Momentum

MODEL = MLP(784, (256, 128), None, "relu")
BATCH, BLOCK, STEP, CLIP, MULTIPLIER = 2048, 512, 1e-3, 1.0, 1.0


def private_steps(X, y, theta, count):
    """Return a function that makes one private step, `count` times at most."""
    declared = NoisySums(FullBatch(), count)
    oracle = GradientOracle(NetworkSums(MODEL, Logistic(), Rows(X, y), CLIP), declared, MULTIPLIER,
                            Releases(open_stream(None, None), Ledger(declared(MULTIPLIER))))
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


def peak(step):
    """Return the traced peak of one call in MiB."""
    tracemalloc.start()
    step()
    result = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--repeats", type=int, default=40)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X, y = rng.random((BATCH, 784), dtype=np.float32), rng.integers(2, size=BATCH)
    theta = MODEL.initial(lambda shape: rng.normal(size=shape))
    theta += 0.01 * rng.normal(size=theta.shape)
    steps = {"private": private_steps(X, y, theta, arguments.repeats + 2),
             "plain": plain_steps(X, y, theta)}
    times = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(arguments.repeats):
        for name, step in steps.items():
            start = perf_counter()
            step()
            times[name].append(perf_counter() - start)
    least = {name: 1e3 * min(values) for name, values in times.items()}
    peaks = {name: peak(step) for name, step in steps.items()}
    lines = [f"# One step of a network ({date.today()})", "",
             "Layers 784-256-128-1 (234 k weights), batches of 2048 rows, the least of "
             f"{arguments.repeats} interleaved steps, one process.", "",
             "| | time (ms) | traced peak (MiB) |", "|---|---|---|",
             *(f"| {name} | {least[name]:.1f} | {peaks[name]:.1f} |" for name in steps),
             f"| ratio | {least['private'] / least['plain']:.2f} | "
             f"{peaks['private'] / peaks['plain']:.2f} |", "",
             "\"Plain\" has neither norms nor clip nor noise. It too goes by blocks of 512 rows, "
             "which is no slower than the batch at once. Noise is drawn as in a fit without "
             "random_state, on a thread beside the sums.", ""]
    print("\n".join(lines))
    if arguments.output:
        arguments.output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
