"""
Accuracy against epsilon
========================

How much accuracy does privacy cost? A logistic regression is fitted to a small medical table at
several values of epsilon, beside one without privacy. Noise is fresh in every fit, so each point
is the mean of 25 fits, with their standard deviation.
"""

# %%
# Scale by constants
# ------------------
# Ranges are declared from what such measurements can be, not read from the table: a maximum of
# the rows would be data. In [-1, 1] no row of 30 columns is longer than the root of 30, which is
# declared as ``data_norm``. So few rows are not enough to learn a bound.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPLogisticRegression

UPPER = np.array([20, 30, 140, 1500, 0.15, 0.3, 0.35, 0.17, 0.3, 0.1,
                  1.5, 3, 10, 150, 0.02, 0.08, 0.12, 0.03, 0.04, 0.01,
                  28, 40, 180, 2500, 0.2, 0.8, 0.8, 0.25, 0.5, 0.15])


def scale(X):
    return np.clip(2 * X / UPPER - 1, -1, 1)


def accuracy(classifier):
    model = make_pipeline(FunctionTransformer(scale), classifier).fit(X_train, y_train)
    return model.score(X_test, y_test)


X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Fit at several budgets
# ----------------------

# By default rows are whitened in training where the rule for it, of public numbers, says so.

epsilons = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
settings = {"DPLogisticRegression": "auto", "the same, precondition=False": False}
plain = accuracy(LogisticRegression())

figure, axes = plt.subplots(layout="constrained")
for place, (name, precondition) in enumerate(settings.items()):
    scores = np.array([[accuracy(DPLogisticRegression(
        epsilon, data_norm=np.sqrt(30), classes=[0, 1], precondition=precondition))
        for _ in range(25)] for epsilon in epsilons])
    axes.errorbar(np.array(epsilons) * 1.05**place, scores.mean(axis=1),
                  yerr=scores.std(axis=1), marker="o", capsize=3, label=name)
axes.axhline(plain, color="k", linestyle="--", label="LogisticRegression, not private")
axes.axhline(max(y_test.mean(), 1 - y_test.mean()), color="k", linestyle=":",
             label="majority class")
axes.set(xscale="log", xlabel="epsilon (smaller is more private)", ylabel="test accuracy",
         title=f"Breast cancer, {len(y_train)} training rows, delta = 1/n²")
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
axes.minorticks_off()
axes.legend(loc="center right")
plt.show()

# %%
# With 426 rows little is lost at epsilon 2 and above, and much at 0.25. It is the product of n
# and epsilon that counts, roughly: ten times as many rows give at epsilon 0.2 what these give at
# 2. Whitening pays for a noisy second moment of the rows. On so small a table that is worth its
# price at epsilon 4, and not at 0.5.
