"""Group DRO: models that minimize the risk of the worst group of rows."""

from dpsk.robust._group_dro import DPGroupDROClassifier

__all__ = ["DPGroupDROClassifier"]
