"""Curves of additive models beside those without privacy, and how often their bands are right.

    python -m benchmarks.utility.shape_functions                  # the pictures
    python -m benchmarks.utility.shape_functions --coverage 200   # the table

Pictures are drawn at epsilon 1; beside each curve is that of hat functions at the exact quantiles
and indicators, with a linear model of scikit-learn. The table is of fits to the same rows with
knots and categories declared, so that nothing but the noise of the fit differs: of all values in
all fits, the share that lies within a band of 95 % about their mean over fits.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from benchmarks.datasets import declared_columns, load_table
from benchmarks.utility.additive import REGRESSIONS, without_privacy
from dpsk import DPAdditiveClassifier, DPAdditiveRegressor
from dpsk.inspection import DPShapeDisplay
from dpsk.testing import NoiseSeed

COVERED = {"adult", "bank", "bike", "credit", "wine"}
EPSILONS = (0.5, 1.0, 4.0)
DRAWN = {"adult": ["age", "education_num", "hours", "marital", "relationship", "occupation"],
         "bike": ["temp", "hum", "windspeed", "hr", "weathersit", "workingday"]}
#: Levels that fewer rows are at are left out of the table.
LEAST_SHARE = 0.002


def model_class(name):
    return DPAdditiveRegressor if name in REGRESSIONS else DPAdditiveClassifier


def declared(name, epsilon):
    """Return `columns` with knots and categories, as one fit with bounds declared found them."""
    X, _, y, _ = load_table(name)
    model = model_class(name)(epsilon, interactions=0, columns=declared_columns(name),
                              random_state=NoiseSeed(0)).fit(X, y)
    columns = {}
    for term in model.terms_:
        axis = term.axes[0]
        if axis.categories is None:
            # Two numbers would be bounds between which knots are found.
            middle = axis.knots[[0, -1]].mean()
            columns[axis.column] = tuple(np.union1d(axis.knots, middle).tolist())
        else:
            columns[axis.column] = axis.categories
    return columns


def coverage_line(name, epsilon, n_fits):
    """Return a row of the table."""
    X, _, y, _ = load_table(name)
    columns, found, stds = declared(name, epsilon), [], []
    for seed in range(n_fits):
        model = model_class(name)(epsilon, interactions=0, columns=columns,
                                  random_state=NoiseSeed(seed)).fit(X, y)
        found.append(np.concatenate([term.centered for term in model.terms_]))
        stds.append(np.concatenate([term.std for term in model.terms_]))
    found, stds = np.array(found), np.array(stds)
    shares = np.concatenate([level_shares(X, term.axes[0]) for term in model.terms_])
    usual = shares >= LEAST_SHARE
    inside = (np.abs(found - found.mean(axis=0)) <= 1.96 * stds).mean(axis=0)[usual]
    ratio = (stds.mean(axis=0) / found.std(axis=0, ddof=1))[usual]
    low, middle, high = np.quantile(ratio, (0.05, 0.5, 0.95))
    return (f"| {name} | {epsilon:g} | {usual.sum()} | {100 * inside.mean():.1f} % | "
            f"{100 * np.quantile(inside, 0.05):.0f} % | {middle:.2f} ({low:.2f} to {high:.2f}) |")


def level_shares(X, axis):
    """Return the share of rows at every level of a column."""
    cells = X[axis.column].to_numpy()
    if axis.categories is not None:
        return np.array([np.mean(cells == each) for each in axis.categories] + [0.0])
    hats = [np.interp(cells, axis.knots, each).mean() for each in np.eye(len(axis.knots))]
    return np.array(hats)


def exact_curve(model, X, axis):
    """Return what a pipeline of scikit-learn adds at places of a column, less its mean."""
    places = axis.categories or np.linspace(*axis.knots[[0, -1]], 200)
    rows = pd.concat([X.iloc[:1]] * len(places), ignore_index=True)
    rows[axis.column] = list(places)
    raw = model.decision_function if is_classifier(model) else model.predict
    seen = raw(X.assign(**{column: X[column].iloc[0] for column in X if column != axis.column}))
    return places, raw(rows) - seen.mean()


def draw(name, folder):
    """Write the picture of a table."""
    X, _, y, _ = load_table(name)
    exact = without_privacy(name in REGRESSIONS).fit(X, y)
    model = model_class(name)(1.0, interactions=0, random_state=NoiseSeed(0)).fit(X, y)
    display = DPShapeDisplay.from_estimator(model, features=DRAWN[name])
    for term, ax in zip(display.terms, display.axes_.ravel(), strict=False):
        axis = term.axes[0]
        places, values = exact_curve(exact, X, axis)
        if axis.categories is None:
            ax.plot(places, values, "k--", linewidth=1, label="without privacy")
        else:
            ax.plot(range(len(places)), values, "kx", label="without privacy")
    display.axes_.ravel()[0].legend()
    display.figure_.set_size_inches(11, 6.5)
    display.figure_.savefig(folder / f"shape_functions_{name}.png", dpi=80)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--coverage", type=int, default=0, metavar="FITS")
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if not args.coverage:
        for name in args.tables or DRAWN:
            draw(name, args.output)
        return
    print("| table | epsilon | values | inside | of the worst twentieth | band over deviation |\n"
          "|---|---|---|---|---|---|")
    for name in args.tables or sorted(COVERED):
        for epsilon in args.epsilons:
            print(coverage_line(name, epsilon, args.coverage), flush=True)


if __name__ == "__main__":
    main()
