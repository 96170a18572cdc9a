"""Oracles: the only code that touches rows during a fit. They answer with noise."""

from dpsk._oracle.gradient import GradientOracle, NoisyGradients
from dpsk._oracle.output import OneRelease, OutputOracle
from dpsk._oracle.row_sums import RowSums

__all__ = ["GradientOracle", "NoisyGradients", "OneRelease", "OutputOracle", "RowSums"]
