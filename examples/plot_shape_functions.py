"""
Shape functions
===============

``DPAdditiveClassifier`` takes a table as it is and fits one curve a column. The curves are what
was released, so they may be looked at as long as anybody likes: ``DPShapeDisplay`` draws them
with bands of what the noise of the fit does. Noise is fresh in every fit; here there is one for
each epsilon.
"""

# %%
# Two budgets
# -----------
# Three columns of a medical table, without scaling. Knots of the curves are found under noise as
# well, within the budget; the ends of the columns are declared, and cost nothing.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from dpsk import DPAdditiveClassifier
from dpsk.inspection import DPShapeDisplay

COLUMNS = {"mean radius": (5, 30), "mean texture": (5, 45), "mean concavity": (0, 0.5)}
table, benign = load_breast_cancer(return_X_y=True, as_frame=True)

figure, axes = plt.subplots(2, 3, figsize=(10, 5.5), sharey=True, sharex="col",
                            layout="constrained")
for row, epsilon in zip(axes, [1.0, 8.0], strict=True):
    model = DPAdditiveClassifier(epsilon, columns=COLUMNS, classes=[0, 1], interactions=0)
    model.fit(table[list(COLUMNS)], benign)
    DPShapeDisplay.from_estimator(model, ax=row)
    row[1].set_title(f"epsilon {epsilon:g}")
for ax in axes[:, 1:].flat:
    ax.set_ylabel("")
for ax in axes[0]:
    ax.set_xlabel("")
figure.suptitle("Log-odds of a benign tumor: curves and 95 % bands of the noise")
plt.show()

# %%
# How to read them
# ----------------
# A curve is drawn less its mean, so it says what a value adds compared to others. A larger
# budget buys more knots. Where few rows are, towards the ends, bands are wide and curves say
# little. Bands hold the noise of the fit, and neither that another sample of patients would give
# other curves nor that the knots themselves were found under noise.
#
# The numbers behind the picture are in ``terms_``, here of the last model.

for term in model.terms_:
    axis, = term.axes
    print(f"{axis.column}: bends at {', '.join(f'{knot:.3g}' for knot in axis.knots)}")
