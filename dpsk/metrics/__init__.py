"""Private evaluation: one noisy release of the evaluated rows, and its metrics."""

from dpsk.metrics._binary import BinaryEvaluation
from dpsk.metrics._cross_validation import CrossValidation, dp_cross_validate
from dpsk.metrics._displays import (
    DPCalibrationDisplay,
    DPPrecisionRecallDisplay,
    DPRocCurveDisplay,
)
from dpsk.metrics._estimate import Estimate
from dpsk.metrics._functions import (
    dp_accuracy_score,
    dp_average_precision_score,
    dp_brier_score_loss,
    dp_confusion_matrix,
    dp_f1_score,
    dp_log_loss,
    dp_roc_auc_score,
)
from dpsk.metrics._multiclass import MulticlassEvaluation
from dpsk.metrics._plan import plan_evaluation
from dpsk.metrics._regression import RegressionEvaluation
from dpsk.metrics._regression_functions import (
    dp_mean_absolute_error,
    dp_mean_squared_error,
    dp_r2_score,
)
from dpsk.metrics._scorers import get_scorer, get_scorer_names

__all__ = ["BinaryEvaluation", "CrossValidation", "DPCalibrationDisplay",
           "DPPrecisionRecallDisplay", "DPRocCurveDisplay", "Estimate", "MulticlassEvaluation",
           "RegressionEvaluation", "dp_accuracy_score", "dp_average_precision_score",
           "dp_brier_score_loss", "dp_confusion_matrix", "dp_cross_validate", "dp_f1_score",
           "dp_log_loss", "dp_mean_absolute_error", "dp_mean_squared_error", "dp_r2_score",
           "dp_roc_auc_score", "get_scorer", "get_scorer_names", "plan_evaluation"]
