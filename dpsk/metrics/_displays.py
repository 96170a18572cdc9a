"""Pictures of private evaluations, with what their noise leaves open as a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._docs import documented
from dpsk._drawing import LineDisplay
from dpsk.metrics._binary import BinaryEvaluation
from dpsk.metrics._estimate import check_level
from dpsk.metrics._inputs import score_range_of
from dpsk.metrics._scores import require_probabilities

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.certificate import Certificate
    from dpsk._typing import FloatArray, Table

__all__ = ["DPCalibrationDisplay", "DPPrecisionRecallDisplay", "DPRocCurveDisplay"]


@documented
class _BandDisplay(LineDisplay):
    """A curve of a `BinaryEvaluation` with a band, on axes of its own or on given ones."""

    _labels = ("x", "y")

    if TYPE_CHECKING:
        evaluation_: BinaryEvaluation
        privacy_: Certificate

        @classmethod
        def _of(cls, evaluation: BinaryEvaluation, level: float) -> Any: ...
        @staticmethod
        def _named(evaluation: BinaryEvaluation) -> str: ...

    def __init__(self, *, x: FloatArray, y: FloatArray, low: FloatArray, high: FloatArray,
                 name: str | None = None) -> None:
        self.x = x
        self.y = y
        self.low = low
        self.high = high
        self.name = name

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve and its band.

        Parameters
        ----------
        %(ax)s %(name)s
        **kwargs : dict
            Of the line, for `Line2D.set`.

        Returns
        -------
        display : object
            With the axes, the figure, the line and the band.
        """
        xlabel, ylabel = self._labels
        self._drawn(ax, self.name if name is None else name, "plot", self.x, self.y,
                    kwargs, xlabel=xlabel, ylabel=ylabel, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        self.band_ = self._draw_band(self.ax_)
        self._draw_reference(self.ax_)
        return self

    def _draw_band(self, ax):
        return ax.fill_between(self.x, self.low, self.high, alpha=0.25, linewidth=0,
                               color=self.line_.get_color())

    def _draw_reference(self, ax):
        ax.plot([0, 1], [0, 1], color="gray", linestyle=":", zorder=0)

    @classmethod
    def _check_range(cls, score_range):
        """Raise a ValueError where scores of a range cannot be drawn, before they are counted."""

    @classmethod
    def _check_all(cls, way, level, ax, name, style):
        """Raise what a display would of all that it is told, before anything is released."""
        cls._check_drawing(way, ax, name, style)
        check_level(level)

    @classmethod
    def from_evaluation(cls, evaluation: BinaryEvaluation, *, level: float = 0.95, ax: Any = None,
                        name: str | None = None, **kwargs: Any) -> Self:
        """Draw an evaluation that was released before, which costs nothing.

        Parameters
        ----------
        evaluation : BinaryEvaluation
            What was released.
        level : float in (0, 1), default=0.95
            Of the band, at one point.
        %(ax)s %(name)s
        **kwargs : dict
            Of the line, for `Line2D.set`.

        Returns
        -------
        display : object
            With the axes, the figure, the line and the band.
        """
        cls._check_all("from_evaluation", level, ax, name, kwargs)
        x, y, low, high = cls._of(evaluation, level)
        if name is None:
            name = cls._named(evaluation)
        display = cls(x=x, y=y, low=low, high=high, name=name)
        display.evaluation_, display.privacy_ = evaluation, evaluation.privacy_
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_score: ArrayLike, *, epsilon: float = 1.0,
                         delta: float | None = None, level: float = 0.95, ax: Any = None,
                         name: str | None = None, evaluation_kw: dict[str, Any] | None = None,
                         **kwargs: Any) -> Self:
        """Release a histogram of scores, and draw it.

        Parameters
        ----------
        y_true, y_score : array-like of shape (n,)
            Labels, and scores that are higher for the positive one.
        epsilon : float, default=1.0
            Of the release; inf: no noise, not private.
        delta : float or None, default=None
            None: ``1 / n**2``.
        level : float in (0, 1), default=0.95
            Of the band, at one point.
        %(ax)s %(name)s
        evaluation_kw : dict or None, default=None
            More for `BinaryEvaluation.from_predictions`.
        **kwargs : dict
            Of the line, for `Line2D.set`.

        Returns
        -------
        display : object
            With what was released in `evaluation_`.
        """
        cls._check_all("from_predictions", level, ax, name, kwargs)
        cls._check_range((evaluation_kw or {}).get("score_range", (0.0, 1.0)))
        evaluation = BinaryEvaluation.from_predictions(
            y_true, y_score, epsilon=epsilon, delta=delta, **(evaluation_kw or {}))
        return cls.from_evaluation(evaluation, level=level, ax=ax, name=name, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Table, y: ArrayLike, *, epsilon: float = 1.0,
                       delta: float | None = None, level: float = 0.95, ax: Any = None,
                       name: str | None = None, evaluation_kw: dict[str, Any] | None = None,
                       **kwargs: Any) -> Self:
        """Release a histogram of the scores of a fitted classifier, and draw it.

        Parameters
        ----------
        estimator : classifier
            Fitted, to other rows.
        X : array-like of shape (n, n_features)
            Rows, as the classifier takes them.
        y : array-like of shape (n,)
            Their labels.
        epsilon : float, default=1.0
            Of the release; inf: no noise, not private.
        delta : float or None, default=None
            None: ``1 / n**2``.
        level : float in (0, 1), default=0.95
            Of the band, at one point.
        %(ax)s %(name)s
        evaluation_kw : dict or None, default=None
            More for `BinaryEvaluation.from_estimator`.
        **kwargs : dict
            Of the line, for `Line2D.set`.

        Returns
        -------
        display : object
            With what was released in `evaluation_`.
        """
        cls._check_all("from_estimator", level, ax, name, kwargs)
        cls._check_range(score_range_of(estimator))
        evaluation = BinaryEvaluation.from_estimator(
            estimator, X, y, epsilon=epsilon, delta=delta, **(evaluation_kw or {}))
        return cls.from_evaluation(evaluation, level=level, ax=ax, name=name, **kwargs)


class DPRocCurveDisplay(_BandDisplay):
    """The ROC curve of a private evaluation, with a band.

    Make one by `from_evaluation`, `from_predictions` or `from_estimator`.

    Parameters
    ----------
    x, y, low, high : ndarray of shape (n_points,)
        False positive rates, and true ones with the ends of the band.
    name : str or None, default=None
        Of the line, in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        That of the axes.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib artist
        What noise leaves open.
    evaluation_ : BinaryEvaluation
        What was released.
    privacy_ : Certificate
        Its guarantee; what else is drawn on the axes is not covered.

    See Also
    --------
    BinaryEvaluation : What is released, once for all pictures.
    DPPrecisionRecallDisplay : Precision by recall.

    Examples
    --------
    >>> from dpsk.metrics import DPRocCurveDisplay
    >>> display = DPRocCurveDisplay.from_predictions([0, 1], [0.2, 0.9])  # doctest: +SKIP
    """

    _labels = ("false positive rate", "true positive rate")

    @staticmethod
    def _of(evaluation, level):
        return evaluation.roc_band(level)

    @staticmethod
    def _named(evaluation):
        area, error = evaluation.roc_auc()
        return f"AUC {area:.3f} +- {error:.3f}"


class DPPrecisionRecallDisplay(_BandDisplay):
    """Precision by recall of a private evaluation, with a band.

    Make one by `from_evaluation`, `from_predictions` or `from_estimator`.

    Parameters
    ----------
    x, y, low, high : ndarray of shape (n_points,)
        Recall, and precision with the ends of the band.
    name : str or None, default=None
        Of the line, in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        That of the axes.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib artist
        What noise leaves open.
    evaluation_ : BinaryEvaluation
        What was released.
    privacy_ : Certificate
        Its guarantee; what else is drawn on the axes is not covered.

    See Also
    --------
    BinaryEvaluation : What is released, once for all pictures.
    DPRocCurveDisplay : True positive rates by false ones.

    Examples
    --------
    >>> from dpsk.metrics import DPPrecisionRecallDisplay
    >>> display = DPPrecisionRecallDisplay.from_predictions([0, 1], [0, 1])  # doctest: +SKIP
    """

    _labels = ("recall", "precision")

    @staticmethod
    def _of(evaluation, level):
        return evaluation.precision_recall_band(level)

    @staticmethod
    def _named(evaluation):
        value, error = evaluation.average_precision()
        return f"AP {value:.3f} +- {error:.3f}"

    def _draw_reference(self, ax):
        """Draw nothing: what a coin would reach depends on the rows."""


class DPCalibrationDisplay(_BandDisplay):
    """How often rows are positive, by their probability, with error bars.

    Make one by `from_evaluation`, `from_predictions` or `from_estimator`.

    Parameters
    ----------
    x, y, low, high : ndarray of shape (n_bins,)
        Mean probabilities, and shares of positive rows with the ends of the bars.
    name : str or None, default=None
        Of the line, in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        That of the axes.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib artist
        What noise leaves open.
    evaluation_ : BinaryEvaluation
        What was released.
    privacy_ : Certificate
        Its guarantee; what else is drawn on the axes is not covered.

    See Also
    --------
    BinaryEvaluation : What is released, once for all pictures.
    DPRocCurveDisplay : True positive rates by false ones.

    Examples
    --------
    >>> from dpsk.metrics import DPCalibrationDisplay
    >>> display = DPCalibrationDisplay.from_predictions([0, 1], [0.2, 0.9])  # doctest: +SKIP
    """

    _labels = ("mean predicted probability", "share of positives")

    @classmethod
    def _check_range(cls, score_range):
        require_probabilities("calibration_curve", score_range)

    @staticmethod
    def _of(evaluation, level):
        shares, probabilities = evaluation.calibration_curve()
        return probabilities, shares.value, *shares.interval(level)

    @staticmethod
    def _named(evaluation):
        value, error = evaluation.brier_score()
        return f"Brier {value:.3f} +- {error:.3f}"

    def _draw_band(self, ax):
        return ax.errorbar(self.x, self.y, yerr=np.stack([self.y - self.low, self.high - self.y]),
                           fmt="o", color=self.line_.get_color(), capsize=3)
