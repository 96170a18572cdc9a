"""How often intervals of statistics cover: the share of tables whose exact number is in them.

    python -m benchmarks.utility.statistics [--tables 2000] [--output docs/results/statistics.md]
"""

import argparse
import sys
import warnings
from datetime import date

import numpy as np

from dpsk.statistics import dp_mean, dp_quantile, dp_std, dp_sum

SEED, BOUNDS = 7, (0.0, 200.0)
#: Shapes that constants were chosen on, and others to judge by.
CHOSEN = {
    "normal": lambda rng, n: rng.normal(40, 12, n),
    "lognormal": lambda rng, n: rng.lognormal(3, 1, n),
    "digits": lambda rng, n: rng.integers(0, 10, n).astype(float),
    "zeros or exponential": lambda rng, n: rng.exponential(50, n) * (rng.random(n) < 0.3)}
JUDGED = {
    "exponential": lambda rng, n: rng.exponential(30, n),
    "t of 2.5": lambda rng, n: 100 + 10 * rng.standard_t(2.5, n),
    "Pareto of 2.5": lambda rng, n: 10 * (1 + rng.pareto(2.5, n)),
    "gamma of .3": lambda rng, n: 20 * rng.gamma(0.3, size=n),
    "arcsine": lambda rng, n: 100 * rng.beta(0.5, 0.5, n),
    "Poisson of 2": lambda rng, n: rng.poisson(2, n).astype(float),
    "two modes, a fifth missing": lambda rng, n: np.where(
        rng.random(n) < 0.2, np.nan, np.where(rng.random(n) < 0.6, rng.normal(20, 5, n),
                                              rng.normal(80, 3, n)))}
#: Numbers that many rows share: multiples of steps, the last of none that is known.
SHARED = {
    "halves": lambda rng, n: np.round(2 * rng.normal(42, 2, n)) / 2,
    "tenths": lambda rng, n: np.round(rng.gamma(2, size=n), 1),
    "quarters": lambda rng, n: np.round(4 * rng.exponential(4, n)) / 4,
    "twos": lambda rng, n: 2.0 * rng.poisson(5, n),
    "fifties": lambda rng, n: 50 * np.round(rng.lognormal(6, 0.6, n) / 50),
    "thousands": lambda rng, n: np.round(rng.lognormal(10, 0.8, n), -3),
    "half are 40": lambda rng, n: np.where(rng.random(n) < 0.5, 40,
                                           np.round(rng.normal(40, 12, n))),
    "thirds": lambda rng, n: np.round(3 * rng.normal(size=n)) / 3}


def _cut(x):
    return np.clip(x, *BOUNDS)


#: The release, the exact number of the rows or of many of their population, and (n, epsilon).
DECLARED, LEARNT = [(1000, 0.5), (10_000, 1.0)], [(3000, 1.0)]
STATISTICS = {
    "sum": (lambda x, **more: dp_sum(x, bounds=BOUNDS, **more), lambda x: np.nansum(_cut(x)),
            False, DECLARED),
    "mean": (lambda x, **more: dp_mean(x, bounds=BOUNDS, **more), lambda x: np.nanmean(_cut(x)),
             False, DECLARED),
    "mean of the population": (
        lambda x, **more: dp_mean(x, bounds=BOUNDS, population=True, **more),
        lambda x: np.nanmean(_cut(x)), True, DECLARED),
    "standard deviation": (lambda x, **more: dp_std(x, bounds=BOUNDS, **more),
                           lambda x: np.nanstd(_cut(x)), False, DECLARED),
    "mean, learned range": (dp_mean, None, False, LEARNT),
    "the same, uncut": (dp_mean, np.nanmean, False,
                        [(500, 4.0), (3000, 0.5), *LEARNT, (30_000, 4.0)]),
    "standard deviation, learned range, uncut": (dp_std, np.nanstd, False,
                                                 [(500, 4.0), *LEARNT]),
    "median": (lambda x, **more: dp_quantile(x, 0.5, **more), np.nanmedian, False, LEARNT),
    "quantile .9": (lambda x, **more: dp_quantile(x, 0.9, **more),
                    lambda x: np.nanquantile(x, 0.9), False, LEARNT),
    "median of the population": (
        lambda x, **more: dp_quantile(x, 0.5, population=True, **more), np.nanmedian, True,
        LEARNT)}
QUANTILES = {
    f"quantile {q}": (lambda x, q=q, **more: dp_quantile(x, q, **more),
                      lambda x, q=q: np.quantile(x, q, method="inverted_cdf"), False,
                      [(1000, 1.0), (5000, 1.0)]) for q in (0.1, 0.25, 0.5, 0.9)}


def covered(release, exact, of_population, draw, n, epsilon, tables):
    """Return the share of tables whose exact number is within the interval of 95 %."""
    rng, hits = np.random.default_rng(SEED), 0
    whole = exact(draw(np.random.default_rng(99), 3_000_000)) if of_population else None
    for _ in range(tables):
        x = draw(rng, n)
        found = release(x, epsilon=epsilon)
        low, high = found.interval(0.95)
        value = whole if of_population else (
            np.nanmean(np.clip(x, *found.bounds)) if exact is None else exact(x))
        hits += low <= value <= high
    return hits / tables


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--output", type=argparse.FileType("w"), default=sys.stdout)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for title, statistics, shapes in (("judged", STATISTICS, JUDGED),
                                      ("chosen on", STATISTICS, CHOSEN),
                                      ("shared numbers", QUANTILES, SHARED)):
        print(f"\n| {title} | n | epsilon | " + " | ".join(shapes) + " |\n"
              + "|---" * (3 + len(shapes)) + "|", file=given.output)
        for name, (*about, cells) in statistics.items():
            for n, epsilon in cells:
                line = [f"{covered(*about, draw, n, epsilon, given.tables):.3f}"
                        for draw in shapes.values()]
                print(f"| {name} | {n} | {epsilon} | " + " | ".join(line) + " |",
                      file=given.output, flush=True)
    print(f"\n{given.tables} tables a cell, {date.today()}.", file=given.output)


if __name__ == "__main__":
    main()
