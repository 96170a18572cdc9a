"""Penalties by name: ``PENALTIES[name](alpha=, l1_ratio=, radius=, unpenalized=)``.

A new penalty is one file and one line here.
"""

from __future__ import annotations

from functools import partial

from dpsk._objective.penalties.balls import Box, L1Ball, L2Ball
from dpsk._objective.penalties.base import Penalty
from dpsk._objective.penalties.constraint import ConstraintSet
from dpsk._objective.penalties.elastic_net import ElasticNet
from dpsk._objective.penalties.simplex import Simplex

PENALTIES = {
    "box": lambda *, alpha, l1_ratio, radius, unpenalized: Box(radius, unpenalized),
    "elasticnet": lambda *, alpha, l1_ratio, radius, unpenalized:
        ElasticNet(alpha, l1_ratio, unpenalized),
    "l1": lambda *, alpha, l1_ratio, radius, unpenalized: ElasticNet(alpha, 1.0, unpenalized),
    "l1_ball": lambda *, alpha, l1_ratio, radius, unpenalized: L1Ball(radius, unpenalized),
    "l2": lambda *, alpha, l1_ratio, radius, unpenalized: ElasticNet(alpha, 0.0, unpenalized),
    "l2_ball": lambda *, alpha, l1_ratio, radius, unpenalized: L2Ball(radius, unpenalized),
    "simplex": lambda *, alpha, l1_ratio, radius, unpenalized: Simplex(radius, unpenalized),
}

#: From the number of coordinates that no penalty is on to none on the others either.
NO_PENALTY = partial(ElasticNet, 0.0, 0.0)

#: Names of those that are sets, which have a radius instead of a strength.
CONSTRAINTS = frozenset({"box", "l1_ball", "l2_ball", "simplex"})

__all__ = ["CONSTRAINTS", "NO_PENALTY", "PENALTIES", "Box", "ConstraintSet", "ElasticNet",
           "L1Ball", "L2Ball", "Penalty", "Simplex"]
