"""
Clusters of a private table
===========================

``DPKMeans`` releases noisy counts, sums and moments of all clusters at once, a few times. Noise is
fresh in every fit; each picture is one.
"""

# %%
# Centers against epsilon
# -----------------------
# Ten clusters of 10,000 rows in two columns. Numbers are the inertia over that of scikit-learn's
# ``KMeans``, without privacy.

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from dpsk import DPKMeans

X, _ = make_blobs(10_000, centers=10, cluster_std=0.7, random_state=3)
plain = KMeans(10, random_state=0).fit(X)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
for ax, epsilon in zip(axes, (0.2, 0.5, 2.0), strict=True):
    model = DPKMeans(10, epsilon=epsilon).fit(X)
    ax.scatter(*X[::5].T, s=2, c=model.predict(X[::5]), cmap="tab10", alpha=0.4)
    ax.scatter(*model.cluster_centers_.T, marker="x", color="black")
    ax.set(title=f"epsilon {epsilon:g}: {-model.score(X) / plain.inertia_:.2f}")
plt.show()

# %%
# Sizes of the clusters
# ---------------------
# They come with the centers, within the same budget.

order = model.cluster_sizes_.argsort()[::-1]
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.bar(range(10), model.cluster_sizes_[order], color="tab:blue")
ax.set(xlabel="cluster", ylabel="released number of rows")
plt.show()
