"""Displays of private evaluations, with the uncertainty due to noise as a band."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._docs import documented
from dpsk.metrics._band_display import BandDisplay, CurveDisplay
from dpsk.metrics._scores import require_probabilities

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._typing import FloatArray
    from dpsk.metrics._estimate import Estimate

__all__ = ["DPCalibrationDisplay", "DPPrecisionRecallDisplay", "DPRocCurveDisplay"]


@documented
class DPRocCurveDisplay(CurveDisplay):
    """The ROC curve of a private evaluation, with a band.

    Make one by `from_evaluation`, which is free, or by `from_predictions` or `from_estimator`,
    which spend their `epsilon`.

    Parameters
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        False positive rates, and true positive rates.
    low, high : ndarray of shape (n_points,)
        Ends of the band of true positive rates.
    roc_auc : Estimate or None, default=None
        Area under the curve, shown in the legend.
    name : str or None, default=None
        Name of the line in the legend.
    pos_label : label or None, default=None
        The positive label.

    Attributes
    ----------
    %(display_band)s
    chance_level_ : matplotlib Line2D or None
        The diagonal.

    See Also
    --------
    BinaryEvaluation : The release that all displays can share.
    DPPrecisionRecallDisplay : Precision by recall.

    Examples
    --------
    >>> from dpsk.metrics import DPRocCurveDisplay
    >>> display = DPRocCurveDisplay.from_predictions(
    ...     [0, 1], [0.2, 0.9], epsilon=1.0)  # doctest: +SKIP
    """

    _axes, _labels = ("fpr", "tpr"), ("False positive rate", "True positive rate")

    def __init__(self, *, fpr: FloatArray, tpr: FloatArray, low: FloatArray, high: FloatArray,
                 roc_auc: Estimate | None = None, name: str | None = None,
                 pos_label: Any = None) -> None:
        self.fpr = fpr
        self.tpr = tpr
        self.low = low
        self.high = high
        self.roc_auc = roc_auc
        self.name = name
        self.pos_label = pos_label

    @classmethod
    def _of(cls, evaluation, level):
        found = zip(("fpr", "tpr", "low", "high"), evaluation.roc_band(level), strict=True)
        return {**dict(found), "roc_auc": evaluation.roc_auc()}

    def _metric(self):
        return _text("AUC", self.roc_auc)

    def _draw_reference(self, ax, style):
        return ax.plot([0, 1], [0, 1], label="Chance level (AUC = 0.5)", **style)[0]


@documented
class DPPrecisionRecallDisplay(CurveDisplay):
    """Precision by recall of a private evaluation, with a band.

    Make one by `from_evaluation`, which is free, or by `from_predictions` or `from_estimator`,
    which spend their `epsilon`.

    Parameters
    ----------
    precision, recall : ndarray of shape (n_points,)
        Precision at each recall, and recall.
    low, high : ndarray of shape (n_points,)
        Ends of the band of precision.
    average_precision : Estimate or None, default=None
        Average precision, shown in the legend.
    name : str or None, default=None
        Name of the line in the legend.
    pos_label : label or None, default=None
        The positive label.
    prevalence_pos_label : float or None, default=None
        Share of positive rows, which is the precision of scores without information.

    Attributes
    ----------
    %(display_band)s
    chance_level_ : matplotlib Line2D or None
        Precision of scores without information.

    See Also
    --------
    BinaryEvaluation : The release that all displays can share.
    DPRocCurveDisplay : True positive rate against false positive rate.

    Examples
    --------
    >>> from dpsk.metrics import DPPrecisionRecallDisplay
    >>> display = DPPrecisionRecallDisplay.from_predictions(
    ...     [0, 1], [0, 1], epsilon=1.0)  # doctest: +SKIP
    """

    _axes, _labels = ("recall", "precision"), ("Recall", "Precision")

    def __init__(self, *, precision: FloatArray, recall: FloatArray, low: FloatArray,
                 high: FloatArray, average_precision: Estimate | None = None,
                 name: str | None = None, pos_label: Any = None,
                 prevalence_pos_label: float | None = None) -> None:
        self.precision = precision
        self.recall = recall
        self.low = low
        self.high = high
        self.average_precision = average_precision
        self.name = name
        self.pos_label = pos_label
        self.prevalence_pos_label = prevalence_pos_label

    @classmethod
    def _of(cls, evaluation, level):
        found = zip(("recall", "precision", "low", "high"),
                    evaluation.precision_recall_band(level), strict=True)
        return {**dict(found), "average_precision": evaluation.average_precision(),
                "prevalence_pos_label": float(evaluation.prevalence())}

    def _metric(self):
        return _text("AP", self.average_precision)

    def _draw_reference(self, ax, style):
        share = self.prevalence_pos_label
        if share is None:
            raise ValueError("plot_chance_level=True: prevalence_pos_label is not given.")
        return ax.plot([0, 1], [share, share], label=f"Chance level (AP = {share:.3f})",
                       **style)[0]


@documented
class DPCalibrationDisplay(BandDisplay):
    """Calibration curve of a private evaluation, with error bars.

    Make one by `from_evaluation`, which is free, or by `from_predictions` or `from_estimator`,
    which spend their `epsilon`.

    Parameters
    ----------
    prob_true, prob_pred : ndarray of shape (n_bins,)
        Shares of positive rows, and mean predicted probabilities.
    low, high : ndarray of shape (n_bins,)
        Ends of the bars.
    brier_score : Estimate or None, default=None
        Brier score, shown in the legend.
    name : str or None, default=None
        Name of the line in the legend.
    pos_label : label or None, default=None
        The positive label.

    Attributes
    ----------
    %(display_band)s
    chance_level_ : matplotlib Line2D or None
        The diagonal.

    See Also
    --------
    BinaryEvaluation : The release that all displays can share.
    DPRocCurveDisplay : True positive rate against false positive rate.

    Examples
    --------
    >>> from dpsk.metrics import DPCalibrationDisplay
    >>> display = DPCalibrationDisplay.from_predictions(
    ...     [0, 1], [0.2, 0.9], epsilon=1.0)  # doctest: +SKIP
    """

    _axes = "prob_pred", "prob_true"
    _labels = "Mean predicted probability", "Fraction of positives"
    _curve: ClassVar = {"n_bins": 5, "strategy": "quantile"}
    _score_range: ClassVar = (0.0, 1.0)

    def __init__(self, *, prob_true: FloatArray, prob_pred: FloatArray, low: FloatArray,
                 high: FloatArray, brier_score: Estimate | None = None, name: str | None = None,
                 pos_label: Any = None) -> None:
        self.prob_true = prob_true
        self.prob_pred = prob_pred
        self.low = low
        self.high = high
        self.brier_score = brier_score
        self.name = name
        self.pos_label = pos_label

    def plot(self, ax: Any = None, *, name: str | None = None, ref_line: bool = True,
             despine: bool = False, **kwargs: Any) -> Self:
        """Draw the curve and its error bars again; nothing is released.

        Parameters
        ----------
        %(ax)s %(name)s
        ref_line : bool, default=True
            Whether to draw the diagonal, the curve of calibrated probabilities.
        despine : bool, default=False
            Whether to remove the top and right spines.
        **kwargs : dict
            Properties of the curve, for `Line2D.set`.

        Returns
        -------
        display : object
            Display with axes, figure, line and band.
        """
        return self._plot(ax, name, ref_line, None, despine, kwargs)

    @classmethod
    def _check_range(cls, score_range):
        require_probabilities("calibration_curve", score_range)

    @classmethod
    def _of(cls, evaluation, level, **curve):
        shares, probabilities = evaluation.calibration_curve(**curve)
        low, high = shares.interval(level)
        return {"prob_true": shares.value, "prob_pred": probabilities, "low": low, "high": high,
                "brier_score": evaluation.brier_score()}

    def _metric(self):
        return _text("Brier", self.brier_score)

    def _draw_band(self, ax):
        # At the smallest levels, rounding may put an end on the wrong side of the share.
        off = np.maximum([self.prob_true - self.low, self.high - self.prob_true], 0.0)
        return ax.errorbar(self.prob_pred, self.prob_true, yerr=off, fmt="o",
                           color=self.line_.get_color(), capsize=3)

    def _draw_reference(self, ax, style):
        return ax.plot([0, 1], [0, 1], label="Perfectly calibrated", **style)[0]


def _text(name, estimate):
    """Return the text of a metric in a legend, or None."""
    return None if estimate is None else (
        f"{name} = {estimate.value:.3f} +- {estimate.standard_error:.3f}")
