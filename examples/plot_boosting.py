"""
Boosting where columns interact
===============================

An additive model adds up curves of columns and of a few pairs, so that it cannot say "hot, humid
*and* calm". Private gradient boosting starts from such a model at half the budget and adds trees,
which can. Here the target follows from three columns together. The test score is drawn after every
tree, and the map that was learnt beside the true one.
"""

# %%
# A table with an interaction
# ---------------------------
# Bounds of columns and of targets are constants, known beforehand.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from dpsk import DPGradientBoostingRegressor

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.uniform(0, 1, size=(12_000, 3)), columns=["heat", "damp", "wind"])


def load(heat, damp, wind):
    return np.where((heat > 0.5) & (damp > 0.5) & (wind < 0.5), 1.0, 0.2)


y = load(*table.to_numpy().T) + 0.1 * rng.normal(size=len(table))
train, test = slice(0, 10_000), slice(10_000, None)

# %%
# A fit within epsilon 2
# ----------------------
# The number of trees follows from public facts. ``staged_predict`` costs nothing: it follows from
# what was released.

bounds = dict.fromkeys(table.columns, (0.0, 1.0))
model = DPGradientBoostingRegressor(epsilon=2.0, target_bounds=(0.0, 1.5), columns=bounds,
                                    random_state=0)
model.fit(table[train], y[train])
scores = [r2_score(y[test], found) for found in model.staged_predict(table[test])]
print(f"additive model: {scores[0]:.2f}, with {model.n_iter_ - 1} trees: {scores[-1]:.2f}")
print(dict(zip(table.columns, model.feature_importances_.round(2).tolist(), strict=True)))

# %%
# The score after every tree, and the two maps
# --------------------------------------------

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
left.plot(scores)
left.set(xlabel="trees", ylabel="R2 on test rows", title="Trees on an additive model")
steps = np.linspace(0.0, 1.0, 60)
heat, damp = (axis.ravel() for axis in np.meshgrid(steps, steps))
grid = pd.DataFrame({"heat": heat, "damp": damp, "wind": 0.2})
for ax, values, title in ((middle, load(heat, damp, 0.2), "true"),
                          (right, model.predict(grid), "learnt within epsilon 2")):
    shown = ax.pcolormesh(steps, steps, values.reshape(60, 60), vmin=0.2, vmax=1.0)
    ax.set(xlabel="heat", ylabel="damp", title=title)
figure.colorbar(shown, ax=right, label="target at little wind")
plt.show()

# %%
# Trees add what three columns say together, and `feature_importances_` names all of them. Where
# columns do not interact, or rows are few, the additive model is as good: `n_iter_` is then 1, and
# nothing is spent on trees.
