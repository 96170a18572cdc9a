"""
The budget of a project
=======================

Whoever looks at one model and then fits another pays for both. A ``PrivacyBudget`` is opened
first: every private fit inside is charged before it draws any noise, or refused.
``privacy_report`` says what has been given away by something that is already fitted.
"""

# %%
# Spend it
# --------
# Three fits, each of epsilon 0.8 by itself. Squares of mu add up, so that three cost less than
# 2.4 together. The fits may follow from one another, and from whatever was seen in between.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, KFold

from dpsk import (
    DPAdditiveClassifier,
    DPLinearSVC,
    DPLogisticRegression,
    PrivacyBudget,
    accounting,
    privacy_report,
)
from dpsk.exceptions import BudgetExceededError

X, y = load_breast_cancer(return_X_y=True)
X = np.clip(X[:, :4] / [15, 20, 100, 800] - 1, -1, 1)  # by constants
shared = {"delta": 1e-5, "classes": [0, 1]}
budget = PrivacyBudget(2.0, 1e-5, name="patients")
fits, left = [], [budget.left(delta=1e-5)]
with budget:
    for model in (DPLogisticRegression(0.8, data_norm=2.0, **shared),
                  DPLinearSVC(0.8, data_norm=2.0, **shared),
                  DPAdditiveClassifier(0.8, **shared)):
        fits.append(model.fit(X, y))
        left.append(budget.left(delta=1e-5))
budget

# %%
# What is left
# ------------
# A fourth fit that asks for more is refused, and nothing is spent on it.

try:
    with budget:
        DPLogisticRegression(2.0, data_norm=2.0, **shared).fit(X, y)
except BudgetExceededError as error:
    print(error)

together = [accounting.epsilon([each.privacy_ for each in fits[:count]], 1e-5)
            for count in range(1, 4)]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].plot(range(1, 4), together, marker="o", label="together, from all events")
axes[0].plot(range(1, 4), 0.8 * np.arange(1, 4), "k:", label="sum of epsilons")
axes[0].set(xlabel="fits", ylabel="epsilon at delta 1e-5", title="What fits cost")
axes[0].set_xticks(range(1, 4))
axes[0].legend()
axes[1].bar(range(4), left)
axes[1].set(xlabel="fits made", ylabel="epsilon of a further fit",
            title="What a budget of 2 admits")
axes[1].set_xticks(range(4))
plt.show()

# %%
# One certificate
# ---------------
# All that was charged has one guarantee. ``to_html()`` makes a page for a privacy officer of it,
# and ``to_json()`` what ``python -m dpsk.verify`` checks against the file of the budget.

budget.certificate()

# %%
# A report
# --------
# A grid search of scikit-learn fits again and again, and scores without noise. The report says
# what its fits cost together, and what has no guarantee at all.

search = GridSearchCV(DPLogisticRegression(0.5, data_norm=2.0, solver="gd", **shared),
                      {"alpha": [0.0, 0.01]}, cv=KFold(3))
privacy_report(search.fit(X, y))
