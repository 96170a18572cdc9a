"""
A decision tree, with the noise on its leaves
=============================================

``DPDecisionTreeClassifier`` chooses the splits of a whole level at once, under noise, and releases
noisy counts of the classes in its leaves. Bands at the bottom are 95 % of the noise on a leaf:
where they are wide, the rows of the leaf are few.
"""

# %%
# Bounds of columns are declared, so that all of the budget goes to the tree.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from dpsk import DPDecisionTreeClassifier, DPRandomForestClassifier
from dpsk.tree import export_text, plot_tree

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
columns = {"mean radius": (5, 30), "mean texture": (5, 40), "mean concavity": (0.0, 0.5)}
model = DPDecisionTreeClassifier(4.0, max_depth=3, columns=columns, classes=[0, 1])
model.fit(X[list(columns)], y)

# %%
# As text, with the standard deviation of the noise on every share.
print(export_text(model))

# %%
# As a picture.
fig, ax = plt.subplots(figsize=(10, 5.5))
annotations = plot_tree(model, ax=ax)
fig.tight_layout()

# %%
# A forest predicts better and is no longer read as text. Its importances follow from what was
# released, so they cost nothing.
forest = DPRandomForestClassifier(4.0, columns=columns, classes=[0, 1]).fit(X[list(columns)], y)
for name, importance in zip(columns, forest.feature_importances_, strict=True):
    print(f"{name}: {importance:.2f}")
