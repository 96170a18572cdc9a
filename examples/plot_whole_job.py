"""
User-level privacy: a whole job
===============================

Visits of patients, several a patient, with outliers, gaps and words; one visit in forty ends with
what is to be predicted. One budget of *patients* holds all of it: planning, tuning, the model and
its threshold, evaluation, pictures, and the certificate that is handed over.
"""

# %%
# The visits
# ----------
# Made ones, so that the example may show them. Whose a visit is tells ``who``; patients of the
# test part are in no fit.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from dpsk import (
    DPAdditiveClassifier,
    DPGridSearchCV,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    plan_privacy,
)
from dpsk.inspection import DPShapeDisplay
from dpsk.metrics import BinaryEvaluation, DPRocCurveDisplay, plan_evaluation

N_PATIENTS = 16_000
rng = np.random.default_rng(0)
who = np.append(np.arange(N_PATIENTS), rng.integers(N_PATIENTS, size=2 * N_PATIENTS))
frail = rng.normal(size=N_PATIENTS)[who]
visits = pd.DataFrame({
    "age": np.clip(58 + 18 * rng.normal(size=N_PATIENTS)[who], 0, 104),
    "pressure": rng.normal(130, 14, len(who)),
    "glucose": 100 * np.exp(0.2 * frail + 0.2 * rng.normal(size=len(who))),
    "earlier stays": rng.poisson(np.exp(0.2 + 0.5 * frail)),
    "admission": rng.choice(["planned", "emergency", "transfer"], len(who), p=[.55, .35, .1]),
})
risk = (0.04 * (visits["age"] - 58) + 1.2 * frail + 3 * np.log(visits["glucose"] / 100)
        + 0.8 * (visits["admission"] == "emergency") - 5.6)
readmitted = (rng.random(len(who)) < expit(risk)).astype(int)
visits.loc[rng.random(len(who)) < 0.002, "pressure"] = 9999.0
visits.loc[rng.random(len(who)) < 0.10, "glucose"] = np.nan
test = who % 4 == 0
print(f"{len(visits)} visits of {N_PATIENTS} patients, {readmitted.mean():.1%} cases")
visits.head()

# %%
# Plan
# ----
# From numbers that are public, before a row is read: the epsilon and the delta to give to each of
# three parts of the budget, and how well an evaluation of 4,000 patients, 100 cases among them,
# will know its figures. The model is named first, as its risk is predicted; .005 is taken as good
# enough, 4 % of the loss of a model that knows only how many cases there are.

table = dict.fromkeys(visits.columns, "numbers") | {"admission": 3}
plan = plan_privacy(N_PATIENTS * 3 // 4, table, delta=1e-6, epsilon=3.0, cases=300, n_iter=2,
                    largest_excess_risk=0.005,
                    parts={"model": 3, "search": 1, "evaluation": 2})
print(plan)
errors = plan_evaluation(N_PATIENTS // 4, cases=100, **plan.arguments("evaluation"))
print(f"standard error of the ROC area: {errors['roc_auc']:.2f}")

# %%
# Tune, fit, evaluate
# -------------------
# All three say whose a visit is, and the budget refuses what does not. A person's visits count as
# one: their average moves a sum as much as one row would. Recall and precision are those at the
# tuned threshold, which the evaluation takes from the model.

budget = PrivacyBudget(3.0, 1e-6, unit="group", name="patients")
of_fits = {"groups": who[~test]}
with budget:
    search = DPGridSearchCV(
        DPAdditiveClassifier(), {"interactions": [0, "auto"]}, scoring="neg_log_loss",
        n_iter=2, random_state=0, **plan.arguments("search"))
    search.fit(visits[~test], readmitted[~test], **of_fits)
    model = DPTunedThresholdClassifier(
        DPAdditiveClassifier(**search.best_params_), random_state=0, **plan.arguments("model"))
    model.fit(visits[~test], readmitted[~test], **of_fits)
    result = BinaryEvaluation.from_estimator(
        model, visits[test], readmitted[test], groups=who[test], **plan.arguments("evaluation"))
print(search.best_params_, f"threshold {model.best_threshold_:.3f}")
print(f"unspent: {1 - budget.spent['mu^2'] / budget.limits['mu^2']:.1%}")
for name in ("roc_auc", "recall", "precision"):
    value, (low, high) = getattr(result, name)(), getattr(result, name)().interval(0.95)
    print(f"{name} {value:.2f}, with noise in [{low:.2f}, {high:.2f}]")

# %%
# Look at it
# ----------
# Curves of the model and of its evaluation are post-processing: nothing more is spent.

DPRocCurveDisplay.from_evaluation(result, plot_chance_level=True)
plt.show()
DPShapeDisplay.from_estimator(model, order="importance", max_terms=3)
plt.show()

# %%
# Hand it over
# ------------
# One certificate for patients, with every release and all that is assumed. ``to_html()`` is the
# page for a privacy officer; ``python -m dpsk.verify`` checks ``to_json()``.

budget.certificate()
