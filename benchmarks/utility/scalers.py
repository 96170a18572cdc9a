"""How far centers and scales learnt under noise are from the exact ones.

    python -m benchmarks.utility.scalers [--fits 15] [--epsilon 1.0]

Columns are drawn from known laws, three normal ones, an exponential and a lognormal one; scalers
are first steps of a pipeline with a logistic regression. Centers are off in units of the exact
scale, scales in their logarithm: the median of all fits, and the largest.
"""

import argparse

import numpy as np

from dpsk import DPLogisticRegression, DPRobustScaler, DPStandardScaler, make_dp_pipeline

NAMES = ("N(40, 12)", "N(0, .01)", "N(-1000, 50)", "exponential, 2000", "lognormal, 3, 1")
SAMPLES = (1000, 10_000)


def table(n_samples, rng):
    """Return rows of the columns in `NAMES`."""
    return np.column_stack([
        rng.normal(40.0, 12.0, n_samples), rng.normal(0.0, 1e-2, n_samples),
        rng.normal(-1000.0, 50.0, n_samples), rng.exponential(2000.0, n_samples),
        rng.lognormal(3.0, 1.0, n_samples)])


def exact(cls, X):
    """Return the centers and scales that a class is after, of many rows."""
    if cls is DPStandardScaler:
        return X.mean(axis=0), X.std(axis=0)
    center = np.median(X, axis=0)
    return center, 2.0 * np.median(np.abs(X - center), axis=0)


def errors(cls, n_samples, epsilon, fits, rng):
    """Return errors of centers and scales, shape (2, fits, n_columns)."""
    center, scale = exact(cls, table(10**6, rng))
    found = []
    for _ in range(fits):
        X = table(n_samples, rng)
        pipeline = make_dp_pipeline(cls(), DPLogisticRegression(), epsilon=epsilon)
        scaler = pipeline.fit(X, (X[:, 0] > 40.0).astype(int)).steps_[0][1]
        own = scaler.mean_ if cls is DPStandardScaler else scaler.center_
        found.append([np.abs(own - center) / scale, np.abs(np.log(scaler.scale_ / scale))])
    return np.swapaxes(found, 0, 1)


def main():
    """Print a line for every scaler, number of rows and column."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fits", type=int, default=15)
    parser.add_argument("--epsilon", type=float, default=1.0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| scaler | n | column | center, median (largest) | scale, median (largest) |")
    print("|---|---|---|---|---|")
    for cls in (DPRobustScaler, DPStandardScaler):
        for n_samples in SAMPLES:
            found = errors(cls, n_samples, arguments.epsilon, arguments.fits, rng)
            usual, largest = np.median(found, axis=1), found.max(axis=1)
            for place, name in enumerate(NAMES):
                cells = " | ".join(f"{usual[kind, place]:.3f} ({largest[kind, place]:.2f})"
                                   for kind in (0, 1))
                print(f"| {cls.__name__} | {n_samples} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
