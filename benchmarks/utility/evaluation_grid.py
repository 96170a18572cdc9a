"""Coverage of private evaluation over a grid: shapes of scores, tables of labels, residuals.

    python -m benchmarks.utility.evaluation_grid [--draws 60] [--only WORD ...] [--results FILE]

Each cell is one set of rows and one epsilon, evaluated over and over with fresh noise. Results are
lines of JSON; cells that the file has are not measured again, so a run that was stopped goes on.
"""

import argparse
import itertools
import json
import time
import warnings
import zlib
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.stats import binom

from benchmarks.measuring import put_page
from benchmarks.utility.evaluation_shapes import CHOSEN, KINDS
from dpsk.metrics import plan_evaluation
from dpsk.testing import NoiseSeed

ROWS, EPSILONS = (500, 5000, 50_000), (0.5, 1.0, 4.0)
#: Sets of rows that a cell is a mean of: what is rare luck of one set is a part of the others'.
SETS = 8


def cells(part=1):
    """Yield every cell: kind, shape, prevalence or number of classes or spread, rows, epsilon.

    Of 3 parts one is yielded, in which each two of the last three meet once for every shape; of 9
    parts every third cell of that, another one of the next shape that no constant was chosen by.
    """
    for name, kind in KINDS.items():
        levels = [list(enumerate(each)) for each in (kind.seconds, ROWS, EPSILONS)]
        turns = {shape: turn for turn, shape in enumerate(
            shape for shape in kind.shapes if name != "binary" or shape not in CHOSEN)}
        for shape in kind.shapes:
            found = [cell for cell in itertools.product(*levels)
                     if part == 1 or sum(place for place, _ in cell) % 3 == 2]
            for turn, cell in enumerate(found, turns.get(shape, 0)):
                if part < 9 or turn % 3 == 0:
                    yield name, shape, *(value for _, value in cell)


def measured(name, shape, second, n, epsilon, draws):
    """Return (coverage, mean error, rms error, stated error, share told) by metric.

    Figures that are arrays are means over their entries. Those that are NaN are not told; their
    interval is all that they can be, and covers.
    """
    kind = KINDS[name]
    sets = [kind.rows(shape, second, n, seed) for seed in range(min(SETS, draws))]
    truths = [kind.exact(shape, rows) for rows in sets]
    found = {metric: [] for metric in truths[0]}
    first = zlib.crc32(repr((name, shape, second, n, epsilon)).encode())
    # Seeds key noise by a digest of the rows, which takes longer than all else.
    with warnings.catch_warnings(), mock.patch("dpsk._fit.table_digest", lambda _: b"rows"):
        warnings.simplefilter("ignore")
        for draw in range(draws):
            truth = truths[draw % len(sets)]
            evaluation = kind.evaluation.from_predictions(
                *sets[draw % len(sets)], epsilon=epsilon, random_state=NoiseSeed(first + draw),
                **kind.options(shape, second))
            for metric, exact in truth.items():
                estimate = getattr(evaluation, metric)()
                found[metric].append([np.broadcast_to(each, exact.shape) for each in (
                    estimate.value, estimate.standard_error, *estimate.interval(), exact)])
    return {metric: _summary(np.array(each)) for metric, each in found.items()}


def _summary(found):
    value, stated, low, high, truth = np.moveaxis(found, 1, 0)
    exists = np.isfinite(truth)
    told = np.isfinite(value) & exists
    error = np.where(told, value - np.where(exists, truth, 0.0), 0.0)
    covers = exists & (low <= truth + 1e-9) & (truth - 1e-9 <= high)
    count = max(told.sum(), 1)
    bias = np.abs(error.sum(axis=0) / np.maximum(told.sum(axis=0), 1))
    return (covers.sum() / exists.sum() if exists.any() else np.nan, np.mean(bias),
            np.sqrt((error**2).sum() / count), np.where(told, stated, 0.0).sum() / count,
            told.sum() / max(exists.sum(), 1))


HEADER = """# Coverage and errors of private evaluation ({date})

How often stated 95 % intervals hold, over shapes of scores, labels and residuals that no constant
of the package was chosen by, and what errors to expect at which epsilon.

`python -m benchmarks.utility.evaluation_grid --part 9 --draws 400` and `--page`: {draws} draws of
the noise a cell, with fixed seeds, over {sets} sets of rows; delta 1/n^2, default bins. A cell is
a shape, a prevalence (number of classes; spread of targets), a number of rows, an epsilon and a
metric; of these a ninth or a third, spread evenly. A metric that noise hides is NaN, and its
interval all of its range: it counts as covered, and as not told. Biases are of cells that are told
in half of the draws or more: others are told where noise made them large.

Measured are {cells}. A set has one cell a metric.

![coverage by shape and metric](evaluation.png)

| cells | number | below .93 | below .90 | least | mean |
|---|---|---|---|---|---|"""


def read(path):
    """Return (coverage, bias, rms, stated, told, draws) by cell and metric; later lines count."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        for metric, numbers in one["found"].items():
            found[(*one["cell"], metric)] = [*numbers, one["draws"]]
    return {cell: each for cell, each in found.items() if np.isfinite(each[0])}


def is_chosen(cell):
    """Return whether constants were chosen by the shape of a cell."""
    return cell[0] == "binary" and cell[1] in CHOSEN


def lines(found):
    """Yield lines of the page."""
    draws = sorted({int(each[-1]) for each in found.values()})
    counted = {kind: {cell[:-1]: int(each[-1]) for cell, each in found.items() if cell[0] == kind}
               for kind in KINDS}
    cells_of = ", ".join(f"{len(own)} {kind} sets at {min(own.values())} draws or more"
                         for kind, own in counted.items() if own)
    yield HEADER.format(date=time.strftime("%Y-%m-%d"), sets=SETS, cells=cells_of,
                        draws=" or ".join(map(str, draws)))
    kinds = {"two classes, shapes that constants were chosen by": is_chosen}
    for kind, words in (("binary", "two classes, other shapes"), ("multiclass", "many classes"),
                        ("regression", "regression")):
        kinds[words] = lambda cell, kind=kind: cell[0] == kind and not is_chosen(cell)
    for words, ours in kinds.items():
        cover = np.array([each[0] for cell, each in found.items() if ours(cell)])
        if not len(cover):
            continue
        yield (f"| {words} | {len(cover)} | {np.mean(cover < 0.93):.3f} | "
               f"{np.mean(cover < 0.90):.3f} | {cover.min():.2f} | {cover.mean():.3f} |")
    chance = [binom.cdf(np.ceil(bar * each[-1]) - 1, each[-1], 0.95) for bar in (0.93, 0.90)
              for each in found.values()]
    below, far = np.reshape(chance, (2, -1)).mean(axis=1)
    yield (f"\nOf intervals that cover exactly .95, so many draws leave {below:.3f} of cells "
           f"below .93 and {far:.3f} below .90 by chance.\n\n"
           "## By metric, over shapes to judge by\n")
    yield ("| metric | mean coverage | below .90 | error over stated, median | bias above half of "
           "the stated error | told |\n|---|---|---|---|---|---|")
    names = dict.fromkeys((cell[0], cell[-1]) for cell in found)
    for kind, metric in names:
        cover, bias, rms, stated, told, _ = np.array(
            [each for cell, each in found.items()
             if (cell[0], cell[-1]) == (kind, metric) and not is_chosen(cell)]).T
        some = np.maximum(stated, 1e-12)
        off = np.mean((bias > 0.5 * some)[told >= 0.5])
        yield (f"| {kind} {metric} | {cover.mean():.3f} | {np.mean(cover < 0.90):.3f} | "
               f"{np.median((rms / some)[told > 0.5]):.2f} | {off:.2f} | "
               f"{told.mean():.2f} |")
    yield "\nCells that cover least:\n\n| cell | coverage | bias | error | stated |"
    yield "|---|---|---|---|---|"
    judged = [(each, cell) for cell, each in found.items() if not is_chosen(cell)]
    for each, cell in sorted(judged)[:12]:
        yield (f"| {' '.join(map(str, cell))} | {each[0]:.2f} | {each[1]:.4f} | {each[2]:.4f} | "
               f"{each[3]:.4f} |")
    yield ("\n## What accuracy does which epsilon buy?\n\nStandard errors by `plan_evaluation`, "
           "for scores of an ROC area of .8: ROC area / average precision / accuracy; - where "
           "noise hides the metric.\n")
    epsilons = (0.5, 1.0, 2.0, 4.0)
    yield f"| rows | positive | {' | '.join(f'epsilon {each:g}' for each in epsilons)} |"
    yield "|" + "---|" * (2 + len(epsilons))
    for n, share_of in itertools.product((500, 2000, 5000, 20_000, 50_000), (0.5, 0.05, 0.01)):
        plans = [plan_evaluation(n, cases=round(share_of * n), epsilon=epsilon)
                 for epsilon in epsilons]
        if not any(np.isfinite(plan["roc_auc"]) for plan in plans):
            continue
        shown = [" / ".join(f"{plan[name]:.3f}" if np.isfinite(plan[name]) else "-" for name in (
            "roc_auc", "average_precision", "accuracy")) for plan in plans]
        yield f"| {n} | {share_of:.0%} | {' | '.join(shown)} |"


def draw(found, path):
    """Write a heat map of the mean coverage by shape and metric."""
    import matplotlib.pyplot as plt

    known = {name: kind for name, kind in KINDS.items() if any(cell[0] == name for cell in found)}
    widths = [len(kind.metrics) for kind in known.values()]
    _, axes = plt.subplots(1, len(known), figsize=(1.0 + 0.6 * sum(widths), 6.5), squeeze=False,
                           width_ratios=widths)
    for ax, (name, kind) in zip(axes[0], known.items(), strict=True):
        table = [[np.mean([each[0] for cell, each in found.items()
                           if (*cell[:2], cell[-1]) == (name, shape, metric)] or [np.nan])
                  for metric in kind.metrics] for shape in kind.shapes]
        ax.imshow(table, vmin=0.85, vmax=1.0, cmap="RdYlGn", aspect="auto")
        for row, column in itertools.product(range(len(table)), range(len(table[0]))):
            if np.isfinite(table[row][column]):
                ax.text(column, row, f"{table[row][column]:.2f}", ha="center", va="center",
                        fontsize=7)
        ax.set_xticks(range(len(kind.metrics)), [each.replace("_", " ") for each in kind.metrics],
                      rotation=60, ha="right", fontsize=8)
        shapes = [f"{each} *" if name == "binary" and each in CHOSEN else each
                  for each in kind.shapes]
        ax.set_yticks(range(len(shapes)), shapes, fontsize=8)
        ax.set_title({"binary": "two classes (* chosen by)", "multiclass": "many classes"}.get(
            name, name), fontsize=10)
    plt.tight_layout()
    plt.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--only", nargs="*", default=(), help="words, all of them in a cell")
    parser.add_argument("--results", type=Path, default=Path("evaluation_grid.jsonl"))
    parser.add_argument("--part", type=int, choices=(1, 3, 9), default=1,
                        help="measure one of so many parts of the grid")
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--page", type=Path, help="write the results and a picture, and end")
    given = parser.parse_args()
    if given.page:
        found = read(given.results)
        put_page(given.page, "\n".join(lines(found)) + "\n")
        draw(found, given.page.with_suffix(".png"))
        return
    known = set()
    if given.results.exists():
        known = {tuple(json.loads(line)["cell"])
                 for line in given.results.read_text(encoding="utf-8").splitlines()}
    started = time.monotonic()
    with given.results.open("a", encoding="utf-8") as file:
        for cell in cells(given.part):
            if cell in known or not all(word in map(str, cell) for word in given.only):
                continue
            if time.monotonic() - started > 60.0 * given.minutes:
                return
            one = {"cell": cell, "draws": given.draws, "found": measured(*cell, given.draws)}
            file.write(json.dumps(one) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
