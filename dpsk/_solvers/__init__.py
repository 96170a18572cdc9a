"""Algorithms by name. A new solver is one file and one line here."""

from dpsk._solvers.base import Problem, Result, Solver, check_requirements
from dpsk._solvers.gd import GradientDescent
from dpsk._solvers.last_iterate import LastIterateDescent
from dpsk._solvers.output_perturbation import OutputPerturbation
from dpsk._solvers.sgd import StochasticGradientDescent
from dpsk._solvers.sufficient_statistics import SufficientStatistics

SOLVERS = {
    "gd": GradientDescent,
    "last_iterate": LastIterateDescent,
    "output_perturbation": OutputPerturbation,
    "sgd": StochasticGradientDescent,
    "sufficient_statistics": SufficientStatistics,
}

__all__ = ["SOLVERS", "Problem", "Result", "Solver", "check_requirements"]
