"""Linear models."""

from dpsk.linear_model._huber import DPHuberRegressor
from dpsk.linear_model._lasso import DPLasso
from dpsk.linear_model._least_squares import DPLinearRegression, DPRidge
from dpsk.linear_model._logistic import DPLogisticRegression
from dpsk.linear_model._poisson import DPPoissonRegressor
from dpsk.linear_model._quantile import DPQuantileRegressor
from dpsk.linear_model._summary import CoefficientSummary
from dpsk.linear_model._svc import DPLinearSVC

__all__ = ["CoefficientSummary", "DPHuberRegressor", "DPLasso", "DPLinearRegression",
           "DPLinearSVC", "DPLogisticRegression", "DPPoissonRegressor", "DPQuantileRegressor",
           "DPRidge"]
