"""Oracles: they hold the rows of a fit, and answer what solvers ask with noise."""

from __future__ import annotations

from dpsk._queries.context import Context
from dpsk._queries.critic import CriticOracle
from dpsk._queries.curvature import CurvatureOracle
from dpsk._queries.differences import DifferenceOracle
from dpsk._queries.exact import ExactOracle
from dpsk._queries.gradients import GradientOracle, SemiGradientOracle
from dpsk._queries.holdout import ThresholdOracle
from dpsk._queries.last_iterate import LastIterateOracle
from dpsk._queries.least_squares import LeastSquaresOracle
from dpsk._queries.objective import ObjectiveOracle, determinant_loss
from dpsk._queries.one_shot import OutputOracle, steps_to_certify
from dpsk._queries.saddle import SaddleOracle
from dpsk._queries.saddle_difference import SaddleDifferenceOracle
from dpsk._queries.transitions import TransitionMomentsOracle
from dpsk._queries.vertices import SelectionOracle

__all__ = ["Context", "CriticOracle", "CurvatureOracle", "DifferenceOracle", "ExactOracle",
           "GradientOracle", "LastIterateOracle", "LeastSquaresOracle", "ObjectiveOracle",
           "OutputOracle", "SaddleDifferenceOracle", "SaddleOracle",
           "SelectionOracle", "SemiGradientOracle", "ThresholdOracle", "TransitionMomentsOracle",
           "determinant_loss", "steps_to_certify"]
