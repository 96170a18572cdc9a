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
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.special import expit
from scipy.stats import beta, binom
from sklearn import metrics
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from dpsk.metrics import (
    BinaryEvaluation,
    MulticlassEvaluation,
    RegressionEvaluation,
    plan_evaluation,
)
from dpsk.testing import NoiseSeed

PREVALENCES, ROWS, EPSILONS = (0.5, 0.05, 0.013), (500, 5000, 50_000), (0.5, 1.0, 4.0)
FOUR = np.array([0.0731, 0.2113, 0.4177, 0.7919])
#: Shapes by which constants of the package were chosen; it is judged on all others.
CHOSEN = ("logistic", "crowded", "bimodal")
#: Sets of rows that a cell is a mean of: what is rare luck of one set is a part of the others'.
SETS = 8


def top_ties(z):
    """Return probabilities of which the highest fiftieth are 1."""
    p = expit(z)
    return np.where(z >= np.quantile(z, 0.98), 1.0, p)


def horned(z):
    """Return probabilities of a beta law, most next to 0 or 1, in the order of z."""
    return beta.ppf((np.argsort(np.argsort(z)) + 0.5) / len(z), 0.3, 0.3)


@lru_cache(maxsize=2)
def learner(kind):
    """Return a fitted model of two features, one more told apart than the other."""
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=3000)
    X = rng.normal(size=(3000, 2)) + y[:, None] * [1.5, 0.5]
    model = (GradientBoostingClassifier(n_estimators=150, random_state=0) if kind == "boosted" else
             DecisionTreeClassifier(max_leaf_nodes=7, random_state=0))
    return model.fit(X, y)


def learned(kind):
    """Return probabilities of a model by a number and one that follows from it."""
    return lambda z: learner(kind).predict_proba(np.column_stack(
        [z + 0.75, np.sin(37.0 * z)]))[:, 1]


#: Scores of numbers of two normal laws, the mean of positives higher.
SHAPES = {
    "logistic": expit,
    "crowded": lambda z: 0.5 + 0.02 * np.tanh(z / 2.0),
    "bimodal": lambda z: np.where(z > 0.0, 0.85, 0.15) + 0.02 * np.tanh(z),
    "sharp": lambda z: expit(6.0 * z),
    "rounded": lambda z: np.round(expit(z), 2),
    "constant": lambda z: np.full(len(z), 0.3),
    "beta": horned,
    "ties at the top": top_ties,
    "boosted": learned("boosted"),
    "tree": learned("tree"),
    "four numbers": lambda z: FOUR[np.searchsorted([0.4, 0.7, 0.9], expit(z))],
    "reversed": lambda z: expit(-z),
    "rare risks": lambda z: np.exp(1.5 * z - 8.0).clip(0.0, 1.0),
    "nearly perfect": lambda z: expit(4.0 * np.sign(z) * np.abs(z)**0.2),
    "zeros": lambda z: np.where(z < 0.7, 0.0, expit(z)),
    "margins": lambda z: 300.0 * z**3,
}
#: What separates the classes before a shape is laid on it.
APART = {"nearly perfect": 7.0}
#: Scores of any size, whose range is not declared.
UNBOUNDED = ("margins",)


def scored(shape, prevalence, n, seed=0):
    """Return labels and scores of a shape."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < max(2, round(prevalence * n))).astype(int)
    return y, SHAPES[shape](rng.normal(size=n) + APART.get(shape, 1.5) * (y - 0.5))


def lift(y, p):
    """Return the exact lift of a tenth of the rows, ties in any order alike."""
    order = np.argsort(-p, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(p[order])) + 1, len(p))
    held = np.append(0, np.cumsum(y[order])[ends - 1])
    return np.interp(0.1 * len(p), np.append(0, ends), held) / y.sum() / 0.1


def decided(score, **more):
    """Return a metric of predictions at the middle of the range."""
    return lambda y, p: score(y, p >= (0.5 if 0.0 <= p.min() and p.max() <= 1.0 else 0.0), **more)


def share(part, whole):
    """Return a share, NaN of nothing."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


BINARY = {
    "roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score,
    "brier_score": metrics.brier_score_loss, "accuracy": decided(metrics.accuracy_score),
    "balanced_accuracy": decided(metrics.balanced_accuracy_score),
    "precision": decided(metrics.precision_score, zero_division=np.nan),
    "recall": decided(metrics.recall_score), "f1": decided(metrics.f1_score),
    "lift": lift, "prevalence": lambda y, p: y.mean()}


def labelled(shape, n_classes, n, seed=0):
    """Return labels and predictions of many classes."""
    rng = np.random.default_rng(seed)
    skewed = 1.0 / np.arange(1, n_classes + 1)**1.2
    weights = skewed if shape in ("skewed", "never guessed") else np.ones(n_classes)
    y = rng.choice(n_classes, n, p=weights / weights.sum())
    right = {"even": 0.7, "skewed": 0.8, "perfect": 1.0, "chance": 0.0, "never guessed": 0.6}[
        shape]
    guesses = np.where(rng.uniform(size=n) < right, y, rng.integers(n_classes, size=n))
    if shape == "never guessed":
        guesses[guesses == n_classes - 1] = 0
    return y, guesses


def _table(y, g):
    n = int(max(y.max(), g.max())) + 1
    return np.bincount(y * n + g, minlength=n * n).reshape(n, n)


def _of_table(metric):
    return lambda y, g: metric(_table(y, g))


MULTICLASS = {
    "accuracy": lambda y, g: np.mean(y == g),
    "balanced_accuracy": _of_table(lambda t: np.nanmean(share(np.diag(t), t.sum(axis=1)))),
    "recall": _of_table(lambda t: share(np.diag(t), t.sum(axis=1))),
    "precision": _of_table(lambda t: share(np.diag(t), t.sum(axis=0))),
    "f1": _of_table(lambda t: share(2 * np.diag(t), t.sum(axis=0) + t.sum(axis=1))),
    "confusion_matrix": _table}

#: Residuals over their bound.
RESIDUALS = {
    "normal": lambda rng, n: 0.2 * rng.normal(size=n),
    "small": lambda rng, n: 0.01 * rng.normal(size=n),
    "none": lambda rng, n: np.zeros(n),
    "heavy": lambda rng, n: 0.1 * rng.standard_t(2, size=n),
    "wide": lambda rng, n: rng.uniform(-1.0, 1.0, size=n),
    "spikes": lambda rng, n: np.where(rng.uniform(size=n) < 0.01, 0.9, 0.0),
    "one side": lambda rng, n: 0.3 * rng.exponential(size=n)}


def numbers(shape, spread, n, seed=0):
    """Return targets, predictions; targets in [-1, 1], residuals bounded by 1."""
    rng = np.random.default_rng(seed)
    y = np.clip(spread * rng.normal(size=n), -1.0, 1.0)
    residuals = np.clip(RESIDUALS[shape](rng, n), -1.0, 1.0)
    return y, y - np.clip(residuals, y - 1.0, y + 1.0)


REGRESSION = {
    "mean_squared_error": metrics.mean_squared_error,
    "mean_absolute_error": metrics.mean_absolute_error,
    "root_mean_squared_error": metrics.root_mean_squared_error,
    "r2": metrics.r2_score, "mean_residual": lambda y, g: np.mean(y - g),
    "clipped_share": lambda y, g: np.mean(np.abs(y - g) > 1.0)}


@dataclass(frozen=True)
class Kind:
    """A kind of evaluation, its shapes, and its metrics with their exact values."""

    evaluation: type
    shapes: dict
    seconds: tuple
    rows: object
    metrics: dict

    def options(self, shape, second):
        """Return what is public of the rows of a shape."""
        if self.evaluation is RegressionEvaluation:
            return {"target_bounds": (-1.0, 1.0), "residual_bound": 1.0}
        if self.evaluation is MulticlassEvaluation:
            return {"labels": range(second)}
        return {"score_range": None if shape in UNBOUNDED else (0.0, 1.0)}

    def exact(self, shape, rows):
        """Return exact values by metric."""
        return {name: np.asarray(exact(*rows), dtype=float) for name, exact in
                self.metrics.items() if not (name == "brier_score" and shape in UNBOUNDED)}


KINDS = {
    "binary": Kind(BinaryEvaluation, SHAPES, PREVALENCES, scored, BINARY),
    "multiclass": Kind(MulticlassEvaluation, dict.fromkeys(
        ("even", "skewed", "perfect", "chance", "never guessed")), (3, 10, 40), labelled,
        MULTICLASS),
    "regression": Kind(RegressionEvaluation, RESIDUALS, (0.3, 0.03), numbers, REGRESSION)}


def cells(part=False):
    """Yield every cell: kind, shape, prevalence or number of classes or spread, rows, epsilon.

    A part is a third, in which each two of the last three meet once for every shape.
    """
    for name, kind in KINDS.items():
        levels = [list(enumerate(each)) for each in (kind.seconds, ROWS, EPSILONS)]
        for shape, *found in itertools.product(kind.shapes, *levels):
            if not part or sum(place for place, _ in found) % 3 == 2:
                yield name, shape, *(value for _, value in found)


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

`python -m benchmarks.utility.evaluation_grid --part --draws 48` and `--page`: {draws} draws of
the noise a cell, with fixed seeds, over {sets} sets of rows; delta 1/n^2, default bins. A cell is
a shape, a prevalence (number of classes; spread of targets), a number of rows, an epsilon and a
metric; of these a third, in which each two values meet. A metric that noise hides is NaN, and its
interval all of its range: it counts as covered, and as not told.

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
    yield HEADER.format(date=time.strftime("%Y-%m-%d"), sets=SETS,
                        draws=" or ".join(map(str, draws)))
    kinds = {"two classes, shapes that constants were chosen by": is_chosen}
    for kind, words in (("binary", "two classes, other shapes"), ("multiclass", "many classes"),
                        ("regression", "regression")):
        kinds[words] = lambda cell, kind=kind: cell[0] == kind and not is_chosen(cell)
    for words, ours in kinds.items():
        cover = np.array([each[0] for cell, each in found.items() if ours(cell)])
        yield (f"| {words} | {len(cover)} | {np.mean(cover < 0.93):.3f} | "
               f"{np.mean(cover < 0.90):.3f} | {cover.min():.2f} | {cover.mean():.3f} |")
    chance = [binom.cdf(np.ceil(bar * each[-1]) - 1, each[-1], 0.95) for bar in (0.93, 0.90)
              for each in found.values()]
    below, far = np.reshape(chance, (2, -1)).mean(axis=1)
    yield (f"\nOf intervals that cover exactly .95, so few draws leave {below:.3f} of cells below "
           f".93 and {far:.3f} below .90 by chance.\n\n## By metric, over shapes to judge by\n")
    yield ("| metric | mean coverage | below .90 | error over stated, median | bias above half of "
           "the stated error | told |\n|---|---|---|---|---|---|")
    names = dict.fromkeys((cell[0], cell[-1]) for cell in found)
    for kind, metric in names:
        cover, bias, rms, stated, told, _ = np.array(
            [each for cell, each in found.items()
             if (cell[0], cell[-1]) == (kind, metric) and not is_chosen(cell)]).T
        some = np.maximum(stated, 1e-12)
        yield (f"| {kind} {metric} | {cover.mean():.3f} | {np.mean(cover < 0.90):.3f} | "
               f"{np.median((rms / some)[told > 0.5]):.2f} | {np.mean(bias > 0.5 * some):.2f} | "
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
    epsilons = (0.25, 0.5, 1.0, 2.0, 4.0)
    yield f"| rows | positive | {' | '.join(f'epsilon {each:g}' for each in epsilons)} |"
    yield "|" + "---|" * (2 + len(epsilons))
    for n, share_of in itertools.product((500, 2000, 5000, 20_000, 50_000), (0.5, 0.05, 0.01)):
        plans = [plan_evaluation(n, cases=round(share_of * n), epsilon=epsilon)
                 for epsilon in epsilons]
        shown = [" / ".join(f"{plan[name]:.3f}" if np.isfinite(plan[name]) else "-" for name in (
            "roc_auc", "average_precision", "accuracy")) for plan in plans]
        yield f"| {n} | {share_of:.0%} | {' | '.join(shown)} |"


def draw(found, path):
    """Write a heat map of the mean coverage by shape and metric."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 3, figsize=(14, 6.5), width_ratios=[10, 6, 6])
    for ax, (name, kind) in zip(axes, KINDS.items(), strict=True):
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
    parser.add_argument("--part", action="store_true", help="a third of the grid")
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--page", type=Path, help="write the results and a picture, and end")
    given = parser.parse_args()
    if given.page:
        found = read(given.results)
        given.page.write_text("\n".join(lines(found)) + "\n", encoding="utf-8")
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
