"""Linear models."""

from dpsk.linear_model._huber import DPHuberRegressor
from dpsk.linear_model._logistic import DPLogisticRegression

__all__ = ["DPHuberRegressor", "DPLogisticRegression"]
