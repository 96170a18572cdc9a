"""scikit-learn estimators that train with differential privacy."""

from dpsk._privacy.calibrate import noise_scale
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

__all__ = ["Certificate", "DPHuberRegressor", "DPLasso", "DPLinearRegression", "DPLinearSVC",
           "DPLogisticRegression", "DPMLPClassifier", "DPMLPRegressor", "DPPoissonRegressor",
           "DPRidge", "__version__", "noise_scale"]
