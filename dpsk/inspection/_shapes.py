"""Plot of the shape functions of an additive model."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._optional_dependencies import check_matplotlib_support

from dpsk._parameters import check_choice, check_integer, check_real
from dpsk.inspection._models import model_of, named_terms
from dpsk.inspection._panels import (
    bar_order,
    cell_edges,
    draw_bars,
    draw_curve,
    label,
    note_no_band,
    shown_ends,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any


__all__ = ["DPShapeDisplay"]

#: Size of one panel in inches.
_WIDTH, _HEIGHT = 4.0, 3.0


class DPShapeDisplay:
    """Plot the shape functions of an additive model, with bands of noise.

    A numeric column is a curve, a categorical column is bars, and a pair of columns is a color
    map. Values are log-odds for a classifier, and in units of the target for a regressor. Each
    shape function is centered by subtracting its mean, see `Term`. The distribution of the rows
    is data, and not drawn. An axis ends at declared bounds, else at about the 1 % and 99 %
    quantiles, estimated from the private knots. Bars go from the largest to the smallest. A band
    shows the error of values due to the noise of the fit, as far as the private outputs tell it;
    if there is no band, a note says why. The band does not cover sampling error, nor the noise of
    knots, categories and pairs.

    Use `from_estimator` to make one.

    Parameters
    ----------
    terms : list of Term
        Shape functions, as in `terms_` of a model.
    unit : str
        Unit of the values.
    classes : list or None
        Classes of several outputs, with one curve each; None for one output.
    declared : collection, default=()
        Columns with declared bounds or knots, whose axes end at these.
    same_scale : bool, default=False
        Whether the values of all columns share one scale, to compare them.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One per term, in order; of shape (n_rows, n_cols) for a new figure.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    DPAdditiveClassifier, DPAdditiveRegressor : The models, whose `terms_` are drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPAdditiveRegressor
    >>> from dpsk.inspection import DPShapeDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = DPAdditiveRegressor(epsilon=4.0, target_bounds=(25, 350))
    >>> model = model.fit(X[["bmi", "bp"]], y)
    >>> display = DPShapeDisplay.from_estimator(model, features=["bmi"])  # doctest: +SKIP
    >>> display.figure_.savefig("curve.png")  # doctest: +SKIP
    """

    def __init__(self, terms: Sequence[Any], *, unit: str, classes: Sequence[Any] | None = None,
                 declared: Collection[Any] = (), same_scale: bool = False) -> None:
        self.terms, self.unit, self.classes = terms, unit, classes
        self.declared, self.same_scale = declared, same_scale

    @classmethod
    def from_estimator(cls, estimator: Any, features: Sequence[Any] | None = None, *,
                       order: str = "columns", max_terms: int | None = None, ax: Any = None,
                       n_cols: int = 3, confidence: float | None = 0.95) -> DPShapeDisplay:
        """Draw shape functions of a fitted model; needs no rows and no budget.

        Parameters
        ----------
        estimator : DPAdditiveClassifier or DPAdditiveRegressor
            A fitted model, or a pipeline, search or threshold classifier around one.
        features : list or None, default=None
            Names or positions of columns, and tuples of two for pairs. None: all terms.
        order : {"columns", "importance"}, default="columns"
            "importance" is for an overview: the terms that move predictions most come first, on
            one scale. See `term_importances_` of the model.
        max_terms : int or None, default=None
            Maximum number of terms, of which the first are drawn. None: all.
        ax : matplotlib Axes, sequence of these, or None, default=None
            One for every term. None: a new figure.
        n_cols : int, default=3
            Number of panels in a row of a new figure.
        confidence : float or None, default=0.95
            Pointwise confidence level of the bands; None for no bands.

        Returns
        -------
        display : DPShapeDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed: ``pip install dpsk[plot]``.
        NotFittedError
            If the model is not fitted.
        ValueError
            If there is no such column or pair, or too few axes.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_choice("order", order, ["columns", "importance"])
        if max_terms is not None:
            check_integer("max_terms", max_terms, low=1, remedy="None, or an int >= 1")
        model, names = model_of(estimator)
        classified = is_classifier(model)
        several = classified and len(model.classes_) > 2
        terms = named_terms(model, names)
        if order == "importance":
            terms = [terms[place] for place in np.argsort(-model.term_importances_,
                                                          kind="stable")]
        declared = {names.get(name, name) for name, given in (model.columns or {}).items()
                    if isinstance(given, tuple)}
        display = cls(_chosen(terms, features, order == "columns")[:max_terms],
                      unit="log-odds" if classified else "target",
                      classes=model.classes_.tolist() if several else None,
                      declared=declared, same_scale=order == "importance")
        return display.plot(ax=ax, n_cols=n_cols, confidence=confidence)

    def plot(self, *, ax: Any = None, n_cols: int = 3,
             confidence: float | None = 0.95) -> DPShapeDisplay:
        """Draw the shape functions.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of these, or None, default=None
            One for every term. None: a new figure.
        n_cols : int, default=3
            Number of panels in a row of a new figure.
        confidence : float or None, default=0.95
            Pointwise confidence level of the bands; None for no bands.

        Returns
        -------
        self : DPShapeDisplay
            The display, with `figure_` and `axes_`.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        check_integer("n_cols", n_cols, low=1, high=1000, remedy="an int >= 1")
        if confidence is not None:
            check_real("confidence", confidence, low=0, open_low=True, high=1, open_high=True,
                       remedy="None, or a number between 0 and 1")
        panels = self._panels()
        self.figure_, self.axes_ = _axes(ax, len(panels), n_cols)
        drawn = list(zip(panels, self.axes_.ravel(), strict=False))
        for (term, output), each in drawn:
            self._draw(term, output, each, confidence)
        if self.same_scale:
            alike = [each for (term, _), each in drawn if len(term.axes) == 1]
            ends = np.array([each.get_ylim() for each in alike] or [(0.0, 1.0)])
            for each in alike:
                each.set_ylim(ends[:, 0].min(), ends[:, 1].max())
        return self

    def _panels(self):
        """Return (term, output) for every panel; output is None except for pairs."""
        outputs = [None] if self.classes is None else range(len(self.classes))
        return [(term, output) for term in self.terms
                for output in (outputs if len(term.axes) == 2 else [None])]

    def _draw(self, term, output, ax, confidence):
        if len(term.axes) == 2:
            self._draw_pair(term, output, ax)
            return
        axis, = term.axes
        values, reach = np.atleast_2d(term.centered.T), None
        draw, how = ((draw_bars, bar_order(axis, values[0])) if axis.knots is None else
                     (draw_curve, self._ends(axis)))
        if confidence is not None and term.unknown is None:
            reach = np.atleast_2d(term.interval(confidence)[1].T) - values
        if confidence is not None and (reach is None or np.isnan(reach).all()):
            note_no_band(ax, term.unknown)
        for place, each in enumerate(values):
            draw(ax, axis, each, None if reach is None else reach[place], (place, len(values)),
                 None if self.classes is None else str(self.classes[place]), how)
        ax.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
        ax.set_xlabel(str(axis.column))
        ax.set_ylabel(self.unit)
        if self.classes is not None:
            ax.legend()

    def _ends(self, axis):
        return shown_ends(axis, axis.column in self.declared)

    def _draw_pair(self, term, output, ax):
        down, right = term.axes
        values = term.centered if output is None else term.centered[..., output]
        size = float(np.abs(values).max()) or 1.0
        edges = [cell_edges(axis) for axis in (right, down)]
        mesh = ax.pcolormesh(*edges, values, cmap="RdBu_r", vmin=-size, vmax=size)
        for axis, which in ((right, ax.xaxis), (down, ax.yaxis)):
            label(which, axis)
            if axis.knots is not None and len(axis.knots) > 1:
                getattr(ax, f"set_{which.axis_name}lim")(*self._ends(axis))
        ax.set_xlabel(str(right.column))
        ax.set_ylabel(str(down.column))
        more = "" if output is None else f", {self.classes[output]}"
        ax.figure.colorbar(mesh, ax=ax, label=self.unit + more)


def _chosen(terms, features, in_order):
    """Return the terms of columns and pairs; raise a ValueError if one is missing.

    The terms are in the order of `features` if `in_order`, else in that of `terms`.
    """
    if features is None:
        return terms
    known = {tuple(axis.column for axis in term.axes): term for term in terms}
    columns = [key[0] for key in known if len(key) == 1]

    def named(column):
        is_place = isinstance(column, Integral) and (column,) not in known
        return columns[column] if is_place and 0 <= column < len(columns) else column

    chosen = []
    for feature in features:
        key = tuple(map(named, feature if isinstance(feature, tuple) else (feature,)))
        term = known.get(key) or known.get(key[::-1])
        if term is None:
            raise ValueError(f"features has {feature!r}, which is no column or pair of columns "
                             "of the model; use names of a DataFrame, positions, or tuples of "
                             "two for pairs in interactions.")
        chosen.append(term)
    return chosen if in_order else [term for term in terms if term in chosen]


def _axes(ax, count, n_cols):
    """Return a figure and its axes, given or new; unused new axes are hidden."""
    if ax is not None:
        given = np.atleast_1d(np.asarray(ax, dtype=object))
        if given.size < count:
            raise ValueError(f"ax has {given.size} axes for {count} pictures; give one for each, "
                             "or leave ax=None.")
        return given.ravel()[0].figure, given
    import matplotlib.pyplot as plt

    n_cols = min(n_cols, max(count, 1))
    n_rows = math.ceil(count / n_cols) or 1
    figure, axes = plt.subplots(n_rows, n_cols, squeeze=False, layout="constrained",
                                figsize=(_WIDTH * n_cols, _HEIGHT * n_rows))
    for each in axes.ravel()[count:]:
        each.set_axis_off()
    return figure, axes
