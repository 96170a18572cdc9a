"""Penalties by name: ``PENALTIES[name](alpha=, l1_ratio=, radius=, free_rows=)``.

A new penalty is one file and one line here.
"""

from dpsk._penalties.balls import L1Ball, L2Ball
from dpsk._penalties.base import Penalty
from dpsk._penalties.elastic_net import ElasticNet

PENALTIES = {
    "elasticnet": lambda *, alpha, l1_ratio, radius, free_rows:
        ElasticNet(alpha, l1_ratio, free_rows),
    "l1": lambda *, alpha, l1_ratio, radius, free_rows: ElasticNet(alpha, 1.0, free_rows),
    "l1_ball": lambda *, alpha, l1_ratio, radius, free_rows: L1Ball(radius, free_rows),
    "l2": lambda *, alpha, l1_ratio, radius, free_rows: ElasticNet(alpha, 0.0, free_rows),
    "l2_ball": lambda *, alpha, l1_ratio, radius, free_rows: L2Ball(radius, free_rows),
}

__all__ = ["PENALTIES", "ElasticNet", "L1Ball", "L2Ball", "Penalty"]
