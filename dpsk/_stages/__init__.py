"""Stages before and after the solver. A new stage is one file and one line here."""

from __future__ import annotations

from dpsk._stages.bounds import NormBound, TargetBounds
from dpsk._stages.centering import Centering
from dpsk._stages.class_balance import ClassBalance
from dpsk._stages.column_scaling import ColumnScaling
from dpsk._stages.counting import Counting
from dpsk._stages.into_set import IntoSet
from dpsk._stages.network_whitening import NetworkWhitening
from dpsk._stages.no_features import NoFeatures
from dpsk._stages.row_centering import RowCentering
from dpsk._stages.score_curvature import ScoreCurvature
from dpsk._stages.shrinkage import Shrinkage
from dpsk._stages.standardizing import Standardizing
from dpsk._stages.target_mean import TargetMean
from dpsk._stages.target_scaling import TargetScaling
from dpsk._stages.temperature_scaling import TemperatureScaling
from dpsk._stages.usual_temperature import FewRows, UsualTemperature
from dpsk._stages.weight_bound import WeightBound
from dpsk._stages.whitening import UnitNorm, Whitening

#: Stages that map the rows of a linear model, by the value of `precondition`.
ROW_STAGES = {
    "unit_norm": UnitNorm,
    "whitening": Whitening,
}

__all__ = ["ROW_STAGES", "Centering", "ClassBalance", "ColumnScaling", "Counting", "FewRows",
           "IntoSet", "NetworkWhitening", "NoFeatures", "NormBound", "RowCentering",
           "ScoreCurvature", "Shrinkage", "Standardizing", "TargetBounds", "TargetMean",
           "TargetScaling", "TemperatureScaling", "UnitNorm", "UsualTemperature", "WeightBound",
           "Whitening"]
