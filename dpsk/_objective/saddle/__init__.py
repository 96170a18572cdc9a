"""Losses with a dual variable, and where it lives."""

from __future__ import annotations

from dpsk._objective.saddle.auc_square import AUCSquare
from dpsk._objective.saddle.base import Interval, SaddleLoss, Simplex
from dpsk._objective.saddle.group_risk import GroupRisk

__all__ = ["AUCSquare", "GroupRisk", "Interval", "SaddleLoss", "Simplex"]
