"""Base of displays of private evaluations: a curve with a band."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, ClassVar

from dpsk._docs import documented
from dpsk._drawing import LineDisplay
from dpsk._parameters import check_flag
from dpsk.metrics._binary import BinaryEvaluation
from dpsk.metrics._curve_table import check_groups
from dpsk.metrics._estimate import check_level
from dpsk.metrics._inputs import score_range_of

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.certificate import Certificate
    from dpsk._typing import FloatArray, Table

__all__ = ["BandDisplay", "CurveDisplay"]


@documented
class BandDisplay(LineDisplay):
    """Curve of a `BinaryEvaluation` with a band, on new or given axes."""

    #: Names of the attributes of both axes, and the axis labels.
    _axes: ClassVar[tuple[str, str]]
    _labels: ClassVar[tuple[str, str]]
    #: Further options of the curve, with defaults.
    _curve: ClassVar[dict[str, Any]] = {}
    #: Default range of scores; None: any.
    _score_range: ClassVar[tuple[float, float] | None] = None

    if TYPE_CHECKING:
        evaluation_: BinaryEvaluation
        privacy_: Certificate
        name: str | None
        pos_label: Any
        low: FloatArray
        high: FloatArray

        def __init__(self, **parts: Any) -> None: ...
        @classmethod
        def _of(cls, evaluation: BinaryEvaluation, level: float, **curve: Any) -> dict: ...
        def _metric(self) -> str | None: ...
        def _draw_reference(self, ax: Any, style: dict[str, Any]) -> Any: ...
        def plot(self, ax: Any = None, **kwargs: Any) -> Self: ...

    def _plot(self, ax, name, reference, reference_kw, despine, style):
        """Draw the curve, its band, and optionally the line to compare with."""
        name, metric = self.name if name is None else name, self._metric()
        label = f"{name} ({metric})" if name and metric else name or metric
        of = "" if self.pos_label is None else f" (positive label: {self.pos_label})"
        xlabel, ylabel = (text + of for text in self._labels)
        self._drawn(ax, label, "plot", *(getattr(self, each) for each in self._axes), style,
                    xlabel=xlabel, ylabel=ylabel, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        self.band_ = self._draw_band(self.ax_)
        self.chance_level_ = None
        if reference:
            self.chance_level_ = self._draw_reference(
                self.ax_, {"color": "gray", "linestyle": ":", "zorder": 0, **(reference_kw or {})})
            self.ax_.legend()
        for side, spine in self.ax_.spines.items() if despine else ():
            if side in ("top", "right"):
                spine.set_visible(False)
            else:
                spine.set_bounds(0.0, 1.0)
        return self

    def _draw_band(self, ax):
        return ax.fill_between(getattr(self, self._axes[0]), self.low, self.high, alpha=0.25,
                               linewidth=0, color=self.line_.get_color())

    @classmethod
    def _check_range(cls, score_range):
        """Raise a ValueError, before a release, if a score range cannot be drawn."""

    @classmethod
    def _check_all(cls, way, level, ax, name, options):
        """Raise the errors of a display for its arguments, before anything is released."""
        known = {each: options[each] for each in options
                 if each in cls._curve or each in signature(cls.plot).parameters}
        cls._check_drawing(way, ax, name, {each: value for each, value in options.items()
                                           if each not in known})
        for each in {"plot_chance_level", "ref_line", "despine"} & set(known):
            check_flag(each, known[each])
        chance = known.get("chance_level_kw")
        if chance is not None:
            if not isinstance(chance, dict):
                raise TypeError(f"chance_level_kw of type {type(chance).__name__}: must be a "
                                "dict, or None.")
            cls._check_drawing(way, ax, name, chance)
        if cls._curve:
            check_groups(*({**cls._curve, **known}[each] for each in cls._curve))
        check_level(level)

    @classmethod
    def from_evaluation(cls, evaluation: BinaryEvaluation, *, level: float = 0.95, ax: Any = None,
                        name: str | None = None, **kwargs: Any) -> Self:
        """Draw an evaluation that was already released, at no cost.

        Parameters
        ----------
        evaluation : BinaryEvaluation
            Released evaluation.
        %(level_band)s %(ax)s %(name_curve)s
        **kwargs : dict
            Arguments of `plot`; for a calibration curve also `n_bins` and `strategy`.

        Returns
        -------
        display : object
            Display with axes, figure, line and band.
        """
        cls._check_all("from_evaluation", level, ax, name, kwargs)
        curve = {each: kwargs.pop(each, default) for each, default in cls._curve.items()}
        display = cls(**cls._of(evaluation, level, **curve), name=name,
                      pos_label=evaluation.labels[1])
        display.evaluation_, display.privacy_ = evaluation, evaluation.privacy_
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_score: ArrayLike, *, epsilon: float,
                         delta: float | None = None, pos_label: Any = None, level: float = 0.95,
                         ax: Any = None, name: str | None = None,
                         evaluation_kw: dict[str, Any] | None = None, **kwargs: Any) -> Self:
        """Spend `epsilon` on a noisy histogram of scores, and draw its curve.

        Each call is a separate release, charged to the open budgets. To draw again at no cost, use
        `plot` of the display, or `from_evaluation` of its `evaluation_`.

        Parameters
        ----------
        y_true, y_score : array-like of shape (n,)
            Labels, and scores that are higher for the positive one.
        %(epsilon_release)s %(delta_release)s %(pos_label_release)s
        %(level_band)s %(ax)s %(name_curve)s
        evaluation_kw : dict or None, default=None
            Further arguments of `BinaryEvaluation.from_predictions`. `score_range` is (0, 1) for
            a calibration curve, else None by default; (0, 1) for probabilities has less error.
        **kwargs : dict
            As for `from_evaluation`.

        Returns
        -------
        display : object
            Display with the release in `evaluation_`.
        """
        cls._check_all("from_predictions", level, ax, name, kwargs)
        evaluation_kw = {"score_range": cls._score_range, **(evaluation_kw or {})}
        cls._check_range(evaluation_kw["score_range"])
        evaluation = BinaryEvaluation.from_predictions(
            y_true, y_score, epsilon=epsilon, delta=delta, pos_label=pos_label, **evaluation_kw)
        return cls.from_evaluation(evaluation, level=level, ax=ax, name=name, **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Table, y: ArrayLike, *, epsilon: float,
                       delta: float | None = None, pos_label: Any = None, level: float = 0.95,
                       ax: Any = None, name: str | None = None,
                       evaluation_kw: dict[str, Any] | None = None, **kwargs: Any) -> Self:
        """Spend `epsilon` on a histogram of a classifier's scores, and draw its curve.

        Each call is a separate release, charged to the open budgets. To draw again at no cost, use
        `plot` of the display, or `from_evaluation` of its `evaluation_`.

        Parameters
        ----------
        estimator : classifier
            Fitted to other rows.
        X : array-like of shape (n, n_features)
            Rows, as the classifier accepts them.
        y : array-like of shape (n,)
            Their labels.
        %(epsilon_release)s %(delta_release)s %(pos_label_release)s
        %(level_band)s %(ax)s %(name_curve)s
            None: the class of the estimator.
        evaluation_kw : dict or None, default=None
            Further arguments of `BinaryEvaluation.from_estimator`.
        **kwargs : dict
            As for `from_evaluation`.

        Returns
        -------
        display : object
            Display with the release in `evaluation_`.
        """
        cls._check_all("from_estimator", level, ax, name, kwargs)
        cls._check_range(score_range_of(estimator))
        evaluation = BinaryEvaluation.from_estimator(
            estimator, X, y, epsilon=epsilon, delta=delta, pos_label=pos_label,
            **(evaluation_kw or {}))
        name = type(estimator).__name__ if name is None else name
        return cls.from_evaluation(evaluation, level=level, ax=ax, name=name, **kwargs)


@documented
class CurveDisplay(BandDisplay):
    """Curve with an optional line for scores without information."""

    def plot(self, ax: Any = None, *, name: str | None = None, plot_chance_level: bool = False,
             chance_level_kw: dict[str, Any] | None = None, despine: bool = False,
             **kwargs: Any) -> Self:
        """Draw the curve and its band again; nothing is released.

        Parameters
        ----------
        %(ax)s %(name)s
        plot_chance_level : bool, default=False
            Whether to draw the curve of scores without information.
        chance_level_kw : dict or None, default=None
            Properties of that line, for `Line2D.set`.
        despine : bool, default=False
            Whether to remove the top and right spines.
        **kwargs : dict
            Properties of the curve, for `Line2D.set`.

        Returns
        -------
        display : object
            Display with axes, figure, line and band.
        """
        return self._plot(ax, name, plot_chance_level, chance_level_kw, despine, kwargs)
