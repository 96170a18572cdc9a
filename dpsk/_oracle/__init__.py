"""Oracles: the only code that touches rows during a fit. They answer with noise."""

from dpsk._oracle.counts import CountOracle
from dpsk._oracle.difference import AnchoredSums, DifferenceOracle, DifferenceSums
from dpsk._oracle.gradient import GradientOracle
from dpsk._oracle.grid_sums import GridSums, grid_bits
from dpsk._oracle.last_iterate import LastIterate, LastIterateOracle
from dpsk._oracle.least_squares import LeastSquaresOracle
from dpsk._oracle.means import MeanOracle
from dpsk._oracle.moments import MomentOracle, thresholded, whitening
from dpsk._oracle.network_sums import NetworkSums
from dpsk._oracle.objective import ObjectiveOracle, PerturbedObjective, determinant_loss
from dpsk._oracle.output import OneRelease, OutputOracle, steps_to_certify
from dpsk._oracle.row_sums import RowSums
from dpsk._oracle.rows import Rows
from dpsk._oracle.saddle import JointSums, SaddleOracle
from dpsk._oracle.saddle_difference import NoisyKind, SaddleDifferenceOracle, SaddleKinds
from dpsk._oracle.saddle_sums import SaddleSums
from dpsk._oracle.selection import MaxNormSums, SelectionOracle, Selections
from dpsk._oracle.threshold import ThresholdOracle, ThresholdRounds

__all__ = ["AnchoredSums", "CountOracle", "DifferenceOracle", "DifferenceSums", "GradientOracle",
           "GridSums", "JointSums", "LastIterate", "LastIterateOracle", "LeastSquaresOracle",
           "MaxNormSums", "MeanOracle", "MomentOracle", "NetworkSums", "NoisyKind",
           "ObjectiveOracle", "OneRelease", "OutputOracle", "PerturbedObjective", "RowSums",
           "Rows", "SaddleDifferenceOracle", "SaddleKinds", "SaddleOracle", "SaddleSums",
           "SelectionOracle", "Selections", "ThresholdOracle", "ThresholdRounds",
           "determinant_loss", "grid_bits", "steps_to_certify", "thresholded", "whitening"]
