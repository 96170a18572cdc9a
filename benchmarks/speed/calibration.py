"""Time to calibrate noise, beside dp-accounting, as a markdown table.

    python benchmarks/speed/calibration.py [--output docs/results/calibration_speed.md]

Both accountants use the replace-one relation; dp-accounting has no Poisson replace-one pair, so
it is given the closed-form profile of the same dominating pair and composes it at its default
grid of 1e-4.
"""

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Repeated, SampledGaussian
from dpsk._privacy.pld.distributions import NormalMixture

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import put_tables

CASES = [(0.01, 1000, 1.0, 1e-5), (0.001, 10_000, 1.0, 1e-6), (0.2, 50, 1.0, 1e-5),
         (256 / 60_000, 11_750, 8.0, 2.7e-10), (0.01, 100_000, 3.0, 1e-8)]
RATES = (1e-4, 1e-3, 0.02, 0.3)
STEPS = (1, 100, 10_000, 1_000_000)
EPSILONS = (0.05, 1.0, 20.0)
DELTAS = (1e-12, 1e-7, 1e-3)
SMALL = [(1e-6, 100_000, 1.0, 1e-10), (1e-6, 1_000_000, 8.0, 1e-10),
         (256 / 1e7, 40_000, 1.0, 1e-9), (256 / 1e7, 1_000_000, 0.5, 1e-14),
         (1e-5, 1_000_000, 2.0, 1e-12)]


def ours(q, steps, epsilon, delta):
    return calibrate(lambda z: Repeated(SampledGaussian(q, z), steps), epsilon, delta)


def theirs(q, steps, epsilon, delta):
    from dp_accounting.pld import pld_pmf

    def excess(log_z):
        law = NormalMixture(q, math.exp(log_z))
        step, largest = 1e-4, law.largest_loss(1e-15)
        size = math.ceil(largest / step)
        grid = step * np.arange(size + 1)
        x = law._inverse(grid)
        common = (1 - q) * ndtr(-x / law.z)
        positive = (common + q * ndtr((1 - x) / law.z)
                    - np.exp(grid) * (common + q * ndtr((-1 - x) / law.z)))
        negative = -np.expm1(-grid) + np.exp(-grid) * positive
        profile = np.minimum.accumulate(np.concatenate([negative[:0:-1], positive]))
        one = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -size, size, profile)
        total = one.self_compose(steps, tail_mass_truncation=1e-15)
        return math.log(max(total.get_delta_for_epsilon(epsilon), 1e-300) / delta)

    guess = math.log(ours(q, steps, epsilon, delta))
    return math.exp(brentq(excess, guess - 1, guess + 1, xtol=1e-6))


def timed(function, *case):
    start = time.perf_counter()
    value = function(*case)
    return value, time.perf_counter() - start


def comparison():
    yield ("| q | steps | epsilon | delta | noise, dpsk | seconds, dpsk "
           "| noise, dp-accounting | seconds, dp-accounting |")
    yield "|---|---|---|---|---|---|---|---|"
    for case in CASES:
        scale, seconds = timed(ours, *case)
        try:
            other, other_seconds = timed(theirs, *case)
            peer = f"{other:.6g} | {other_seconds:.2f}"
        except ImportError:
            peer = "not installed | "
        yield "| " + " | ".join(f"{v:.4g}" for v in case) + (
            f" | {scale:.6g} | {seconds:.3f} | {peer} |")


def grid_times():
    times = []
    for q in RATES:
        for steps in STEPS:
            for epsilon in EPSILONS:
                for delta in DELTAS:
                    if delta < -math.expm1(steps * math.log1p(-q)):
                        times.append((timed(ours, q, steps, epsilon, delta)[1],
                                      (q, steps, epsilon, delta)))
    return times


def report():
    yield from comparison()
    times = grid_times()
    worst = max(times)
    yield (f"\nGrid of {len(times)} settings (q >= 1e-4, up to 1e6 steps, epsilon 0.05 to 20, "
           f"delta 1e-12 to 1e-3): median {statistics.median(t for t, _ in times):.3f} s, "
           f"largest {worst[0]:.2f} s at (q, steps, epsilon, delta) = {worst[1]}.\n")
    yield "| small q | steps | epsilon | delta | noise | seconds | share of delta for rounding |"
    yield "|---|---|---|---|---|---|---|"
    for q, steps, epsilon, delta in SMALL:
        scale, seconds = timed(ours, q, steps, epsilon, delta)
        share = accountant.account(Repeated(SampledGaussian(q, scale), steps), epsilon).fft_share
        yield (f"| {q:.3g} | {steps} | {epsilon:g} | {delta:g} | {scale:.6g} | {seconds:.2f} "
               f"| {share:.1e} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="page that the tables are put into")
    output = parser.parse_args().output
    text = "\n".join(report()) + "\n"
    sys.stdout.write(text)
    if output:
        put_tables(output, text)


if __name__ == "__main__":
    main()
