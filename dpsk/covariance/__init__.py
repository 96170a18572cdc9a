"""Covariance estimators."""

from dpsk.covariance._empirical import DPEmpiricalCovariance

__all__ = ["DPEmpiricalCovariance"]
