"""Algorithms by name. A new solver is one file and one line here."""

from dpsk._solvers.accmd import AcceleratedMirrorDescent
from dpsk._solvers.base import Problem, Result, Solver, check_requirements
from dpsk._solvers.frank_wolfe import FrankWolfe
from dpsk._solvers.gd import GradientDescent
from dpsk._solvers.last_iterate import LastIterateDescent
from dpsk._solvers.minibatch_stgd import MiniBatchStableGradientDescent
from dpsk._solvers.objective_perturbation import ObjectivePerturbation
from dpsk._solvers.output_perturbation import OutputPerturbation
from dpsk._solvers.privatediff import PrivateDiff
from dpsk._solvers.rrpsgd import RandomRoundDescent
from dpsk._solvers.sgd import StochasticGradientDescent
from dpsk._solvers.sgda import GradientDescentAscent
from dpsk._solvers.stgd import StableGradientDescent
from dpsk._solvers.sufficient_statistics import SufficientStatistics
from dpsk._solvers.svrg import VarianceReducedDescent
from dpsk._solvers.svrgpp import DoublingVarianceReducedDescent

SOLVERS = {
    "accmd": AcceleratedMirrorDescent,
    "frank_wolfe": FrankWolfe,
    "gd": GradientDescent,
    "last_iterate": LastIterateDescent,
    "minibatch_stgd": MiniBatchStableGradientDescent,
    "objective_perturbation": ObjectivePerturbation,
    "output_perturbation": OutputPerturbation,
    "rrpsgd": RandomRoundDescent,
    "sgd": StochasticGradientDescent,
    "stgd": StableGradientDescent,
    "sufficient_statistics": SufficientStatistics,
    "svrg": VarianceReducedDescent,
    "svrgpp": DoublingVarianceReducedDescent,
}

#: For losses with a dual variable.
SADDLE_SOLVERS = {
    "privatediff": PrivateDiff,
    "sgda": GradientDescentAscent,
}

__all__ = ["SADDLE_SOLVERS", "SOLVERS", "Problem", "Result", "Solver", "check_requirements"]
