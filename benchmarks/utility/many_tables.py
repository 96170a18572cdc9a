"""Default settings on many tables: beside a grid tuned on the test set, and beside a constant.

    python benchmarks/utility/many_tables.py [--half first|second] [--quick] [--grid 0.25 1 4]
        [--tables NAME ...] [--methods NAME ...] [--epsilons 0.1 1 ...] [--seeds 10] [--jobs 2]
        [--cells many_tables.jsonl] [--output docs/results]

Only epsilon is set, and bounds on targets, which are public. Constants of the defaults are chosen
on the first half of `FAMILIES`; the second half judges them. Fits that are in the file of cells
are not made again, so that a run that was interrupted goes on where it was; `--quick` is one
seed of small tables, under five minutes. `--grid` makes the fits of the grid as well, at those
epsilons and for the first seeds; its best setting by the mean of its test scores is what regret
is measured against, and is not charged for.
"""

import argparse
import json
import sys
import warnings
from collections import defaultdict
from datetime import date
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from dpsk import (
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPAUCMaximizer,
    DPHuberRegressor,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPMLPRegressor,
    DPPoissonRegressor,
    DPRidge,
)
from dpsk.testing import NoiseSeed

sys.path.insert(0, str(Path(__file__).parents[1]))
from measuring import put_page
from table_families import FAMILIES, FIRST_HALF, SECOND_HALF

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
QUICK_EPSILONS = (0.1, 1.0, 4.0)
#: kind of table -> name -> class
METHODS = {
    "binary": {"logistic": DPLogisticRegression, "svc": DPLinearSVC,
               "additive": DPAdditiveClassifier, "mlp": DPMLPClassifier, "auc": DPAUCMaximizer},
    "classes": {"logistic": DPLogisticRegression, "svc": DPLinearSVC,
                "additive": DPAdditiveClassifier, "mlp": DPMLPClassifier},
    "regression": {"linear": DPLinearRegression, "huber": DPHuberRegressor, "ridge": DPRidge,
                   "lasso": DPLasso, "additive": DPAdditiveRegressor, "mlp": DPMLPRegressor},
    "counts": {"poisson": DPPoissonRegressor},
}
#: Of the methods that have them, the settings that a person would tune.
GRID = {"precondition": ("auto", False), "clip_norm": (None, 0.1, 1.0), "max_iter": (None, 10, 60)}
#: How much below the best of the grid is as good, by metric; and below the constant prediction.
TOLERANCE = {"accuracy": 0.005, "R2": 0.02, "AUC": 0.005, "deviance": 0.02}
FLOOR = {"accuracy": 0.005, "R2": 0.01, "AUC": 0.01, "deviance": 0.02}
#: Of how many seeds the fits of the grid are made.
_GRID_SEEDS = 3
#: Rows of tables that a quick run has.
_QUICK_ROWS = 5000


def metric(kind, method):
    """Return the name of the metric that a method is judged by on a kind of tables."""
    if method == "auc":
        return "AUC"
    return {"regression": "R2", "counts": "deviance"}.get(kind, "accuracy")


def scores(name, model, table):
    """Return {metric: score} on the test rows; the larger the better."""
    if name == "AUC":
        return {name: float(roc_auc_score(table.y_test, model.decision_function(table.X_test)))}
    if name == "deviance":
        predicted = np.maximum(model.predict(table.X_test), 1e-6)
        return {name: -float(mean_poisson_deviance(table.y_test, predicted))}
    found = {name: float(model.score(table.X_test, table.y_test))}
    if hasattr(model, "predict_proba"):
        found["log loss"] = -float(log_loss(table.y_test, model.predict_proba(table.X_test),
                                            labels=model.classes_))
    return found


def references(name):
    """Return {metric: (of the constant prediction, without privacy)} of a table."""
    family, table = FAMILIES[name], FAMILIES[name].make()
    found = {}
    for method in METHODS[family.kind]:
        measure = metric(family.kind, method)
        if measure in found:
            continue
        found[measure] = [_scored(measure, make, table) for make in _exact(family)]
        if measure == "AUC":
            found[measure][0] = 0.5
    if family.kind in ("binary", "classes"):
        shares = DummyClassifier(strategy="prior").fit(table.X, table.y)
        found["log loss"] = [scores("accuracy", shares, table)["log loss"], None]
    return found


def _exact(family):
    """Yield what makes a constant prediction, and the better-suited exact model."""
    if family.kind == "counts":
        yield DummyRegressor
        yield PoissonRegressor
    elif family.kind == "regression":
        yield DummyRegressor
        yield LinearRegression if family.linear else HistGradientBoostingRegressor
    else:
        yield partial(DummyClassifier, strategy="prior")
        yield (lambda: make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=500))) \
            if family.linear else HistGradientBoostingClassifier


def _scored(measure, make, table):
    model = make().fit(table.X, table.y)
    if measure == "AUC" and not hasattr(model, "decision_function"):
        return None
    return scores(measure, model, table)[measure]


def fit_cell(name, method, epsilon, seed, settings=None):
    """Return the record of one fit."""
    family, table = FAMILIES[name], FAMILIES[name].make()
    cls = METHODS[family.kind][method]
    settings = dict(settings or {})
    if table.target_bounds is not None:
        settings["target_bounds"] = table.target_bounds
    record = {"table": name, "method": method, "epsilon": epsilon, "seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(epsilon=epsilon, random_state=NoiseSeed(seed), **settings)
        try:
            model.fit(table.X, table.y)
        except (ValueError, TypeError) as error:
            return {**record, "refused": str(error)[:200]}
        return {**record, **scores(metric(family.kind, method), model, table)}


def grid_of(family, method):
    """Yield the settings of the grid that a method has, without that of the defaults."""
    known = METHODS[family.kind][method]().get_params()
    names = [name for name in GRID if name in known]
    for values in product(*(GRID[name] for name in names)):
        found = {name: value for name, value in zip(names, values, strict=True)
                 if value not in (None, "auto")}
        if found:
            yield found


def planned(arguments):
    """Yield (table, method, epsilon, seed, settings) of all fits that are asked for."""
    half = {"first": FIRST_HALF, "second": SECOND_HALF, "both": FAMILIES}[arguments.half]
    for name in arguments.tables or half:
        family = FAMILIES[name]
        for method, epsilon, seed in product(METHODS[family.kind], arguments.epsilons,
                                             range(arguments.seeds)):
            if arguments.methods and method not in arguments.methods:
                continue
            yield name, method, epsilon, seed, {}
            if seed < _GRID_SEEDS and epsilon in arguments.grid:
                yield from ((name, method, epsilon, seed, each)
                            for each in grid_of(family, method))


def _key(name, method, epsilon, seed, settings):
    return json.dumps([name, method, epsilon, seed, settings], sort_keys=True)


def read_cells(path):
    """Return {key: record} of the fits in a file."""
    if not path.exists():
        return {}
    return {each["key"]: each for each in map(json.loads, path.read_text().splitlines())}


def run(arguments):
    """Make the fits that are missing, and append each to the file of cells as it is done."""
    done = read_cells(arguments.cells)
    missing = [each for each in planned(arguments) if _key(*each) not in done]
    print(f"{len(missing)} fits to make, {len(done)} made before", flush=True)
    records = Parallel(n_jobs=arguments.jobs, return_as="generator", batch_size=1,
                       pre_dispatch="4*n_jobs")(delayed(fit_cell)(*each) for each in missing)
    with arguments.cells.open("a") as file:
        for count, (each, record) in enumerate(zip(missing, records, strict=True), 1):
            record = {"key": _key(*each), "settings": each[-1], **record}
            file.write(json.dumps(record) + "\n")
            file.flush()
            if count % 50 == 0:
                print(f"{count} of {len(missing)}", flush=True)
    return read_cells(arguments.cells)


def summarized(cells):
    """Return {(table, method, epsilon): {"default": scores, "grid": {settings: scores}}}."""
    found = defaultdict(lambda: {"default": [], "losses": [], "grid": defaultdict(list)})
    for each in cells.values():
        if "refused" in each:
            continue
        cell = found[each["table"], each["method"], each["epsilon"]]
        score = each[metric(FAMILIES[each["table"]].kind, each["method"])]
        if each["settings"]:
            cell["grid"][json.dumps(each["settings"])].append(score)
        else:
            cell["default"].append(score)
            cell["losses"] += [each["log loss"]] if "log loss" in each else []
    return {key: cell for key, cell in found.items() if cell["default"]}


def judged(found, known):
    """Yield a dict for every cell: its mean and error, its references, and what it is short of."""
    for (name, method, epsilon), cell in sorted(found.items()):
        measure = metric(FAMILIES[name].kind, method)
        mean, error = _mean(cell["default"])
        constant, exact = known[name][measure]
        best = max([np.mean(each) for each in cell["grid"].values()], default=None)
        row = {"table": name, "method": method, "epsilon": epsilon, "metric": measure,
               "mean": mean, "error": error, "constant": constant, "exact": exact, "best": best,
               "regret": None if best is None else best - mean,
               "below": mean < constant - FLOOR[measure] - 2.0 * error}
        if cell["losses"]:
            row["log loss"] = -float(np.mean(cell["losses"]))
            row["too sure"] = row["log loss"] > -known[name]["log loss"][0] + 0.02
        yield row


def _mean(values):
    return float(np.mean(values)), float(np.std(values) / np.sqrt(max(1, len(values) - 1)))


def falls(rows):
    """Yield (table, method, epsilon, next) where more budget gives a worse mean, by two errors."""
    curves = defaultdict(list)
    for row in rows:
        curves[row["table"], row["method"]].append(row)
    for (name, method), curve in curves.items():
        for row, after in pairwise(curve):
            error = np.hypot(row["error"], after["error"])
            if after["mean"] < row["mean"] - 2.0 * error - 1e-3:
                yield name, method, row["epsilon"], after["epsilon"]


def page(rows, known, arguments):
    """Yield the lines of a page of results."""
    yield from ("# Default settings on many tables", "",
                f"Means of up to {arguments.seeds} seeds; only epsilon and bounds on targets are "
                "set. \"!\": below the constant prediction (majority, mean, its deviance). "
                "\"*\": log loss above that of the class shares. \"Exact\": a model without "
                f"privacy. {date.today()}, {arguments.half} half of the tables; constants of "
                "defaults were chosen on the other half.", "")
    rated = [row for row in rows if row["regret"] is not None]
    if rated:
        good = [row for row in rated if row["regret"] <= TOLERANCE[row["metric"]]]
        yield f"Within tolerance of the best of the grid: {len(good)} of {len(rated)} cells. "
    below = [row for row in rows if row["below"]]
    unsure = [row for row in rows if row.get("too sure")]
    down = list(falls(rows))
    yield (f"Below the constant prediction: {len(below)} of {len(rows)} cells. Log loss above "
           f"that of the class shares: {len(unsure)}. Falls of a curve: {len(down)}.")
    yield ""
    yield from ("| table | method | metric | " + " | ".join(f"{e:g}" for e in arguments.epsilons)
                + " | constant | exact |", "|---" * (len(arguments.epsilons) + 5) + "|")
    curves = defaultdict(dict)
    for row in rows:
        curves[row["table"], row["method"], row["metric"]][row["epsilon"]] = row
    for (name, method, measure), curve in curves.items():
        cells = [_cell(curve.get(epsilon)) for epsilon in arguments.epsilons]
        constant, exact = known[name][measure]
        last = "" if exact is None else f"{exact:.3f}"
        yield f"| {name} | {method} | {measure} | {' | '.join(cells)} | {constant:.3f} | {last} |"
    yield ""
    for words, listed in (("Below the constant prediction", below),
                          ("Log loss above that of the class shares", unsure)):
        yield f"{words}: " + (", ".join(
            f"{row['table']} {row['method']} {row['epsilon']:g}" for row in listed) or "none")
        yield ""
    yield "Falls: " + (", ".join(f"{name} {method} {low:g} to {high:g}"
                                 for name, method, low, high in down) or "none")


def _cell(row):
    if row is None:
        return ""
    short = "!" if row["below"] else "*" if row.get("too sure") else ""
    return f"{row['mean']:.3f}{short}"


def draw(rows, path):
    """Draw all curves, a panel a table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = sorted({row["table"] for row in rows})
    wide = 6
    figure, axes = plt.subplots(-(-len(names) // wide), wide, squeeze=False,
                                figsize=(3 * wide, 2.4 * -(-len(names) // wide)))
    for name, axis in zip(names, axes.flat, strict=False):
        own = [row for row in rows if row["table"] == name]
        for method in sorted({row["method"] for row in own}):
            curve = [row for row in own if row["method"] == method]
            axis.errorbar([row["epsilon"] for row in curve], [row["mean"] for row in curve],
                          [2.0 * row["error"] for row in curve], label=method, lw=1)
        axis.axhline(own[0]["constant"], color="gray", lw=0.5)
        axis.set_xscale("log")
        axis.set_title(name, fontsize=8)
        axis.tick_params(labelsize=6)
        axis.legend(fontsize=5)
    for axis in axes.flat[len(names):]:
        axis.set_axis_off()
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--half", choices=["first", "second", "both"], default="second")
    parser.add_argument("--tables", nargs="*", choices=[*FAMILIES])
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--epsilons", nargs="*", type=float)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--grid", nargs="*", type=float, default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cells", type=Path, default=Path("many_tables.jsonl"))
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    arguments.epsilons = arguments.epsilons or (QUICK_EPSILONS if arguments.quick else EPSILONS)
    if arguments.quick:
        arguments.seeds = 1
        arguments.tables = arguments.tables or [name for name, family in SECOND_HALF.items()
                                                if family.make().X.shape[0] <= _QUICK_ROWS]
    asked = {_key(*each) for each in planned(arguments)}
    cells = {key: each for key, each in run(arguments).items() if key in asked}
    names = sorted({each["table"] for each in cells.values()})
    known = dict(zip(names, Parallel(n_jobs=arguments.jobs)(
        delayed(references)(name) for name in names), strict=True))
    rows = list(judged(summarized(cells), known))
    lines = list(page(rows, known, arguments))
    print("\n".join(lines))
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        lines += ["", "![scores against epsilon](many_tables.png)"]
        put_page(arguments.output / "many_tables.md", "\n".join(lines) + "\n")
        draw(rows, arguments.output / "many_tables.png")


if __name__ == "__main__":
    main()
