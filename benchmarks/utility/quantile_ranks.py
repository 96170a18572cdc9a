"""How far private quantiles are from their ranks, against a choice within exactly known bounds.

    python -m benchmarks.utility.quantile_ranks --output docs/results/quantile_ranks.md

The rival is the exponential mechanism of the same price whose base is uniform between the least
and the largest number, which it is told. Of a single quantile the mean error is computed from
the chances of all points, for some tables of every law; of knots, by halving, it is measured.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.datasets import load_table
from benchmarks.measuring import put_page
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics.cells import noisy_knots, rank_noise
from dpsk._statistics.decimals import decimal_points

SETTINGS = ((1_000, 0.3), (10_000, 0.02), (100_000, 0.02))
QUANTILES, LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9), 3
LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "normal at 50": lambda rng, n: 50.0 + rng.normal(size=n),
    "normal / 1000": lambda rng, n: 1e-3 * rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "exponential, 1e4": lambda rng, n: rng.exponential(1e4, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "lognormal, sigma 2": lambda rng, n: rng.lognormal(8.0, 2.0, n),
    "half 0": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.lognormal(8.0, 1.0, n)),
    "years": lambda rng, n: np.round(2000.0 + 5.0 * rng.normal(size=n)),
}
COLUMNS = (("adult", "age"), ("adult", "fnlwgt"), ("adult", "hours"), ("bank", "balance"),
           ("bank", "duration"), ("credit", "LIMIT_BAL"), ("credit", "BILL_AMT1"),
           ("bike", "hum"), ("wine", "density"), ("wine", "chlorides"))
HEADER = """# Accuracy of private quantiles

Distance of a private quantile from its rank, over n. The rival is the exponential mechanism at the
same privacy cost, told the least and largest value. (n, mu) belong to one quantile. "Known bounds"
is the rival. Single: mean over q = .1, .25, .5, .75 and .9 and {tables} tables; "worst q" is the
largest ratio of one q. Knots: seven by halving, {draws} tables and draws; "se" is the standard
error of the ratio. Features of real tables are drawn from with replacement.

Command: `python -m benchmarks.utility.quantile_ranks --output docs/results/quantile_ranks.md`.
"""


def drawn(law, n, seed):
    """Return a table of n numbers of a law, or of a column of a set."""
    rng = np.random.default_rng(seed)
    return np.sort(law(rng, n))


def resampled(name, column):
    """Return a law that draws from a column of a set."""
    numbers = load_table(name)[0][column].to_numpy(float)
    return lambda rng, n: rng.choice(numbers, n)


def misses(numbers, points, rank):
    """Return how many ranks points are off."""
    below, up_to = np.searchsorted(numbers, points), np.searchsorted(numbers, points, "right")
    return np.maximum(0.0, np.maximum(below - rank, rank - up_to))


def own_miss(numbers, q, exponent, points):
    """Return the mean miss of our choice."""
    places = points.places(numbers)
    cells = np.arange(len(points.first)) * points.n_each
    starts = np.unique(np.concatenate([cells, places, places + 1]))
    starts = starts[starts < len(points)]
    cell = starts // points.n_each
    step = starts - cell * points.n_each
    weights = points.cell_weights[cell] * (
        points.up_to[step + np.diff(starts, append=len(points))] - points.up_to[step])
    rank = q * len(numbers)
    chances = weights * np.exp(-exponent * misses(places, starts, rank))
    real = misses(numbers, values(points, starts), rank)
    return chances @ real / chances.sum()


def values(points, places):
    """Return the points at some places."""
    cells, steps = np.divmod(places, points.n_each)
    ends = points.first[np.minimum(cells + 1, len(points.first) - 1)]
    return points.first[cells] + (ends - points.first[cells]) * (steps / points.n_each)


def known_miss(numbers, q, exponent):
    """Return the mean miss of a choice that is uniform between the ends."""
    miss = np.abs(np.arange(1, len(numbers)) - q * len(numbers))
    chances = np.diff(numbers) * np.exp(-exponent * (miss - miss.min()))
    return chances @ miss / chances.sum()


def known_knots(numbers, levels, exponent, rng):
    """Return knots by halving, each choice uniform between the ends of its slice."""
    parted = [numbers[0], numbers[-1]]
    for _ in range(levels):
        for low, high in list(pairwise(parted)):
            inside = numbers[np.searchsorted(numbers, low, "right"):
                             np.searchsorted(numbers, high)]
            edges = np.concatenate([[low], inside, [high]])
            miss = np.abs(np.arange(len(inside) + 1) - 0.5 * len(inside))
            with np.errstate(divide="ignore"):
                score = np.log(np.diff(edges)) - exponent * miss
            gap = np.argmax(score + rng.gumbel(size=len(score)))
            parted.append(rng.uniform(edges[gap], edges[gap + 1]))
        parted.sort()
    return np.array(parted[1:-1])


def knot_misses(law, n, mu, draws, seed):
    """Return the mean miss of every draw of our knots, and of the rival's."""
    event = Gaussian(mu)
    exponent, targets = 1.0 / rank_noise(event), np.arange(1, 2**LEVELS) / 2**LEVELS
    found = []
    for draw in range(draws):
        numbers = drawn(law, n, (seed, draw))
        rows = Rows(numbers[:, None], np.zeros(n))
        session = Session(EntropyStream(), Ledger(Repeated(event, LEVELS)))
        own = np.sort(np.concatenate(noisy_knots(
            rows, lambda rows, part: rows.take(part).X[:, 0], LEVELS, None, event, session)))
        known = known_knots(numbers, LEVELS, exponent, np.random.default_rng((7, seed, draw)))
        found.append([misses(numbers, knots, targets * n).mean() / n for knots in (own, known)])
    return np.array(found)


def line(name, law, n, mu, tables, draws):
    """Return a line of the table."""
    exponent = 0.5 * bounded_range_epsilon(mu)
    points = decimal_points()
    single = np.array([[(own_miss(numbers, q, exponent, points) / n,
                         known_miss(numbers, q, exponent) / n) for q in QUANTILES]
                       for numbers in (drawn(law, n, seed) for seed in range(tables))])
    own, known = single.mean((0, 1))
    worst = np.max(single[..., 0].mean(0) / single[..., 1].mean(0))
    cells = f"{own:.5f} | {known:.5f} | {own / known:.2f} | {worst:.2f}"
    if draws:
        knots = knot_misses(law, n, mu, draws, 1)
        (mine, others), (se, other_se) = knots.mean(0), knots.std(0) / np.sqrt(draws)
        ratio = mine / others
        error = ratio * np.hypot(se / mine, other_se / others) if mine else 0.0
        cells += f" | {mine:.5f} | {others:.5f} | {ratio:.2f} | {error:.2f}"
    return f"| {name} | {n:,} | {mu:g} | {cells} |"


def main():
    """Print the table, or write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    heads = ("numbers | n | mu | single | known bounds | ratio | worst q | knots | known bounds"
             " | ratio | se")
    lines = [HEADER.format(tables=given.tables, draws=given.draws), f"| {heads} |",
             "|" + "---|" * (heads.count("|") + 1)]
    laws = {**LAWS, **{f"{name} {column}": resampled(name, column)
                       for name, column in COLUMNS}}
    for name, law in laws.items():
        for n, mu in SETTINGS:
            lines.append(line(name, law, n, mu, given.tables, given.draws))
            print(lines[-1], flush=True)
    if given.output:
        put_page(given.output, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
