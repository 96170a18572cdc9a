"""
Auditing a broken estimator
===========================

``dpsk.auditing.audit`` fits any estimator over and over on two tables that differ in one row,
and tries to tell from what it publishes which of the two it was. If that succeeds more often
than the claim of the estimator allows, the claim is refuted.
"""

# %%
# An estimator with a slip
# ------------------------
# It publishes the mean of a column cut to [-1, 1], under Laplace noise. If a row is replaced,
# the sum can change by 2, from -1 to 1. Who thinks of a change of 1 adds half of the noise that
# is needed, and no test of accuracy will tell. The noise is NumPy's, to keep the example short.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator

from dpsk.auditing import audit


class NoisyMean(BaseEstimator):
    def __init__(self, epsilon=1.0, delta=0.0, largest_change=2.0):
        self.epsilon, self.delta, self.largest_change = epsilon, delta, largest_change

    def fit(self, X, y=None):
        noise = np.random.default_rng().laplace(scale=self.largest_change / self.epsilon)
        self.mean_ = (np.clip(X, -1, 1).sum() + noise) / len(X)
        return self


# %%
# The audit
# ---------
# Both claim epsilon 1, by their parameters. We hand over two tables of 50 rows that differ in
# the first; without them the audit makes some of its own. A claim that holds is refuted in one
# audit of a hundred at most.

tables = [{"X": np.array([[first]] + [[0.0]] * 49)} for first in (-1.0, 1.0)]
results = {change: audit(NoisyMean(largest_change=change), neighbors=[tuple(tables)], runs=2000,
                         level=0.01) for change in (2.0, 1.0)}

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (change, result) in zip(axes, results.items(), strict=True):
    result.plot(ax=ax)
    ax.set_title(f"noise for a change of {change:g}: {ax.get_title()}")
plt.show()

# %%
# A cross below the line is a test that makes fewer errors than any could, were the claim true;
# the audit stops at the first. The curve shows the same statistic at all thresholds. "Not
# refuted" proves nothing: this audit has found nothing. The evidence against the second
# estimator:

print(results[1.0])
