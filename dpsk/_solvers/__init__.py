"""Algorithms by name. A new solver is one file and one line here."""

from dpsk._solvers.base import Problem, Result, Solver, check_requirements
from dpsk._solvers.gd import GradientDescent
from dpsk._solvers.output_perturbation import OutputPerturbation
from dpsk._solvers.sgd import StochasticGradientDescent

SOLVERS = {
    "gd": GradientDescent,
    "output_perturbation": OutputPerturbation,
    "sgd": StochasticGradientDescent,
}

__all__ = ["SOLVERS", "Problem", "Result", "Solver", "check_requirements"]
