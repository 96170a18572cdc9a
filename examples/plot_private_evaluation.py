"""
Private evaluation
==================

An exact score on sensitive rows is a release without noise. ``BinaryEvaluation`` releases one
noisy histogram of the scores instead, and every metric and curve follows from it at no further
cost, each with the error that the noise leaves. Noise is fresh in every evaluation.
"""

# %%
# Two halves of the rows
# ----------------------
# One half trains, the other evaluates. No row is in both, by index, so that nobody pays twice.
# Digits from 5 to 9 are to be told from those below; as there are a few hundred rows of each
# half, both budgets are large.

import matplotlib.pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits
from sklearn.metrics import roc_curve
from sklearn.model_selection import train_test_split

from dpsk import DPLogisticRegression
from dpsk.metrics import BinaryEvaluation, DPCalibrationDisplay, DPRocCurveDisplay

X, digits = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 8 - 1, digits > 4, test_size=0.5,
                                                    random_state=0)
model = DPLogisticRegression(4.0, data_norm=8.0, classes=[False, True]).fit(X_train, y_train)
evaluation = BinaryEvaluation.from_estimator(model, X_test, y_test, epsilon=2.0)

for name in ("accuracy", "roc_auc", "brier_score"):
    value, error = getattr(evaluation, name)()
    print(f"{name}: {value:.3f} +- {error:.3f}")

# %%
# Curves of the same release
# --------------------------
# The dashed curves are exact. They are there to compare with, and could not be shown of rows
# that are private.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
scores = model.predict_proba(X_test)[:, 1]
DPRocCurveDisplay.from_evaluation(evaluation, ax=axes[0])
DPCalibrationDisplay.from_evaluation(evaluation, ax=axes[1])
wrong, found, _ = roc_curve(y_test, scores)
axes[0].plot(wrong, found, "k--", linewidth=1, label="exact")
shares, means = calibration_curve(y_test, scores, n_bins=8)
axes[1].plot(means, shares, "k--", linewidth=1, label="exact")
for ax in axes:
    ax.legend(loc="lower right")
plt.show()

# %%
# The certificate is of the rows that evaluate; the model has one of its own.

evaluation.privacy_
