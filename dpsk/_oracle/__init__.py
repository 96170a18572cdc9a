"""Oracles: the only code that touches rows during a fit. They answer with noise."""

from dpsk._data.source import Rows
from dpsk._oracle.counts import CountOracle
from dpsk._oracle.difference import DifferenceOracle, DifferenceSums
from dpsk._oracle.gradient import GradientOracle
from dpsk._oracle.grid_sums import GridSums, grid_bits
from dpsk._oracle.last_iterate import LastIterateOracle
from dpsk._oracle.least_squares import LeastSquaresOracle
from dpsk._oracle.means import MeanOracle
from dpsk._oracle.moments import MomentOracle, thresholded, whitening
from dpsk._oracle.network_sums import NetworkSums
from dpsk._oracle.objective import ObjectiveOracle, determinant_loss
from dpsk._oracle.output import OutputOracle, steps_to_certify
from dpsk._oracle.row_sums import RowSums
from dpsk._oracle.saddle import SaddleOracle
from dpsk._oracle.saddle_difference import SaddleDifferenceOracle
from dpsk._oracle.saddle_sums import SaddleSums
from dpsk._oracle.selection import MaxNormSums, SelectionOracle
from dpsk._oracle.threshold import ThresholdOracle
from dpsk._privacy.plans import (
           AnchoredSums,
           JointSums,
           LastIterate,
           NoisyKind,
           OneRelease,
           PerturbedObjective,
           SaddleKinds,
           Selections,
           ThresholdRounds,
)

__all__ = ["AnchoredSums", "CountOracle", "DifferenceOracle", "DifferenceSums", "GradientOracle",
           "GridSums", "JointSums", "LastIterate", "LastIterateOracle", "LeastSquaresOracle",
           "MaxNormSums", "MeanOracle", "MomentOracle", "NetworkSums", "NoisyKind",
           "ObjectiveOracle", "OneRelease", "OutputOracle", "PerturbedObjective", "RowSums",
           "Rows", "SaddleDifferenceOracle", "SaddleKinds", "SaddleOracle", "SaddleSums",
           "SelectionOracle", "Selections", "ThresholdOracle", "ThresholdRounds",
           "determinant_loss", "grid_bits", "steps_to_certify", "thresholded", "whitening"]
