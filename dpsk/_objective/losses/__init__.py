"""Pointwise losses. A new loss is one file and one line here."""

from __future__ import annotations

from dpsk._objective.losses.base import Loss
from dpsk._objective.losses.hinge import HuberizedHinge, SquaredHinge
from dpsk._objective.losses.huber import Huber
from dpsk._objective.losses.logistic import Logistic, Multinomial, RankingLogistic
from dpsk._objective.losses.one_vs_rest import OneVsRest
from dpsk._objective.losses.pinball import Pinball
from dpsk._objective.losses.poisson import CappedPoisson
from dpsk._objective.losses.sigmoid import Sigmoid
from dpsk._objective.losses.squared import Squared

LOSSES = {
    "capped_poisson": CappedPoisson,
    "huber": Huber,
    "huberized_hinge": HuberizedHinge,
    "logistic": Logistic,
    "multinomial": Multinomial,
    "one_vs_rest": OneVsRest,
    "pinball": Pinball,
    "sigmoid": Sigmoid,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
}

__all__ = ["LOSSES", "CappedPoisson", "Huber", "HuberizedHinge", "Logistic", "Loss", "Multinomial",
           "OneVsRest", "Pinball", "RankingLogistic", "Sigmoid", "Squared", "SquaredHinge"]
