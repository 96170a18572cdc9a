"""Additive models of raw tables, beside additive models without privacy.

    python -m benchmarks.utility.additive [--seeds 10] [--output docs/results/additive.md]
    python -m benchmarks.utility.additive --declared [--seeds 10]

Tables come as they are in their files: numbers, words, no bounds; of bike and Credit the codes
that stand for categories are words. The whole budget is that of the fit, with all it learns.
With ``--declared`` the same fits are set beside those that are told the bounds of numbers and the
categories of words; that table goes by hand below the first one.
"""

import argparse
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from benchmarks.datasets import declared_columns, load_table
from benchmarks.measuring import put_page
from dpsk import DPAdditiveClassifier, DPAdditiveRegressor
from dpsk.testing import NoiseSeed

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
#: What is asked for at each epsilon: AUC, or R2.
GOALS = {"adult": (0.868, 0.898, 0.905, 0.909, 0.911), "bank": (0.82, 0.905, 0.912, 0.915, 0.917),
         "credit": (0.715, 0.750, 0.756, 0.762, 0.765), "bike": (0.43, 0.69, 0.72, 0.76, 0.82),
         "wine": (0.12, 0.28, 0.32, 0.34, 0.36)}
REGRESSIONS = {"bike", "wine"}
#: Tables without a goal: few rows for their columns.
OTHERS = ("breast_cancer", "covtype_10000")
HEADER = """# Accuracy of additive models on raw tables

`DPAdditiveClassifier` and `DPAdditiveRegressor` at their defaults, on tables as they come:
categorical values, missing values, nothing declared.

Test AUC or R2 (in brackets the goal), and test accuracy. Epsilon "none" is scikit-learn's linear
model on linear B-splines at quantiles and indicators, without products. "Pairs" is the mean number
of products of features. The last two are the small tables, of few rows for their columns.

- Command: `python -m benchmarks.utility.additive`. Test set, delta 1/n^2, mean and standard
  deviation over {seeds} seeds, {today}.

| table | epsilon | AUC or R2 | accuracy | pairs | seconds of a fit |
|---|---|---|---|---|---|
"""


def measured(model, is_regression, X, y):
    """Return AUC and accuracy of a classifier, R2 of a regressor."""
    if is_regression:
        return r2_score(y, model.predict(X)), np.nan
    scores = model.decision_function(X)
    return roc_auc_score(y, scores), np.mean((scores > 0) == y)


def without_privacy(is_regression):
    hats = SplineTransformer(9, degree=1, knots="quantile")
    words = make_column_selector(dtype_exclude=np.number)
    columns = make_column_transformer(
        (hats, make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words))
    return make_pipeline(columns, Ridge(1.0) if is_regression else
                         LogisticRegression(C=1.0, max_iter=1000))


def fits(name, epsilon, seeds, columns=None):
    """Return what was measured of every seed, the numbers of pairs and the seconds of a fit."""
    X, X_test, y, y_test = load_table(name)
    is_regression = name in REGRESSIONS
    cls = DPAdditiveRegressor if is_regression else DPAdditiveClassifier
    found, pairs, seconds = [], [], []
    for seed in range(seeds):
        model = cls(epsilon, columns=columns, random_state=NoiseSeed(seed))
        start = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - start)
        found.append(measured(model, is_regression, X_test, y_test))
        pairs.append(sum(len(term.axes) > 1 for term in model.terms_))
    return np.array(found), pairs, seconds


def line(name, epsilon, seeds):
    """Return a row of the table."""
    is_regression = name in REGRESSIONS
    found, pairs, seconds = fits(name, epsilon, seeds)
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
    goal = f" ({GOALS[name][EPSILONS.index(epsilon)]})" if name in GOALS else ""
    accuracy = "" if is_regression else f"{mean[1]:.4f} ± {spread[1]:.4f}"
    return (f"| {name} | {epsilon:g} | {mean[0]:.4f} ± {spread[0]:.4f}{goal} | {accuracy} | "
            f"{np.mean(pairs):.1f} | {np.median(seconds):.1f} |")


def declared_line(name, epsilon, seeds):
    """Return a row of the table of what it costs to learn what could be declared."""
    learnt, declared = (fits(name, epsilon, seeds, columns)[0]
                        for columns in (None, declared_columns(name)))
    lost = declared - learnt
    # Differences of fits with noise of their own.
    error = np.std(lost, axis=0, ddof=1) / np.sqrt(seeds)
    cells = []
    for place in range(1 if name in REGRESSIONS else 2):
        cells += [f"{learnt[:, place].mean():.4f}", f"{declared[:, place].mean():.4f}",
                  f"{lost[:, place].mean():+.4f} ± {error[place]:.4f}"]
    return f"| {name} | {epsilon:g} | {' | '.join(cells + [''] * (6 - len(cells)))} |"


def plain_line(name):
    X, X_test, y, y_test = load_table(name)
    model = without_privacy(name in REGRESSIONS).fit(X, y)
    value, accuracy = measured(model, name in REGRESSIONS, X_test, y_test)
    shown = "" if name in REGRESSIONS else f"{accuracy:.4f}"
    return f"| {name} | none | {value:.4f} | {shown} | 0 | |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tables", nargs="*", default=None)
    parser.add_argument("--declared", action="store_true")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = args.tables or [*sorted(GOALS), *([] if args.declared else OTHERS)]
    if args.declared:
        for name in tables:
            for epsilon in EPSILONS[1:]:
                print(declared_line(name, epsilon, args.seeds), flush=True)
        return
    lines = []
    for name in tables:
        for epsilon in EPSILONS:
            lines.append(line(name, epsilon, args.seeds))
            print(lines[-1], flush=True)
        lines.append(plain_line(name))
        print(lines[-1], flush=True)
    if args.output:
        header = HEADER.format(today=date.today(), seeds=args.seeds)
        put_page(args.output, header + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
