"""Pointwise losses. A new loss is one file and one line here."""

from dpsk._losses.auc_square import AUCSquare
from dpsk._losses.base import Loss
from dpsk._losses.group_risk import GroupRisk
from dpsk._losses.hinge import HuberisedHinge, SquaredHinge
from dpsk._losses.huber import Huber
from dpsk._losses.logistic import Logistic, Multinomial, RankingLogistic
from dpsk._losses.one_vs_rest import OneVsRest
from dpsk._losses.poisson import CappedPoisson
from dpsk._losses.sigmoid import Sigmoid
from dpsk._losses.squared import Squared

LOSSES = {
    "capped_poisson": CappedPoisson,
    "huber": Huber,
    "huberised_hinge": HuberisedHinge,
    "logistic": Logistic,
    "multinomial": Multinomial,
    "one_vs_rest": OneVsRest,
    "sigmoid": Sigmoid,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
}

__all__ = ["LOSSES", "AUCSquare", "CappedPoisson", "GroupRisk", "Huber", "HuberisedHinge",
           "Logistic", "Loss", "Multinomial", "OneVsRest", "RankingLogistic", "Sigmoid",
           "Squared", "SquaredHinge"]
