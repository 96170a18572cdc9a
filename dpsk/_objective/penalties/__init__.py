"""Penalties by name: ``PENALTIES[name](alpha=, l1_ratio=, radius=, free_rows=)``.

A new penalty is one file and one line here.
"""

from dpsk._objective.penalties.balls import Box, L1Ball, L2Ball
from dpsk._objective.penalties.base import Penalty
from dpsk._objective.penalties.constraint import ConstraintSet
from dpsk._objective.penalties.elastic_net import ElasticNet
from dpsk._objective.penalties.simplex import Simplex

PENALTIES = {
    "box": lambda *, alpha, l1_ratio, radius, free_rows: Box(radius, free_rows),
    "elasticnet": lambda *, alpha, l1_ratio, radius, free_rows:
        ElasticNet(alpha, l1_ratio, free_rows),
    "l1": lambda *, alpha, l1_ratio, radius, free_rows: ElasticNet(alpha, 1.0, free_rows),
    "l1_ball": lambda *, alpha, l1_ratio, radius, free_rows: L1Ball(radius, free_rows),
    "l2": lambda *, alpha, l1_ratio, radius, free_rows: ElasticNet(alpha, 0.0, free_rows),
    "l2_ball": lambda *, alpha, l1_ratio, radius, free_rows: L2Ball(radius, free_rows),
    "simplex": lambda *, alpha, l1_ratio, radius, free_rows: Simplex(radius, free_rows),
}

#: Names of those that are sets, which have a radius instead of a strength.
CONSTRAINTS = frozenset({"box", "l1_ball", "l2_ball", "simplex"})

__all__ = ["CONSTRAINTS", "PENALTIES", "Box", "ConstraintSet", "ElasticNet", "L1Ball", "L2Ball",
           "Penalty", "Simplex"]
