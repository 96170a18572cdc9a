"""
A pipeline and its certificate
==============================

A table with columns of any scale goes through two private steps, which share one budget: a
vectorizer that finds knots for every column under noise, and a classifier. The pipeline has one
certificate, for both.
"""

# %%
# One budget for all steps
# ------------------------
# ``make_dp_pipeline`` takes epsilon and splits it among its steps by a rule of public numbers.
# scikit-learn's own ``StandardScaler`` would be refused here, as it learns from rows without
# noise. Ranges of columns are learnt as well, unless they are declared, as here: that saves
# budget.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from dpsk import Certificate, DPLogisticRegression, DPTableVectorizer, make_dp_pipeline

COLUMNS = {"mean radius": (5, 30), "mean texture": (5, 45), "mean smoothness": (0, 0.2),
           "mean concavity": (0, 0.5)}
table, benign = load_breast_cancer(return_X_y=True, as_frame=True)
table = table[list(COLUMNS)]
X_train, X_test, y_train, y_test = train_test_split(table, benign, random_state=0)
model = make_dp_pipeline(DPTableVectorizer(columns=COLUMNS, n_knots=5),
                         DPLogisticRegression(classes=[0, 1]), epsilon=2.0)
model.fit(X_train, y_train)

# %%
# The certificate
# ---------------
# It says what the fit gives away, which kinds of noise were added how often, what was enforced
# on every row, and what is taken as public. The score below is exact, and so is itself a
# release: print it of public rows only, or evaluate privately.

print(f"test accuracy {model.score(X_test, y_test):.2f}")
model.privacy_

# %%
# As text it goes to an auditor, who loads it again: that prices the events anew, and any other
# point of the guarantee follows.

received = Certificate.from_json(model.privacy_.to_json())
print(f"at delta 1e-4 epsilon is {received.epsilon_at(1e-4):.2f}")

# %%
# What the steps have learnt
# --------------------------
# All of it was released, so that it may be shown. A column's part of the score is straight
# between its knots, the marks. The outer knots are the declared ends; few rows are near them,
# and what is seen there is mostly noise.

knots = model.named_steps_.dptablevectorizer.knots_
weights = iter(np.split(model.named_steps_.dplogisticregression.coef_.ravel(),
                        np.cumsum([len(each) for each in knots.values()])[:-1]))
figure, axes = plt.subplots(1, len(knots), figsize=(10, 3), sharey=True, layout="constrained")
for ax, (name, places) in zip(axes, knots.items(), strict=True):
    ax.plot(places, next(weights), marker="o")
    ax.axhline(0, color="0.7", linewidth=0.8, zorder=0)
    ax.set_xlabel(name)
axes[0].set_ylabel("log-odds of benign")
figure.suptitle("One private model, epsilon 2")
plt.show()
