"""
Public features, a private head
===============================

What is learnt from public images, without privacy, is a fixed map of *other* images, which are
private: only a linear score on the map, the head, costs budget. Noise is fresh in every fit, so
points are means of six fits, with standard deviations.
"""

# %%
# The images
# ----------
# Where the environment variable ``DPSK_DATA`` names a folder with both sets, the public images
# are those of Fashion-MNIST and the private ones those of MNIST, 6000 each, shrunk to 14 x 14
# pixels. Elsewhere both are from the digits that come with scikit-learn: 0 to 4 are public, 5 to
# 9 private, some 900 each. The line below says which were taken on this page.

import gzip
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from dpsk import DPAUCMaximizer


def read(folder, rows=6000):
    pixels = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())
    images = np.frombuffer(pixels, np.uint8, rows * 784, offset=16) / 255
    return (images.reshape(rows, 14, 2, 14, 2).mean(axis=(2, 4)),
            np.frombuffer(labels, np.uint8, rows, offset=8).astype(int))


root = Path(os.environ.get("DPSK_DATA", "no folder"))
if (root / "mnist").is_dir() and (root / "fashion-mnist").is_dir():
    names = "Fashion-MNIST", "MNIST"
    public, (private, y) = read(root / "fashion-mnist")[0], read(root / "mnist")
else:
    names = "digits from 0 to 4", "digits from 5 to 9"
    images, y = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8) / 16
    public, private, y = images[y < 5], images[y > 4], y[y > 4]
print(f"public: {len(public)} images of {names[0]}; private: {len(private)} of {names[1]}")

# %%
# The map
# -------
# Sixteen patches that public images are made of, by k-means; how strongly an image responds to
# each in 3 x 3 cells; and the 32 main directions of these responses. All three follow from
# public images only. At last rows get norm 1, so that ``data_norm=1`` shortens none. Here images
# are mapped once for all fits; in use the map is a step of a pipeline before the head.

SIDE = public.shape[1]
PATCH = round(SIDE / 3)


def views(images):
    """Return all patches of all images, of mean zero and about the same contrast."""
    found = np.lib.stride_tricks.sliding_window_view(images, (PATCH, PATCH), axis=(1, 2))
    found = found.reshape(*found.shape[:3], -1)
    found = found - found.mean(axis=-1, keepdims=True)
    return found / np.sqrt(np.square(found).sum(axis=-1, keepdims=True) + 0.1)


def responses(images):
    starts = np.linspace(0, SIDE - PATCH + 1, 4).astype(int)[:-1]
    found = np.maximum(views(images) @ patches.T - 0.25, 0)
    for axis in (1, 2):
        found = np.add.reduceat(found, starts, axis=axis)
    return found.reshape(len(images), -1)


patches = normalize(KMeans(16, random_state=0).fit(
    views(public[:500]).reshape(-1, PATCH**2)).cluster_centers_)
directions = PCA(32, random_state=0).fit(responses(public))


X_train, X_test, c_train, c_test = train_test_split(private, y, random_state=0)
tables = {
    "public features": [normalize(directions.transform(responses(X))) for X in (X_train, X_test)],
    "pixels": [normalize(X.reshape(len(X), -1)) for X in (X_train, X_test)]}

# %%
# Three tasks
# -----------
# The private classes are cut in two. "Imbalanced" keeps a ninth of the positive rows in
# training. In "heavy-tailed" classes have fewer and fewer rows, by a constant factor, down to a
# twentieth of the first. Tasks of these kinds are in Zhang et al. (2025). All test rows are
# kept.

classes = np.unique(y)
positive = classes[1::2]
shares = {"balanced": np.ones(len(classes)),
          "imbalanced": np.where(np.isin(classes, positive), 1 / 9, 1),
          "heavy-tailed": 20 ** -np.linspace(0, 1, len(classes))}


def auc(table, rows, head):
    train, test = table
    head.fit(train[rows], np.isin(c_train[rows], positive))
    return roc_auc_score(np.isin(c_test, positive), head.decision_function(test))


# %%
# Private heads
# -------------

epsilons = [0.5, 1.0, 5.0, 10.0]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, (kind, share) in zip(axes, shares.items(), strict=True):
    members = [np.flatnonzero(c_train == each) for each in classes]
    rows = np.concatenate([each[:round(len(each) * part)]
                           for each, part in zip(members, share, strict=True)])
    for name, table in tables.items():
        found = np.array([[auc(table, rows, DPAUCMaximizer(
            epsilon, data_norm=1.0, classes=[False, True])) for _ in range(6)]
            for epsilon in epsilons])
        ax.errorbar(epsilons, found.mean(axis=1), yerr=found.std(axis=1), marker="o", capsize=3,
                    label=f"private head on {name}")
    ax.axhline(auc(tables["public features"], rows, LogisticRegression(C=100, max_iter=1000)),
               color="k", linestyle="--", label="public features, not private")
    ax.set(xscale="log", xlabel="epsilon", title=f"{kind}, {len(rows)} rows")
    ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    ax.minorticks_off()
axes[0].set_ylabel("test AUC")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %%
# The map has 32 columns where there are 64 pixels or 196, and so less noise to bear: it helps
# most where rows or epsilon are few. With the digits 0 to 4 as public images, and enough
# epsilon, raw pixels are as good: the map is worth what public images have taught it.
