"""The curves of an additive model as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from dpsk._parameters import check_integer, check_real

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


__all__ = ["DPShapeDisplay"]

#: Inches of one column's picture.
_WIDTH, _HEIGHT = 4.0, 3.0
#: Names of categories are written upright from so many letters on, all together.
_MOST_LETTERS = 30


class DPShapeDisplay:
    """Plot the shape functions of an additive model, with bands of noise.

    A curve for a column of numbers, bars for one of categories, colors for a pair of columns; in
    log-odds for a classifier, in units of the target for a regressor. Curves are centered: each
    is drawn less its mean, see `Term`. Where rows are is data, and not drawn. A band shows what
    the noise of the fit does to values, as far as that is known from what was released; it shows
    neither what another sample of rows would, nor that of knots, categories and pairs.

    Use `from_estimator` to make one.

    Parameters
    ----------
    terms : list of Term
        What columns add, as in `terms_` of a model.
    unit : str
        Of values.
    classes : list or None
        Of several outputs, a curve each; None for one output.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One a term, in their order; shape (n_rows, n_cols) where they were made here.
    figure_ : matplotlib Figure
        That of the axes.

    See Also
    --------
    DPAdditiveClassifier, DPAdditiveRegressor : The models; their `terms_` are what is drawn.

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

    def __init__(self, terms: Sequence[Any], *, unit: str,
                 classes: Sequence[Any] | None = None) -> None:
        self.terms, self.unit, self.classes = terms, unit, classes

    @classmethod
    def from_estimator(cls, estimator: Any, features: Sequence[Any] | None = None, *,
                       ax: Any = None, n_cols: int = 3,
                       confidence: float | None = 0.95) -> DPShapeDisplay:
        """Draw curves of a fitted additive model; no rows are needed.

        Parameters
        ----------
        estimator : DPAdditiveClassifier or DPAdditiveRegressor
            Fitted.
        features : list or None, default=None
            Names of columns, and tuples of two names for pairs. None: everything.
        ax : matplotlib Axes, sequence of these, or None, default=None
            One for every term. None: a new figure.
        n_cols : int, default=3
            Of pictures in a row of a new figure.
        confidence : float or None, default=0.95
            Of bands, at every value by itself; None for no bands.

        Returns
        -------
        display : DPShapeDisplay

        Raises
        ------
        ImportError
            If matplotlib is not there: ``pip install dpsk[plot]``.
        NotFittedError
            If the model is not fitted.
        ValueError
            If there is no such column or pair, or too few axes.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        if not hasattr(type(estimator), "terms_"):
            raise ValueError(f"estimator={type(estimator).__name__}: has no curves; use "
                             "DPAdditiveClassifier or DPAdditiveRegressor.")
        check_is_fitted(estimator, "privacy_")
        classified = is_classifier(estimator)
        several = classified and len(estimator.classes_) > 2
        display = cls(_chosen(estimator.terms_, features),
                      unit="log-odds" if classified else "target",
                      classes=estimator.classes_.tolist() if several else None)
        return display.plot(ax=ax, n_cols=n_cols, confidence=confidence)

    def plot(self, *, ax: Any = None, n_cols: int = 3,
             confidence: float | None = 0.95) -> DPShapeDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of these, or None, default=None
            One for every term. None: a new figure.
        n_cols : int, default=3
            Of pictures in a row of a new figure.
        confidence : float or None, default=0.95
            Of bands, at every value by itself; None for no bands.

        Returns
        -------
        self : DPShapeDisplay
            With the figure and its axes.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        check_integer("n_cols", n_cols, low=1, high=1000, remedy="an int >= 1")
        if confidence is not None:
            check_real("confidence", confidence, low=0, open_low=True, high=1, open_high=True,
                       remedy="None, or a number between 0 and 1")
        panels = self._panels()
        self.figure_, self.axes_ = _axes(ax, len(panels), n_cols)
        for (term, output), each in zip(panels, self.axes_.ravel(), strict=False):
            self._draw(term, output, each, confidence)
        return self

    def _panels(self):
        """Return what is drawn in every picture: a term and, of a pair, one output."""
        outputs = [None] if self.classes is None else range(len(self.classes))
        return [(term, output) for term in self.terms
                for output in (outputs if len(term.axes) == 2 else [None])]

    def _draw(self, term, output, ax, confidence):
        if len(term.axes) == 2:
            self._draw_pair(term, output, ax)
            return
        axis, = term.axes
        draw = _draw_bars if axis.knots is None else _draw_curve
        values, reach = np.atleast_2d(term.centered.T), None
        if confidence is not None and term.unknown is None:
            reach = np.atleast_2d(term.interval(confidence)[1].T) - values
        for place, each in enumerate(values):
            draw(ax, axis, each, None if reach is None else reach[place], (place, len(values)),
                 None if self.classes is None else str(self.classes[place]))
        ax.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
        ax.set_xlabel(str(axis.column))
        ax.set_ylabel(self.unit)
        if self.classes is not None:
            ax.legend()

    def _draw_pair(self, term, output, ax):
        down, right = term.axes
        values = term.centered if output is None else term.centered[..., output]
        size = float(np.abs(values).max()) or 1.0
        edges = [_cell_edges(axis) for axis in (right, down)]
        mesh = ax.pcolormesh(*edges, values, cmap="RdBu_r", vmin=-size, vmax=size)
        for axis, which in ((right, ax.xaxis), (down, ax.yaxis)):
            _label(which, axis)
        ax.set_xlabel(str(right.column))
        ax.set_ylabel(str(down.column))
        more = "" if output is None else f", {self.classes[output]}"
        ax.figure.colorbar(mesh, ax=ax, label=self.unit + more)


def _chosen(terms, features):
    """Return the terms of some columns and pairs, in that order; a ValueError if one is missing.
    """
    if features is None:
        return terms
    known = {tuple(axis.column for axis in term.axes): term for term in terms}
    chosen = []
    for feature in features:
        key = feature if isinstance(feature, tuple) else (feature,)
        term = known.get(key) or known.get(key[::-1])
        if term is None:
            raise ValueError(f"features has {feature!r}, which is no column or pair of columns "
                             "of the model; use names of a DataFrame, positions in an array, or "
                             "tuples of two for pairs in interactions.")
        chosen.append(term)
    return chosen


def _axes(ax, count, n_cols):
    """Return a figure and its axes, those given or new ones; what is left over is hidden."""
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


def _draw_curve(ax, axis, values, reach, _, label):
    """Draw a curve, and a band about it, where it is straight between knots."""
    if axis.scale is not None:
        ax.set_xscale("function", functions=(axis.scale, axis.scale.inverse))
        # Even places would be far apart on one side and lie together on the other.
        ax.set_xticks(axis.knots, [f"{knot:.3g}" for knot in axis.knots])
    line, = ax.plot(axis.knots, values, label=label)
    if len(axis.knots) == 1:
        line.set_marker("o")
    if reach is not None:
        ax.fill_between(axis.knots, values - reach, values + reach, alpha=0.25, linewidth=0,
                        color=line.get_color())


def _draw_bars(ax, axis, values, reach, turn, label):
    """Draw bars, beside those of other outputs, with their errors."""
    place, count = turn
    width = 0.8 / count
    if axis.n_named < len(axis.categories):
        # A bucket is of several categories, and its bar would say nothing of any.
        values = values[:axis.n_named]
        reach = None if reach is None else reach[:axis.n_named]
    shifts = np.arange(len(values)) + (place - 0.5 * (count - 1)) * width
    ax.bar(shifts, values, width, yerr=reach, alpha=0.6, label=label,
           error_kw={"elinewidth": 1.0})
    _label(ax.xaxis, axis)


def _label(which, axis):
    """Write the names of categories at their places."""
    if axis.categories is None:
        return
    names = [str(each) for each in axis.categories[:axis.n_named]]
    if axis.n_named == len(axis.categories):
        names.append("(other)")
    which.set_ticks(range(len(names)), names)
    if which.axis_name == "x" and sum(map(len, names)) > _MOST_LETTERS:
        which.set_tick_params(rotation=90)


def _cell_edges(axis):
    """Return where the cells of a pair start and end: midway between knots, about categories."""
    if axis.categories is not None:
        return np.arange(len(axis.categories) + 2) - 0.5
    knots = axis.knots
    middles = 0.5 * (knots[1:] + knots[:-1])
    if axis.scale is not None:
        places = axis.scale(knots)
        middles = axis.scale.inverse(0.5 * (places[1:] + places[:-1]))
    if len(knots) == 1:
        return knots[0] + np.array([-0.5, 0.5])
    return np.concatenate([knots[:1], middles, knots[-1:]])
