"""Oracles: the only code that touches rows during a fit. They answer with noise."""

from __future__ import annotations

from dpsk._oracle.context import Context
from dpsk._oracle.critic import CriticOracle
from dpsk._oracle.curvature import CurvatureOracle
from dpsk._oracle.differences import DifferenceOracle
from dpsk._oracle.exact import ExactOracle
from dpsk._oracle.gradients import GradientOracle, SemiGradientOracle
from dpsk._oracle.holdout import ThresholdOracle
from dpsk._oracle.last_iterate import LastIterateOracle
from dpsk._oracle.least_squares import LeastSquaresOracle
from dpsk._oracle.objective import ObjectiveOracle, determinant_loss
from dpsk._oracle.one_shot import OutputOracle, steps_to_certify
from dpsk._oracle.release import Releases
from dpsk._oracle.saddle import SaddleOracle
from dpsk._oracle.saddle_difference import SaddleDifferenceOracle
from dpsk._oracle.transitions import TransitionMomentsOracle
from dpsk._oracle.vertices import SelectionOracle

__all__ = ["Context", "CriticOracle", "CurvatureOracle", "DifferenceOracle", "ExactOracle",
           "GradientOracle", "LastIterateOracle", "LeastSquaresOracle", "ObjectiveOracle",
           "OutputOracle", "Releases", "SaddleDifferenceOracle", "SaddleOracle",
           "SelectionOracle", "SemiGradientOracle", "ThresholdOracle", "TransitionMomentsOracle",
           "determinant_loss", "steps_to_certify"]
