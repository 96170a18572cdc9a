"""Test AUC of a linear score: the square over pairs, the logistic loss, and DPLogisticRegression.

    python -m benchmarks.utility.auc_linear > docs/results/auc_linear.md
"""

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.datasets import load
from dpsk import DPAUCMaximizer, DPLogisticRegression
from dpsk.testing import NoiseSeed

SETS = ["credit", "bank", "adult"]
EPSILONS = [0.2, 0.5, 1.0, 2.0]
SEEDS = 10
MODELS = {
    "DPAUCMaximizer, auc": lambda epsilon, seed: DPAUCMaximizer(
        epsilon, loss="auc", random_state=NoiseSeed(seed)),
    "DPAUCMaximizer, logistic (auto)": lambda epsilon, seed: DPAUCMaximizer(
        epsilon, random_state=NoiseSeed(seed)),
    "DPLogisticRegression": lambda epsilon, seed: DPLogisticRegression(
        epsilon, random_state=NoiseSeed(seed)),
}
HEADER = """# AUC of linear scores: the logistic loss or the pairwise loss

`auc` is the pairwise squared loss with "sgda": 40 full-batch steps, the share of positives counted
within the budget. `logistic` is "gd" with the clip of the ranking rule.

- Command: `python -m benchmarks.utility.auc_linear`. Test AUC, delta 1/n^2, mean over {seeds}
  seeds, defaults, features whitened.
- All settings were chosen on these sets.
"""


def main():
    print(HEADER.format(seeds=SEEDS))
    print("| set | model | " + " | ".join(f"eps {epsilon:g}" for epsilon in EPSILONS) + " |")
    print("|---|---|" + "---|" * len(EPSILONS))
    for name in SETS:
        X_train, X_test, y_train, y_test = load(name)
        for model, make in MODELS.items():
            cells = []
            for epsilon in EPSILONS:
                runs = [roc_auc_score(y_test, make(epsilon, seed).fit(
                    X_train, y_train).decision_function(X_test)) for seed in range(SEEDS)]
                cells.append(f"{np.mean(runs):.4f} ± {np.std(runs) / np.sqrt(SEEDS):.4f}")
            print(f"| {name} | {model} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
