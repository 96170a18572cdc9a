"""
Generated rows
==============

A sampler is fitted once, within its budget, and then draws as many rows as are asked for at no
further cost. Here are images by ``DPGaussianSampler`` and a table by ``DPTreeSampler``. Noise is
fresh in every fit; each picture is one.
"""

# %%
# Images
# ------
# A normal law for every digit, in the subspace that stands clear of the noise. The range of
# pixels is declared. With fewer than 200 images of a digit a large epsilon is needed. Of a
# private table the upper rows could not be shown; the lower ones could.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from dpsk import DPGaussianSampler, DPTreeSampler

X, y = load_digits(return_X_y=True)
figure, axes = plt.subplots(3, 1, figsize=(7, 5), layout="constrained")
drawn = {"from the table": np.array([X[y == digit][:2] for digit in range(10)])}
for epsilon in (8.0, 2.0):
    sampler = DPGaussianSampler(epsilon, feature_range=(0, 16), classes=range(10)).fit(X, y)
    drawn[f"drawn, epsilon {epsilon:g}"] = np.array(
        [sampler.sample(2, y=digit, random_state=digit)[0] for digit in range(10)])
for ax, (name, rows) in zip(axes, drawn.items(), strict=True):
    tiles = np.pad(rows.reshape(10, 2, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    ax.imshow(tiles.transpose(1, 2, 0, 3).reshape(20, 100), cmap="gray_r")
    ax.set_title(name)
    ax.set_axis_off()
plt.show()

# %%
# A table
# -------
# Bins of every column, joined along a forest of the columns that depend most on each other,
# within each class. Bounds are declared.

columns = {"mean radius": (5, 30), "mean concavity": (0, 0.5), "worst texture": (10, 50)}
table, benign = load_breast_cancer(return_X_y=True, as_frame=True)
table = table[list(columns)]
sampler = DPTreeSampler(4.0, columns=columns, classes=[0, 1]).fit(table, benign)
rows, labels = sampler.sample(len(table), random_state=0)

figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True, layout="constrained")
for ax, name, part, classes in zip(axes, ["the table", "drawn rows, epsilon 4"], [table, rows],
                                   [benign, labels], strict=True):
    for label, color in (("malignant", "tab:red"), ("benign", "tab:blue")):
        chosen = part[np.asarray(classes) == (label == "benign")]
        ax.scatter(chosen["mean radius"], chosen["mean concavity"], s=8, color=color, alpha=0.5,
                   label=label)
    ax.set(title=name, xlabel="mean radius")
axes[0].set_ylabel("mean concavity")
axes[0].legend()
plt.show()

# %%
# What is common survives, such as that malignant tumors are larger and more concave. Nothing
# finer than bins and pairs of columns does, nor do rare rows. If you know the question, fit the
# model that answers it: that is more accurate than a model of drawn rows at the same epsilon.
