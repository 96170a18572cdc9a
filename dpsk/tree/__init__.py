"""Decision trees of raw tables."""

from dpsk.tree._classifier import DPDecisionTreeClassifier
from dpsk.tree._export import export_text, plot_tree
from dpsk.tree._regressor import DPDecisionTreeRegressor

__all__ = ["DPDecisionTreeClassifier", "DPDecisionTreeRegressor", "export_text", "plot_tree"]
