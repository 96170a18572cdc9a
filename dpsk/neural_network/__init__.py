"""Multilayer perceptrons with differential privacy."""

from dpsk.neural_network._classifier import DPMLPClassifier
from dpsk.neural_network._regressor import DPMLPRegressor

__all__ = ["DPMLPClassifier", "DPMLPRegressor"]
