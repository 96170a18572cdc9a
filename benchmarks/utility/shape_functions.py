"""Curves of additive models beside those without privacy.

    python -m benchmarks.utility.shape_functions

Pictures are drawn at epsilon 1; beside each curve is that of hat functions at the exact quantiles
and indicators, with a linear model of scikit-learn.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from benchmarks.datasets import load_table
from benchmarks.utility.additive import REGRESSIONS, without_privacy
from dpsk import DPAdditiveClassifier, DPAdditiveRegressor
from dpsk.inspection import DPShapeDisplay
from dpsk.testing import NoiseSeed

DRAWN = {"adult": ["age", "education_num", "hours", "marital", "relationship", "occupation"],
         "bike": ["temp", "hum", "windspeed", "hr", "weathersit", "workingday"]}


def model_class(name):
    return DPAdditiveRegressor if name in REGRESSIONS else DPAdditiveClassifier


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
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in DRAWN:
        draw(name, args.output)


if __name__ == "__main__":
    main()
