"""How often the intervals of `summary` hold over fits of linear models to the same rows.

    python -m benchmarks.utility.coefficient_noise [--output docs/results/coefficient_noise.md]
        [--fits 30] [--summaries 3] [--models ...] [--tables ...] [--signals ...]

Every fit to a table has fresh noise. Of each of a few of them the intervals about the mean of all
fits are taken, as wide as its `summary` says; counted is how many coefficients of all fits lie
within, 95 % would be right. Beside it the deviation that a summary tells over that of the fits.
Cells that are not measured stay as they are in the table beside the page.
"""

import argparse
import csv
import sys
import warnings
from datetime import date
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.optimize import brentq
from scipy.special import stdtrit
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.measuring import put_page
from dpsk import DPAUCMaximizer, DPLinearRegression, DPLogisticRegression
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk.linear_model import (
    DPHuberRegressor,
    DPLinearSVC,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPRidge,
)

N, P = 4000, 8
#: n mu over the number of columns.
SIGNALS = (50, 400, 5000)
HEADS = ("model", "table", *(f"signal {signal}: inside (ratio), known" for signal in SIGNALS))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "results" / "coefficient_noise.md"
BOUNDS = {"target_bounds": (-3.0, 3.0)}
MODELS = {
    "DPLogisticRegression": DPLogisticRegression(),
    "the same, newton": DPLogisticRegression(solver="newton"),
    "the same, sgd": DPLogisticRegression(solver="sgd"),
    "the same, 3 classes": DPLogisticRegression(),
    "DPLinearSVC": DPLinearSVC(),
    "DPAUCMaximizer": DPAUCMaximizer(),
    "DPLinearRegression": DPLinearRegression(**BOUNDS),
    "the same, learnt bounds": DPLinearRegression(),
    "DPRidge, alpha=0.1": DPRidge(alpha=0.1, **BOUNDS),
    "DPHuberRegressor": DPHuberRegressor(**BOUNDS),
    "DPQuantileRegressor": DPQuantileRegressor(**BOUNDS),
    "DPPoissonRegressor": DPPoissonRegressor(target_bounds=(0.0, 10.0)),
}


def tables():
    """Return rows by name: drawn, but for the last, which repeats those of scikit-learn."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(N, P))
    cells, _ = load_breast_cancer(return_X_y=True)
    cells = StandardScaler().fit_transform(cells[:, :P])
    return {
        "normal": normal,
        "correlated": 0.6 * normal + 0.8 * rng.normal(size=(N, 1)),
        "flags": (rng.random((N, P)) < np.linspace(0.03, 0.6, P)).astype(float),
        "scales": normal * np.geomspace(0.05, 1.0, P),
        "heavy tails": rng.standard_t(3, size=(N, P)),
        "sparse": sp.csr_matrix(normal * (rng.random((N, P)) < 0.2)),
        "a column twice": np.column_stack([normal[:, :-1], normal[:, 0]]),
        "one-hot": np.eye(P)[rng.choice(P, size=N, p=np.geomspace(1, 16, P) / np.geomspace(
            1, 16, P).sum())],
        "all levels but one": np.eye(P + 1)[rng.choice(P + 1, size=N, p=np.geomspace(
            1, 16, P + 1) / np.geomspace(1, 16, P + 1).sum())][:, 1:],
        "counts": rng.poisson(np.geomspace(0.05, 5.0, P), size=(N, P)).astype(float),
        "cells": cells[rng.integers(len(cells), size=N)] + 0.05 * normal,
    }


def targets(name, X, kind):
    """Return targets of a table for a model."""
    rng = np.random.default_rng(1)
    X = X.toarray() if sp.issparse(X) else X
    score = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(P, 3))
    score *= 1.5 / score.std(axis=0)
    if "3 classes" in name:
        return (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    if is_classifier(kind):
        return (score[:, 0] + rng.logistic(size=N) > 0).astype(int)
    if isinstance(kind, DPPoissonRegressor):
        return np.minimum(rng.poisson(np.exp(0.5 * score[:, 0])), 10).astype(float)
    return np.clip(0.7 * score[:, 0] + rng.normal(size=N) * 0.6, -3.0, 3.0)


def epsilon_of(signal):
    """Return the epsilon at which n mu over the number of columns is the signal."""
    return brentq(lambda epsilon: N * gaussian_mu(epsilon, N**-2.0) / P - signal, 1e-3, 1e3)


def centered(fitted):
    """Return coefficients and the intercept as a summary has them."""
    coef, intercept = fitted.coef_, fitted.intercept_
    if isinstance(fitted, DPLogisticRegression) and len(coef) > 1:
        # A shift of all classes changes no probability.
        return coef - coef.mean(axis=0), intercept - intercept.mean()
    return coef, intercept


def measured(model, X, y, fits, summaries):
    """Return coverage, the middle ratio of deviations, and the share of those that are known."""
    found, told = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(fits):
            fitted = clone(model).fit(X, y)
            coef, intercept = centered(fitted)
            found.append(np.r_[np.ravel(coef), np.ravel(intercept)])
            if i < summaries:
                summary = fitted.summary()
                if summary.unknown is not None:
                    return np.nan, np.nan, 0.0
                stds = np.r_[np.ravel(summary.coef_std), np.ravel(summary.intercept_std)]
                told.append((stdtrit(summary.n_draws - 1, 0.975), stds))
    off = np.abs(np.array(found) - np.mean(found, axis=0))
    known = np.array([np.isfinite(stds) for _, stds in told])
    if not known.any():
        return np.nan, np.nan, 0.0
    inside = [(off <= reach * stds)[:, np.isfinite(stds)].ravel() for reach, stds in told]
    ratios = [stds / np.maximum(np.std(found, axis=0, ddof=1), 1e-300) for _, stds in told]
    return float(np.mean(np.concatenate(inside))), float(np.nanmedian(ratios)), known.mean()


def cell(name, table, signal, fits, summaries):
    with threadpool_limits(1):
        X = tables()[table]
        model = clone(MODELS[name]).set_params(epsilon=epsilon_of(signal))
        return name, table, signal, *measured(model, X, targets(name, X, model), fits, summaries)


def merged(rows, table):
    """Return cells by model and table, as they are printed: new ones, and those of a CSV file."""
    found = {}
    if table.exists():
        with table.open(newline="") as file:
            found = {tuple(line[:2]): line[2:] for line in list(csv.reader(file))[1:]}
    for name, rows_of, signal, inside, ratio, known in rows:
        cells = found.setdefault((name, rows_of), ["not known"] * len(SIGNALS))
        cells[SIGNALS.index(signal)] = (f"{inside:.3f} ({ratio:.2f}), {known:.0%}" if known
                                        else "not known")
    return found


def page(found, fits, summaries):
    """Yield the lines of the page."""
    covered = np.array([float(cell.split()[0]) for cells in found.values() for cell in cells
                        if cell != "not known"])
    yield f"# Noise of coefficients ({date.today()})"
    yield ""
    yield (f"Of {len(covered)} cells {np.mean((covered >= .92) & (covered <= .98)):.0%} have .92 "
           "to .98 of the coefficients inside of their 95 % intervals, "
           f"{np.mean(covered < .92):.0%} less, {np.mean(covered > .98):.0%} more; the least is "
           f"{covered.min():.2f}. Intervals of single fits may be several times too wide where "
           "features are nearly collinear. With sparse or heavy-tailed features noise at signal "
           "400 may hide from Newton's method how the loss curves.")
    yield ""
    yield f"| {' | '.join(HEADS)} |"
    yield "|" + "---|" * len(HEADS)
    for (name, table), cells in found.items():
        if name == next(iter(MODELS)):
            yield f"| {name} | {table} | {' | '.join(cells)} |"
    yield ""
    yield ("[All models](tables/coefficient_noise.csv): `DPLinearRegression` too, and Newton's "
           "method, three classes and `DPHuberRegressor`, of which some were measured before.")
    yield ""
    yield (f"- Command: `python -m benchmarks.utility.coefficient_noise`. {fits} fits to the same "
           f"{N} rows of {P} columns with fresh noise, and `summary()` of {summaries} of them.")
    yield ("- Inside: the share of coefficients of all fits within the 95 % intervals, about the "
           "mean of all fits. Ratio: the median of stated deviations over measured ones. Known: "
           "the share of coefficients whose deviation is not NaN. Signal: `n mu` over the number "
           "of columns.")


def main():
    """Measure and write the page, and the table of all models beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=PAGE)
    parser.add_argument("--fits", type=int, default=30)
    parser.add_argument("--summaries", type=int, default=3)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--tables", nargs="*", default=list(tables()))
    parser.add_argument("--signals", nargs="*", type=int, default=SIGNALS)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    rows = []
    for row in Parallel(args.jobs, return_as="generator")(
            delayed(cell)(name, table, signal, args.fits, args.summaries)
            for name in args.models for table in args.tables for signal in args.signals):
        rows.append(row)
        print(*row, file=sys.stderr, flush=True)
    table = args.output.parent / "tables" / f"{args.output.stem}.csv"
    found = merged(rows, table)
    with table.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [HEADS, *([*names, *cells] for names, cells in found.items())])
    put_page(args.output, "\n".join(page(found, args.fits, args.summaries)) + "\n")


if __name__ == "__main__":
    main()
