"""How often the intervals of shape functions hold over fits of additive models to the same rows.

    python -m benchmarks.utility.shape_noise [--output docs/results/shape_noise.md] [--fits 100]

Every fit to a table has fresh noise; knots and categories are declared, so that nothing but the
noise of the fit differs. Of each of a few fits the intervals about the mean of all fits are taken;
counted is how many values of all fits lie within, 95 % would be right. The constants of the method
were chosen on the tables of TUNED, and judged on the others: the method was mended by what
failed on JUDGED, MENDED and TOLD.
"""

import argparse
import sys
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from benchmarks.measuring import put_page
from benchmarks.utility.shape_tables import FRESH, JUDGED, MENDED, TOLD, TUNED
from dpsk import DPAdditiveClassifier, DPAdditiveRegressor

N = 8000
EPSILONS = (0.5, 1.0, 4.0)
#: Additive models of two classes, of three, and of targets.
KINDS = ("2 classes", "3 classes", "targets")


def knots(numbers, count):
    numbers = np.asarray(numbers)
    return tuple(np.unique(np.quantile(numbers[np.isfinite(numbers)], np.linspace(0, 1, count))))


def fitted(kind, table, epsilon, n_fits):
    """Return fits of a kind of model to the rows of a table."""
    rng = np.random.default_rng(0)
    X, score, columns, pairs = table(N, rng)
    columns = {name: knots(X[name], given) if isinstance(given, int) else given
               for name, given in columns.items()}
    params = {"columns": columns, "interactions": pairs}
    score = score.to_numpy(dtype=float)
    if kind == "targets":
        return [DPAdditiveRegressor(epsilon, target_bounds=(-4.0, 5.0), **params).fit(X, y)
                for y in [score + 0.8 * rng.normal(size=N)] for _ in range(n_fits)]
    scores = np.column_stack([0 * score, score] if kind == "2 classes" else
                             [score, -0.5 * score, 0.5 * rng.normal(size=N)])
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return [DPAdditiveClassifier(epsilon, **params).fit(X, y) for _ in range(n_fits)]


def together(model, name):
    return np.concatenate([getattr(term, name).ravel() for term in model.terms_])


def measured(kind, table, epsilon, n_fits, n_read):
    """Return coverage, the middle ratio of deviations, and the share of those that are known."""
    fits = fitted(kind, table, epsilon, n_fits)
    values = np.array([together(model, "centered") for model in fits])
    # The mean of all fits is drawn to each of them.
    off = np.abs(values - values.mean(axis=0)) * (n_fits / (n_fits - 1))**0.5
    real = values.std(axis=0, ddof=1)
    told = np.array([together(model, "std") for model in fits[:n_read]])
    known = np.isfinite(told)
    if not known.any():
        return np.nan, np.nan, 0.0
    draws = max(term.n_draws for model in fits[:n_read] for term in model.terms_)
    inside = off <= student.ppf(0.975, draws - 1) * told[:, None]
    return (inside.swapaxes(1, 2)[known].mean(), np.median((told / real)[known]), known.mean())


def page(found, n_fits, n_read):
    """Yield the lines of the page."""
    yield f"# Noise of shape functions ({date.today()})"
    yield ""
    yield (f"Command: `python -m benchmarks.utility.shape_noise --fits {n_fits} --read {n_read}`: "
           f"{n_fits} fits to the same {N} rows with fresh noise, knots and categories declared, "
           f"and `Term.std` of {n_read} of them.")
    yield ""
    yield ("- Inside: share of values within 95 % intervals about the mean of all fits.\n"
           "- Ratio: median of stated over measured standard deviations.\n"
           "- Known: share of values with a standard deviation.")
    for title, tables in (("Tables to judge by", FRESH),
                          ("Tables to choose by", TOLD),
                          ("Tables by which the method was mended", {**JUDGED, **MENDED}),
                          ("Tables on which the constants were chosen", TUNED)):
        rows = {key: cells for key, cells in found.items() if key[0] in tables}
        if not rows:
            continue
        covered = np.array([cell[0] for cells in rows.values() for cell in cells if cell[2]])
        yield f"\n## {title}\n"
        yield (f"Of {len(covered)} cells {np.mean((covered >= 0.92) & (covered <= 0.98)):.0%} "
               f"have .92 to .98 inside, {np.mean(covered < 0.92):.0%} less, "
               f"{np.mean(covered > 0.98):.0%} more; the least is {covered.min():.2f}.\n")
        heads = " | ".join(f"epsilon {epsilon:g}: inside (ratio), known" for epsilon in EPSILONS)
        yield f"| table | model of | {heads} |\n" + "|---" * (2 + len(EPSILONS)) + "|"
        for (name, kind), cells in rows.items():
            yield f"| {name} | {kind} | " + " | ".join(
                f"{inside:.3f} ({ratio:.2f}), {known:.0%}" if known else "not known"
                for inside, ratio, known in cells) + " |"


def main():
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--read", type=int, default=10)
    parser.add_argument("--tables", nargs="*", default=[*FRESH, *TOLD])
    parser.add_argument("--kinds", nargs="*", default=["2 classes", "targets"], choices=KINDS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    with threadpool_limits(1):
        for name in args.tables:
            for kind in args.kinds:
                table = {**TUNED, **JUDGED, **MENDED, **TOLD, **FRESH}[name]
                found[name, kind] = [measured(kind, table, epsilon, args.fits, args.read)
                                     for epsilon in EPSILONS]
                print(name, kind, *found[name, kind], file=sys.stderr, flush=True)
    text = "\n".join(page(found, args.fits, args.read)) + "\n"
    sys.stdout.write(text)
    if args.output is not None:
        put_page(args.output, text)


if __name__ == "__main__":
    main()
