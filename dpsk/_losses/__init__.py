"""Pointwise losses. A new loss is one file and one line here."""

from dpsk._losses.base import Loss
from dpsk._losses.huber import Huber
from dpsk._losses.logistic import Logistic, Multinomial

LOSSES = {
    "huber": Huber,
    "logistic": Logistic,
    "multinomial": Multinomial,
}

__all__ = ["LOSSES", "Huber", "Logistic", "Loss", "Multinomial"]
