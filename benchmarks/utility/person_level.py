"""Guarantees for people of 5 to 50 rows each: `groups=` beside group privacy by composition.

    python -m benchmarks.utility.person_level [--seeds 10] [--output PAGE]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.datasets import load
from benchmarks.measuring import put_page
from dpsk import DPLogisticRegression
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk.testing import NoiseSeed

EPSILONS = (0.5, 1.0, 2.0, 4.0)
FEWEST, MOST = 5, 50
#: A public bound on the norm of rows of indicators and of numbers in [0, 1].
NORM = 3.0
HEADER = """# User-level privacy: people with several rows

Accuracy and test AUC, mean over {seeds} seeds with the standard error of the second. The rows of a
person are drawn at random, or are alike: in the order of the first principal direction.

- **groups**: `fit(X, y, groups=person)`. The number of rows of a person is secret and unbounded.
- **groups, one clip**: with `solver_options={{"group_clip_norm": inf}}`, without the clip of a
  person's average.
- **composition**: a fit that protects rows at mu / {most}, with the public bound of {most}.
- **one row each**: a fit to one row of each person, drawn at random.
- **rows**: protects a single row, without a guarantee for people.

Command: `python -m benchmarks.utility.person_level`. `DPLogisticRegression(data_norm={norm:g},
solver="gd")`, defaults otherwise, delta 1/G^2. G is the number of people, with {fewest} to {most}
rows each.

| table | rows of a person | G | n | fit | {heads} |
|---|---|---|---|---|---|{rules}|
"""


def people(X, alike, seed=0):
    """Return the person of every row, of 5 to 50 rows but for the last."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(FEWEST, MOST + 1, len(X))
    codes = np.repeat(np.arange(len(X)), sizes)[:len(X)]
    order = rng.permutation(len(X))
    if alike:
        centered = X - X.mean(axis=0)
        direction = np.linalg.svd(centered.T @ centered)[0][:, 0]
        order = np.argsort(centered @ direction, kind="stable")
    found = np.empty(len(X), int)
    found[order] = codes
    return found


def row_epsilon(epsilon, delta):
    """Return the epsilon for rows at which MOST of them have this one, for Gaussian releases."""
    wanted = gaussian_mu(epsilon, delta) / MOST
    return brentq(lambda one: gaussian_mu(one, delta) - wanted, 1e-4, epsilon, xtol=1e-6)


def fits(X, y, person, epsilon, seed):
    """Yield names and fitted models."""
    count = int(person.max()) + 1
    params = {"delta": 1.0 / count**2, "data_norm": NORM, "solver": "gd",
              "random_state": NoiseSeed(seed)}
    order = np.random.default_rng(seed).permutation(len(X))
    one = order[np.unique(person[order], return_index=True)[1]]
    yield "groups", DPLogisticRegression(epsilon, **params).fit(X, y, groups=person)
    one_clip = {"group_clip_norm": np.inf}
    yield "groups, one clip", DPLogisticRegression(
        epsilon, solver_options=one_clip, **params).fit(X, y, groups=person)
    yield "composition", DPLogisticRegression(row_epsilon(epsilon, params["delta"]),
                                              **params).fit(X, y)
    yield "one row each", DPLogisticRegression(epsilon, **params).fit(X[one], y[one])
    yield "rows", DPLogisticRegression(epsilon, **params).fit(X, y)


def measures(model, X, y):
    """Return accuracy and area under the ROC curve."""
    return model.score(X, y), roc_auc_score(y, model.decision_function(X))


def shown(runs):
    """Return a cell of the table."""
    accuracy, area = runs.mean(axis=0)
    return f"{accuracy:.4f}, {area:.4f} ± {runs[:, 1].std() / np.sqrt(len(runs)):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("docs/results/user_level_privacy.md"))
    options = parser.parse_args()
    lines = []
    for name in ("adult", "bank"):
        X, X_test, y, y_test = load(name)
        best = LogisticRegression(C=1e3, max_iter=3000).fit(X, y)
        for alike in (False, True):
            person = people(X, alike)
            found = {}
            for epsilon in EPSILONS:
                for seed in range(options.seeds):
                    for fit, model in fits(X, y, person, epsilon, seed):
                        found.setdefault(fit, {}).setdefault(epsilon, []).append(
                            measures(model, X_test, y_test))
            found["not private"] = {
                epsilon: [measures(best, X_test, y_test)] for epsilon in EPSILONS}
            for fit, runs in found.items():
                cells = " | ".join(shown(np.array(runs[epsilon])) for epsilon in EPSILONS)
                lines.append(f"| {name} | {'alike' if alike else 'at random'} | "
                             f"{person.max() + 1} | {len(X)} | {fit} | {cells} |")
                print(lines[-1], flush=True)
    head = HEADER.format(
        seeds=options.seeds, norm=NORM, fewest=FEWEST, most=MOST, rules="---|" * len(EPSILONS),
        heads=" | ".join(f"epsilon {epsilon:g}" for epsilon in EPSILONS))
    head = head.replace("---||", "---|")
    put_page(options.output, head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
