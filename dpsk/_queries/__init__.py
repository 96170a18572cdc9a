"""Queries of solvers, and the oracles that hold rows and answer with noise."""

from __future__ import annotations

from dpsk._queries.base import Queries
from dpsk._queries.critic import CriticGradients
from dpsk._queries.curvature import Curvatures
from dpsk._queries.differences import Differences
from dpsk._queries.exact import ExactAnswers
from dpsk._queries.gradients import Gradients, SemiGradients
from dpsk._queries.holdout import CheckedGradients
from dpsk._queries.last_iterate import LastIterate
from dpsk._queries.least_squares import LeastSquares
from dpsk._queries.objective import PerturbedObjective, determinant_loss
from dpsk._queries.one_shot import Output, steps_to_certify
from dpsk._queries.saddle import SaddleGradients
from dpsk._queries.saddle_difference import SaddleDifferences
from dpsk._queries.transitions import TransitionMoments
from dpsk._queries.vertices import Vertices

__all__ = ["CheckedGradients", "CriticGradients", "Curvatures", "Differences", "ExactAnswers",
           "Gradients", "LastIterate", "LeastSquares", "Output", "PerturbedObjective", "Queries",
           "SaddleDifferences", "SaddleGradients", "SemiGradients", "TransitionMoments",
           "Vertices", "determinant_loss", "steps_to_certify"]
