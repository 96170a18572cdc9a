"""What a stochastic step costs beyond its kernels, measured side by side in one process.

    python benchmarks/speed/steps.py [--output docs/results/step_speed.md]

Logistic loss, 50 000 rows of 50 features, batches of 50, random_state=None, one BLAS thread.
The kernels of a step: gather rows and labels, product with theta, derivative, clip weights,
transposed product, noise drawn in blocks, update. The rest is Poisson draws, ledger, checks, and
for `svrg` all that a difference takes besides one gradient.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Logistic
from dpsk._objective.penalties import ElasticNet
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._problem import Problem
from dpsk._solvers import SOLVERS

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import put_tables

N, D, BATCH, STEPS, REPEATS = 50_000, 50, 50, 200, 150
#: Microseconds a step beyond the kernels of one gradient.
BARS = {"sgd": 20, "svrg": 40, "svrgpp": 40}


def make_rows():
    """Return rows of norm about 1 and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) / np.sqrt(D)
    return X, rng.integers(2, size=N).astype(float)


def kernels(X, y, limits, batches):
    """Take noisy steps on given batches, with one noise block for as many steps as dpsk's."""
    theta, noise = np.zeros(D), iter(())
    for rows in batches:
        row = next(noise, None)
        if row is None:
            noise = iter(samplers.standard_normal(EntropyStream(), ((1 << 15) // D, D)))
            row = next(noise)
        chosen, bound = X[rows], limits[rows]
        z = chosen @ theta
        expit(z, out=z)
        z -= y[rows]
        np.minimum(z, bound, out=z)
        np.maximum(z, -bound, out=z)
        gradient = chosen.T @ z
        gradient += row
        theta = theta - 1e-4 * gradient
    return theta


def prepared(name, rows):
    """Return a function that runs the solver's loop on an oracle opened beforehand."""
    problem = Problem(n_samples=N, model=LinearModel(D, None, False, 1.0), loss=Logistic(),
                      penalty=ElasticNet(0.0), epsilon=1.0, delta=1e-6)
    solver = SOLVERS[name](max_iter=STEPS, batch_size=BATCH).configured(problem)
    plan = solver.queries(problem)
    z = calibrate(plan, problem.epsilon, problem.delta)

    def run():
        session = Session(EntropyStream(), Ledger(plan(z)))
        oracle = plan.run((problem, rows), session, z)
        anchors = timed_anchors(oracle) if hasattr(oracle, "difference") else []
        start = time.thread_time()
        solver.minimize(oracle, problem.penalty, np.zeros(D))
        return time.thread_time() - start - sum(anchors)

    return run


def timed_anchors(oracle):
    """Return a list to which the time of every full gradient is added: it is no step's cost."""
    times, answer = [], oracle.gradient

    def gradient(anchor):
        start = time.thread_time()
        result = answer(anchor)
        times.append(time.thread_time() - start)
        return result

    oracle.gradient = gradient
    return times


def measure():
    """Return name -> (kernels, step) in microseconds, least of REPEATS interleaved runs."""
    X, y = make_rows()
    limits = np.full(N, 0.3)
    runs = {name: prepared(name, Rows(X, y)) for name in BARS}
    rng = np.random.default_rng(1)
    sizes = rng.binomial(N, BATCH / N, size=STEPS)
    batches = [np.sort(rng.integers(N, size=size)) for size in sizes]
    least = dict.fromkeys(["kernels", *runs], np.inf)
    for _ in range(REPEATS):
        start = time.thread_time()
        kernels(X, y, limits, batches)
        least["kernels"] = min(least["kernels"], time.thread_time() - start)
        for name, run in runs.items():
            least[name] = min(least[name], run())
    return {name: 1e6 * value / STEPS for name, value in least.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    with threadpool_limits(1):
        times = measure()
    bare = times.pop("kernels")
    lines = ["| solver | step | kernels | beyond | bar |", "|---|---|---|---|---|"]
    lines += [f"| {name} | {value:.1f} | {bare:.1f} | {value - bare:.1f} | {BARS[name]} |"
              for name, value in times.items()]
    print("\n".join(lines))
    if output:
        put_tables(output, "\n".join(lines))


if __name__ == "__main__":
    main()
