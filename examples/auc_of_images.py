"""Rank images of two classes under privacy, after a fixed feature map in a Pipeline.

Histograms of oriented gradients are computed image by image from constants, so they cost no
privacy, and they leave a linear score little to learn. The digits come with scikit-learn.
"""

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPAUCMaximizer

ORIENTATIONS = 8
EPSILONS = [0.5, 1.0, 2.0, 5.0]
FITS = 10


def oriented_gradients(X, cells, blur=0.7):
    """Return ``8 cells^2`` numbers for each square image: how much edge points where.

    A pixel's gradient is shared out, linearly, between the two nearest of 8 directions and the
    four nearest cells. Powers of 0.7 lift faint edges; rows have norm 1.
    """
    features = [_histograms(part, cells, blur)
                for part in np.array_split(X, max(1, len(X) // 2000))]
    return np.concatenate(features)


def _histograms(X, cells, blur):
    side = int(np.sqrt(X.shape[1]))
    images = gaussian_filter(X.reshape(-1, side, side), (0, blur, blur))
    down, across = np.zeros_like(images), np.zeros_like(images)
    down[:, 1:-1] = images[:, 2:] - images[:, :-2]
    across[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    length = np.hypot(down, across)
    direction = np.arctan2(down, across) / (2 * np.pi) * ORIENTATIONS
    # Distances on the circle of directions, and from the cells' centers.
    apart = (direction[..., None] - np.arange(ORIENTATIONS) + ORIENTATIONS / 2) % ORIENTATIONS
    shares = length[..., None] * np.maximum(0, 1 - np.abs(apart - ORIENTATIONS / 2))
    centers = (np.arange(cells) + 0.5) * side / cells - 0.5
    pool = np.maximum(0, 1 - np.abs(np.arange(side)[:, None] - centers) * cells / side)
    pool = pool.astype(X.dtype)
    pooled = np.einsum("nijo,ia,jb->nabo", shares, pool, pool, optimize=True)
    features = pooled.reshape(len(X), -1)**0.7
    return features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)


def pipeline(epsilon):
    images = FunctionTransformer(oriented_gradients, kw_args={"cells": 2})
    return make_pipeline(images, DPAUCMaximizer(epsilon, data_norm=1.0, classes=[0, 1]))


def main():
    X, digits = load_digits(return_X_y=True)
    parts = train_test_split(X / 16.0, (digits % 2).astype(int), random_state=0)
    X_train, X_test, y_train, y_test = parts

    model = pipeline(1.0).fit(X_train, y_train)
    print(model[-1].privacy_)

    print(f"\nOdd against even digits, {len(y_train)} training images, {FITS} fits each:\n")
    print(f"{'epsilon':>8} {'test AUC':>9} {'std':>6}")
    for epsilon in EPSILONS:
        scores = [roc_auc_score(y_test, pipeline(epsilon).fit(X_train, y_train)
                                .decision_function(X_test)) for _ in range(FITS)]
        print(f"{epsilon:>8g} {np.mean(scores):>9.3f} {np.std(scores):>6.3f}")


if __name__ == "__main__":
    main()
