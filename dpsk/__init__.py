"""scikit-learn estimators that train with differential privacy."""

from dpsk._privacy.calibration import noise_scale
from dpsk._privacy.certificate import Certificate
from dpsk._version import __version__
from dpsk.linear_model import (
    DPHuberRegressor,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
)
from dpsk.neural_network import DPMLPClassifier, DPMLPRegressor
from dpsk.ranking import DPAUCMaximizer
from dpsk.robust import DPGroupDROClassifier

__all__ = ["Certificate", "DPAUCMaximizer", "DPGroupDROClassifier", "DPHuberRegressor", "DPLasso",
           "DPLinearRegression", "DPLinearSVC", "DPLogisticRegression", "DPMLPClassifier",
           "DPMLPRegressor", "DPPoissonRegressor", "DPRidge", "__version__", "noise_scale"]
