"""Raw visits of patients, a rare outcome: additive models that protect patients.

    python -m benchmarks.utility.raw_visits [--seeds 6] [--output docs/results/raw_visits.md]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from benchmarks.measuring import put_page
from dpsk import DPAdditiveClassifier
from dpsk.testing import NoiseSeed

#: Patients, visits, share of cases, epsilon. Nothing was fitted to any of these.
SHAPES = ((9000, 30000, .0134, 1.0), (9000, 36000, .0134, 1.0), (9000, 30000, .0134, 3.0),
          (9000, 10800, .0134, 1.0), (3000, 30000, .05, 1.0), (20000, 40000, .3, 0.5),
          (4000, 16000, .1, 2.0))
HEADER = """# User-level privacy: raw visits of patients

| patients | visits | cases | epsilon | groups | one visit | groups - one visit | rows |
|---|---|---|---|---|---|---|---|
"""
FOOTER = """
`python -m benchmarks.utility.raw_visits`: area under the ROC curve on the visits of twice as many
other patients, means over {seeds} seeds with the standard error. Made visits of 14 raw columns
with outliers, missing values, strings and 40 wards. `DPAdditiveClassifier`, delta 1e-6, defaults
otherwise:

- groups: `fit(X, y, groups=patient)`.
- one visit: a fit to one visit of each patient, with the same guarantee.
- rows: protects one visit; no guarantee for patients.
"""


def visits(n_patients, n_visits, cases, seed):
    """Return visits of patients as a frame, the outcome of each, and whose it is."""
    rng = np.random.default_rng(seed)
    who = np.append(np.arange(n_patients),
                    rng.integers(n_patients, size=n_visits - n_patients))
    n = len(who)

    def trait():
        return rng.normal(size=n_patients)[who]

    def own():
        return rng.normal(size=n)

    frail, chronic, wards = trait(), trait(), 0.5 * rng.normal(size=40)
    ward, kind = np.minimum(rng.geometric(0.09, n) - 1, 39), rng.choice(3, n, p=[.55, .35, .1])
    X = pd.DataFrame({
        "age": np.clip(58 + 18 * trait(), 0, 104), "sex": np.where(trait() > 0, "f", "m"),
        "pressure": 130 + 8 * trait() + 12 * own(), "bmi": 27 + 4 * trait() + 0.5 * own(),
        "glucose": 100 * np.exp(0.2 * chronic + 0.15 * own()),
        "creatinine": np.exp(0.1 * frail + 0.25 * own()),
        "crp": np.exp(1 + 0.3 * frail + 0.8 * own()), "pulse": 75 + 4 * frail + 10 * own(),
        "stay": rng.poisson(np.exp(0.8 + 0.3 * frail)), "drugs": rng.poisson(4, n),
        "earlier": rng.poisson(np.exp(0.2 + 0.5 * frail)), "ward": [f"w{one}" for one in ward],
        "admission": np.array(["planned", "emergency", "transfer"])[kind],
        "day": rng.integers(730, size=n)})
    score = (0.03 * X["age"] + 0.35 * np.log(X["crp"]) + 0.5 * frail + 0.25 * np.log1p(
        X["earlier"]) + 0.8 * np.log(X["glucose"] / 100) + 0.03 * X["pulse"] + 0.8 * X[
        "creatinine"] + ((X["bmi"] - 27) / 10) ** 2 + np.array([-.6, .6, .3])[kind] + wards[ward])
    middle = brentq(lambda shift: expit(score - shift).mean() - cases, -50, 50)
    y = (rng.random(n) < expit(score - middle)).astype(int)
    X.loc[rng.random(n) < 0.002, "pressure"] = 9999.0
    X.loc[rng.random(n) < 0.003, "glucose"] *= 100.0
    for name, share in (("pressure", 0.05), ("crp", 0.2), ("bmi", 0.1), ("creatinine", 0.1)):
        X.loc[rng.random(n) < share, name] = np.nan
    return X, y, who


def areas(n_patients, n_visits, cases, epsilon, seed):
    """Return the areas of the three fits."""
    X, y, who = visits(3 * n_patients, 3 * n_visits, cases, seed)
    train = who < n_patients
    one = np.random.default_rng(seed).permutation(np.flatnonzero(train))
    one = one[np.unique(who[one], return_index=True)[1]]

    def area(rows, **groups):
        model = DPAdditiveClassifier(epsilon, delta=1e-6, random_state=NoiseSeed(seed))
        model.fit(X.iloc[rows], y[rows], **groups)
        return roc_auc_score(y[~train], model.predict_proba(X[~train])[:, 1])

    every = np.flatnonzero(train)
    return area(every, groups=who[every]), area(one), area(every)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [HEADER]
    for shape in SHAPES:
        groups, one, rows = np.array([areas(*shape, seed) for seed in range(args.seeds)]).T
        shown = [f"{each.mean():.3f} ± {each.std(ddof=1) / len(each) ** 0.5:.3f}"
                 for each in (groups, one, groups - one, rows)]
        lines.append(f"| {' | '.join(map(str, shape))} | {' | '.join(shown)} |\n")
        print(lines[-1], end="", flush=True)
    if args.output:
        put_page(args.output, "".join([*lines, FOOTER.format(seeds=args.seeds)]))


if __name__ == "__main__":
    main()
