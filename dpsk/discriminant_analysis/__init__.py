"""Linear and quadratic discriminant analysis."""

from dpsk.discriminant_analysis._linear import DPLinearDiscriminantAnalysis
from dpsk.discriminant_analysis._quadratic import DPQuadraticDiscriminantAnalysis

__all__ = ["DPLinearDiscriminantAnalysis", "DPQuadraticDiscriminantAnalysis"]
