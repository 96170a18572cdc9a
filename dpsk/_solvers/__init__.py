"""Algorithms by name. A new solver is one file and one line here."""

from dpsk._objective.requirements import check_requirements
from dpsk._problem import Problem
from dpsk._solvers.adversarial.privatediff import AdversarialPrivateDiff
from dpsk._solvers.adversarial.sgda import AdversarialDescentAscent
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.constrained.accmd import AcceleratedMirrorDescent
from dpsk._solvers.constrained.frank_wolfe import FrankWolfe
from dpsk._solvers.first_order.gd import GradientDescent
from dpsk._solvers.first_order.rrpsgd import RandomRoundDescent
from dpsk._solvers.first_order.semi_gradient import SemiGradientDescent
from dpsk._solvers.first_order.sgd import StochasticGradientDescent
from dpsk._solvers.holdout.minibatch_stgd import MiniBatchStableGradientDescent
from dpsk._solvers.holdout.stgd import StableGradientDescent
from dpsk._solvers.one_shot.exact import ExactMinimizer
from dpsk._solvers.one_shot.last_iterate import LastIterateDescent
from dpsk._solvers.one_shot.lstd import LeastSquaresTD
from dpsk._solvers.one_shot.objective_perturbation import ObjectivePerturbation
from dpsk._solvers.one_shot.output_perturbation import OutputPerturbation
from dpsk._solvers.one_shot.sufficient_statistics import SufficientStatistics
from dpsk._solvers.saddle.privatediff import PrivateDiff
from dpsk._solvers.saddle.sgda import GradientDescentAscent
from dpsk._solvers.second_order.newton import NewtonDescent
from dpsk._solvers.variance_reduced.svrg import VarianceReducedDescent
from dpsk._solvers.variance_reduced.svrgpp import DoublingVarianceReducedDescent

SOLVERS = {
    "accmd": AcceleratedMirrorDescent,
    "frank_wolfe": FrankWolfe,
    "gd": GradientDescent,
    "last_iterate": LastIterateDescent,
    "minibatch_stgd": MiniBatchStableGradientDescent,
    "newton": NewtonDescent,
    "objective_perturbation": ObjectivePerturbation,
    "output_perturbation": OutputPerturbation,
    "rrpsgd": RandomRoundDescent,
    "sgd": StochasticGradientDescent,
    "stgd": StableGradientDescent,
    "sufficient_statistics": SufficientStatistics,
    "svrg": VarianceReducedDescent,
    "svrgpp": DoublingVarianceReducedDescent,
}

#: The solver that "auto" chooses at an infinite epsilon for linear models.
NOISELESS = {"exact": ExactMinimizer}

#: For losses with a dual variable.
SADDLE_SOLVERS = {
    "privatediff": PrivateDiff,
    "sgda": GradientDescentAscent,
}

#: For policy evaluation.
VALUE_SOLVERS = {"lstd": LeastSquaresTD, **SADDLE_SOLVERS, "td": SemiGradientDescent}

#: For a generator against a critic.
ADVERSARIAL_SOLVERS = {
    "privatediff": AdversarialPrivateDiff,
    "sgda": AdversarialDescentAscent,
}

__all__ = ["ADVERSARIAL_SOLVERS", "NOISELESS", "SADDLE_SOLVERS", "SOLVERS", "VALUE_SOLVERS",
           "Problem", "Result",
           "Solver", "check_requirements"]
