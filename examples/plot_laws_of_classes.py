"""
Naive Bayes and discriminant analysis
=====================================

``DPGaussianNB``, ``DPLinearDiscriminantAnalysis`` and ``DPQuadraticDiscriminantAnalysis`` are made
of the counts, sums and second moments of the classes, which are released once. Noise is fresh in
every fit; each picture is one.
"""

# %%
# Two columns
# -----------
# Ellipses hold two thirds of a class, by the law that was fitted. Ranges of the columns are
# declared.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from dpsk import (
    DPGaussianNB,
    DPLinearDiscriminantAnalysis,
    DPMultinomialNB,
    DPQuadraticDiscriminantAnalysis,
)

names, ranges = ["mean radius", "mean texture"], ([5, 5], [30, 45])
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[names].to_numpy()
shared = {"epsilon": 1.0, "feature_range": ranges, "classes": [0, 1]}
models = {
    "naive Bayes": DPGaussianNB(**shared),
    "linear": DPLinearDiscriminantAnalysis(**shared, store_covariance=True),
    "quadratic": DPQuadraticDiscriminantAnalysis(**shared, store_covariance=True)}

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
circle = 1.5 * np.stack([np.cos(np.linspace(0, 7, 200)), np.sin(np.linspace(0, 7, 200))])
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    means = model.theta_ if name == "naive Bayes" else model.means_
    covariances = {"naive Bayes": lambda model: [np.diag(one) for one in model.var_],
                   "linear": lambda model: [model.covariance_] * 2,
                   "quadratic": lambda model: model.covariance_}[name](model)
    for label, color in enumerate(("tab:red", "tab:blue")):
        ax.scatter(*X[y == label].T, s=4, color=color, alpha=0.3)
        ellipse = means[label][:, None] + np.linalg.cholesky(covariances[label]) @ circle
        ax.plot(*ellipse, color=color)
    ax.set(title=f"{name}, {model.score(X, y):.2f}", xlabel=names[0])
axes[0].set_ylabel(names[1])
plt.show()

# %%
# Accuracy against epsilon
# ------------------------
# Digits of 64 columns and ten classes: 1347 images to train on, one fit an epsilon. A covariance
# for every class takes more of a budget than one for all, or than variances.

split = train_test_split(*load_digits(return_X_y=True), random_state=0)
X_train, X_test, y_train, y_test = split
ends, digits = {"feature_range": (0, 16)}, range(10)
makes = {
    "naive Bayes": lambda epsilon: DPGaussianNB(epsilon, classes=digits, **ends),
    "counts": lambda epsilon: DPMultinomialNB(epsilon, classes=digits),
    "linear": lambda epsilon: DPLinearDiscriminantAnalysis(epsilon, classes=digits, **ends),
    "quadratic": lambda epsilon: DPQuadraticDiscriminantAnalysis(epsilon, classes=digits, **ends)}
epsilons = [0.5, 1.0, 2.0, 4.0, 8.0]
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, make in makes.items():
    ax.plot(epsilons, [make(epsilon).fit(X_train, y_train).score(X_test, y_test)
                       for epsilon in epsilons], marker="o", label=name)
ax.set(xscale="log", xlabel="epsilon", ylabel="test accuracy", ylim=(0, 1))
ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
ax.minorticks_off()
ax.legend()
plt.show()
