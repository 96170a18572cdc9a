"""Scores of a search: how often the best candidate is chosen, and the error of the score told.

    python -m benchmarks.utility.search_scores [--repetitions 200]

Three candidates whose scores are logits of different strength score held-out rows, a fifth of n,
at the noise of a search of six candidates on average. Nothing is trained.
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit, logit

from dpsk import DPLogisticRegression
from dpsk.exceptions import PrivacyWarning
from dpsk.model_selection._part import Part
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._runs import noises_of, shares_of
from dpsk.model_selection._scoring import chosen_scorers

NAMES = ("accuracy", "roc_auc", "average_precision", "neg_log_loss", "neg_brier_score")
ROWS, CASES, STRENGTHS = (3_000, 15_000), (0.5, 0.1), (1.6, 1.3, 0.8)
EPSILON, MEAN_RUNS = 1.0, 6


class Candidate:
    """A classifier of logits."""

    classes_ = np.arange(2)

    def predict_proba(self, X):
        return np.column_stack([1.0 - expit(X), expit(X)])

    def predict(self, X):
        return (X > 0.0).astype(int)


def drawn(n, cases, rng):
    """Return labels, and the logits of every candidate."""
    y = (rng.random(n) < cases).astype(int)
    place = rng.normal(size=n)
    return y, [each * (place + each * y) - each**2 / 2.0 + logit(cases) for each in STRENGTHS]


def once(scorer, plan, noises, y, logits, rng):
    """Return the place of the best, its score as it is told, the stated error and the truth."""
    runs = []
    for X in logits:
        held = Part(X, y, None)

        def ask(place, columns, held=held):
            exact = np.array([held.total(each) for each in columns]) / len(y)
            return exact + noises[place] * rng.normal(size=len(columns))

        runs.append(scorer.released(ask, Candidate(), X, y, len(y), noises))
    best = int(np.argmax([np.nan_to_num(scorer.order(each, len(y)), nan=-np.inf)
                          for each in runs]))
    told = float(np.clip(scorer.value(runs[best], len(y)), *scorer.range))
    return (best, told, scorer.error(runs[best], noises, len(y)),
            scorer.exact(Candidate(), logits[best], y))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    repetitions = parser.parse_args().repetitions
    warnings.simplefilter("ignore", PrivacyWarning)
    print("| rows | cases | score | best chosen | error | stated | within two | NaN |\n"
          "|---|---|---|---|---|---|---|---|")
    for n in ROWS:
        for cases in CASES:
            for name in NAMES:
                rng = np.random.default_rng(0)
                scorer = chosen_scorers(name, None, DPLogisticRegression())["score"]
                plan = search_plan(EPSILON, n**-2.0, MEAN_RUNS, n - n // 5, n // 5, gaussian=True,
                                   disclosed=0.0, score_shares=shares_of({name: scorer}))
                noises = noises_of(scorer, plan.score_events, n // 5)
                best, told, stated, exact = np.array([
                    once(scorer, plan, noises, *drawn(n // 5, cases, rng), rng)
                    for _ in range(repetitions)]).T
                low, high = scorer.range
                known = stated <= np.minimum(np.abs(told), (high - low) / 4.0)
                off = np.abs(told - exact)[known]
                print(f"| {n} | {cases:.0%} | {name} | {np.mean(best == 0):.2f} "
                      f"| {np.sqrt(np.mean(off**2)):.3f} | {stated[known].mean():.3f} "
                      f"| {np.mean(off <= 2.0 * stated[known]):.2f} | {1 - known.mean():.2f} |",
                      flush=True)


if __name__ == "__main__":
    main()
