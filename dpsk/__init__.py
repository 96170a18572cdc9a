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

__all__ = ["Certificate", "DPHuberRegressor", "DPLasso", "DPLinearRegression", "DPLinearSVC",
           "DPLogisticRegression", "DPPoissonRegressor", "DPRidge", "__version__", "noise_scale"]
