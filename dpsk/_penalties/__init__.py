"""Penalties by name: ``PENALTIES[name](alpha, l1_ratio, free_rows)``.

A new penalty is one file and one line here.
"""

from dpsk._penalties.base import Penalty
from dpsk._penalties.elastic_net import ElasticNet

PENALTIES = {
    "elasticnet": ElasticNet,
    "l1": lambda alpha, l1_ratio, free_rows: ElasticNet(alpha, 1.0, free_rows),
    "l2": lambda alpha, l1_ratio, free_rows: ElasticNet(alpha, 0.0, free_rows),
}

__all__ = ["PENALTIES", "ElasticNet", "Penalty"]
