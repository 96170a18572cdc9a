"""
What noise does to coefficients
===============================

Every private fit draws fresh noise, so two fits to the same rows have different coefficients.
This page shows by how much, and how it falls with the number of rows and with epsilon. To fit
twice is to pay twice: in practice there is one fit, and its noise is an error bar to keep in
mind.
"""

# %%
# The same rows, many fits
# ------------------------
# Four columns of a medical table, mapped to [-1, 1] by constants, so that no row is longer than
# 2. Each mark is the coefficient of one fit. The same fit without privacy is the cross.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from dpsk import DPLogisticRegression

LOW, HIGH = np.array([5, 5, 0, 0]), np.array([30, 45, 0.2, 0.5])
NAMES = ["radius", "texture", "smoothness", "concavity"]
table, benign = load_breast_cancer(return_X_y=True)
X = np.clip(2 * (table[:, [0, 1, 4, 6]] - LOW) / (HIGH - LOW) - 1, -1, 1)


def coefficients(epsilon, X, y, **more):
    model = DPLogisticRegression(epsilon, alpha=0.01, data_norm=2.0, classes=[0, 1], solver="gd",
                                 delta=1e-6, **more)
    return np.array([model.fit(X, y).coef_[0] for _ in range(40)])


plain = LogisticRegression(C=1 / (0.01 * len(X))).fit(X, benign).coef_[0]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), sharey=True, layout="constrained")
for ax, epsilon in zip(axes, [0.5, 2.0, 8.0], strict=True):
    for column, values in enumerate(coefficients(epsilon, X, benign).T):
        ax.plot(column + np.linspace(-0.25, 0.25, len(values)), values, ".", alpha=0.6)
    ax.plot(range(4), plain, "kx", markersize=9, label="not private")
    ax.set_xticks(range(4), NAMES, rotation=30)
    ax.axhline(0, color="0.7", linewidth=0.8, zorder=0)
    ax.set_title(f"epsilon {epsilon:g}, 40 fits")
axes[0].set_ylabel("coefficient")
axes[-1].legend(loc="upper left")
plt.show()

# %%
# At epsilon 0.5 even a sign can be lost: such a coefficient says little. Noise is not all: steps
# are few and gradients are clipped, so that the clouds lie a little nearer to 0 than the
# crosses.
#
# More rows, less noise
# ---------------------
# Noise is added to sums over rows, so that on their mean it falls as 1 / (n epsilon), about. So
# it does in coefficients, if nothing else changes. The table is taken two and four times, a
# stand-in for larger ones, and always fitted with 20 steps on rows as they are. The defaults,
# above, do better at a small epsilon: they make fewer steps then, each with less noise.

epsilons = [0.5, 1.0, 2.0, 4.0, 8.0]
figure, ax = plt.subplots(layout="constrained")
for times in (1, 2, 4):
    rows, labels = np.tile(X, (times, 1)), np.tile(benign, times)
    spread = [coefficients(epsilon, rows, labels, max_iter=20, precondition=False)
              .std(axis=0).mean() for epsilon in epsilons]
    ax.loglog(epsilons, spread, marker="o", label=f"{len(rows)} rows")
ax.set(xlabel="epsilon", ylabel="standard deviation of a coefficient",
       title="Mean over four columns, 40 fits each")
ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
ax.set_yticks([0.1, 0.3, 1, 3], [0.1, 0.3, 1, 3])
ax.minorticks_off()
ax.legend()
plt.show()
