r"""The noise of shape functions, estimated by fits to synthetic features of a table.

The method is that of linear models (`dpsk.linear_model._noise`), with rows of knot weights and
indicators. Each column is drawn independently, with the level frequencies of the released second
moment. Rows are then mapped to that moment, so that columns have their correlations. Normal rows
with that moment would be shorter at rare levels, and steps clip long rows.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from dpsk._models.monotone import monotone_curves
from dpsk._models.table_code import LinearSplineBasis
from dpsk._privacy.noise.public import PublicDraws
from dpsk.additive._terms import centering
from dpsk.linear_model._noise import sized_replays, stand_in, why_replays_differ, why_unknown
from dpsk.linear_model._synthetic import feature_moment
from dpsk.linear_model._unseen import seen_levels, without_unseen

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["ShapeNoise", "centered_values"]

#: Number of fits that the noise is estimated from.
_DRAWS = 16
#: Least number of rows of a table that replaces a larger one. With fewer rows, targets correlate
#: with features by chance, which reduces the relative size of the noise.
_FEWEST_ROWS = 20_000
#: The share of rows at a level is known above this many standard deviations of its noise.
_KNOWN = 5.0
#: The same for the share of missing cells, and for a difference between moments.
_MISSING, _DIFFERENT = 3.0, 1.2
#: Ratio of the variance in a direction to that of independent columns: its least value, and the
#: limits, in deviations of noise and absolute, below which columns may be collinear.
_LEAST_VARIANCE, _COLLINEAR = 0.001, (2.0, 0.3)
#: The noise on a value is known if at most this share of it is in such directions.
_MOST_HIDDEN = 0.15
#: Variances below this share of the largest count as 0.
_NO_VARIANCE = 1e-6


class ShapeNoise:
    """The noise of a model's shape functions, computed on first use.

    Parameters
    ----------
    model : LinearEstimator
        The fitted linear model of the features.
    code : TableCode
        The map from tables to features, for new rows.
    signs : ndarray of int
        Monotonic constraint of every column.
    """

    def __init__(self, model: Any, code: Any, signs: Any) -> None:
        self._model, self._code, self._signs = model, code, signs

    @property
    def unknown(self) -> str | None:
        """str or None : the reason why the noise is unknown."""
        return self._found if isinstance(self._found, str) else None

    @property
    def n_draws(self) -> int:
        """int : number of fits that deviations are computed from; 0 if they are unknown."""
        return 0 if self.unknown else _DRAWS

    def std(self, where: slice) -> FloatArray | float:
        """Return the standard deviations of centered values at some features, NaN if unknown."""
        return np.nan if isinstance(self._found, str) else self._found[where]

    @cached_property
    def _found(self):
        unknown = _why_unknown(self._model)
        return unknown or _deviations(self._model, self._code, self._signs)


def centered_values(model: Any, code: Any,
                    signs: Any) -> tuple[list[FloatArray], FloatArray]:
    """Return the shares of rows at levels, and the centered values of a model.

    In place, the coefficients of unseen categories are shrunk, and then all are projected to the
    monotonic constraints.
    """
    model.coef_, shares = without_unseen(model, code)
    if signs.any():
        model.coef_ = monotone_curves(np.ravel(model.coef_), code, shares, signs).reshape(
            np.shape(model.coef_))
    coef = np.asarray(model.coef_, np.float64)
    columns = coef.T if coef.ndim == 2 and len(coef) > 1 else coef.reshape(-1)
    return shares, centering(code, shares, columns)


def _why_unknown(model):
    """Return why the noise of a fitted model of features is not known, or None."""
    if model._noise_facts.epsilon < np.inf and model.preconditioner_scales_ is None:
        return "the fit released no second moment of features, as rows are few; raise epsilon."
    return why_unknown(model)


def _deviations(model, code, signs):
    """Return the standard deviations of centered values over fits, or why they are unknown.

    They are NaN at levels where noise hides the number of rows or a possible collinearity.
    """
    draws = PublicDraws(None)
    n_rows, epsilon = stand_in(model._noise_facts, code.width, _FEWEST_ROWS)
    moment, unit = feature_moment(model), float(model.data_norm_)
    square_std = model._noise_facts.square_std * unit**2
    mean_std = model._noise_facts.mean_std * unit
    rows = _drawn_apart(code, moment, (square_std, mean_std), n_rows, draws)
    rows, directions, collinear = _with_moment(rows, moment, square_std)
    X = rows.astype(code.dtype)
    size, fits = sized_replays(model, X, epsilon, _DRAWS, draws)
    values = [centered_values(fit, code, signs)[1] for fit in fits]
    differ = why_replays_differ(model, X, [fit.coef_ for fit in fits], size)
    if differ is not None:
        return differ
    found = np.std(values, axis=0, ddof=1)
    shares = [share for share, _ in seen_levels(model, code)]
    parts = np.square(centering(code, shares, directions))
    hidden = parts[:, collinear].sum(axis=1) > _MOST_HIDDEN * parts.sum(axis=1)
    found[hidden | (moment[-1, :-1] < _KNOWN * mean_std)] = np.nan
    return found


def _drawn_apart(code, moment, stds, n_rows, draws):
    """Return features of synthetic rows with independent columns."""
    columns = []
    for part, where in zip(code.parts, code.slices, strict=False):
        means, products = moment[-1, where], moment[where, where]
        draw = _numbers if isinstance(part, LinearSplineBasis) else _positions
        columns.append(draw(part, means, products, stds, n_rows, draws))
    return code.features(np.column_stack(columns)).astype(np.float64)


def _positions(part, means, products, stds, n_rows, draws):
    """Return positions of categories, -1 for any other."""
    places = _places(np.maximum(means, 0.0), n_rows, draws)
    return np.where(places == part.width - 1, -1.0, places)


def _numbers(part, means, products, stds, n_rows, draws):
    """Return numbers on knots and evenly between them, and some that are missing."""
    square_std, mean_std = stds
    masses = _masses(means, products, square_std, mean_std)
    missing = 1.0 - means.sum()
    known = missing > _MISSING * mean_std * np.sqrt(len(means))
    places = _places(np.append(masses, missing * known), n_rows, draws)
    knots = part.knots if part.scale is None else part.scale(part.knots)
    starts = np.concatenate([knots, knots[:-1], [np.nan]])
    gaps = np.concatenate([0.0 * knots, np.diff(knots), [0.0]])
    numbers = starts[places] + gaps[places] * draws.uniforms(n_rows)
    return numbers if part.scale is None else part.scale.inverse(numbers)


def _masses(means, products, square_std, mean_std):
    """Return the shares of rows on knots and between them that fit the moments of weights best.

    Numbers uniform between two knots have mean weights of 1/2, mean squares of 1/3 and a mean
    product of 1/6.
    """
    n_knots = len(means)
    at, between = np.eye(n_knots), np.zeros((n_knots, n_knots - 1))
    gaps = np.arange(n_knots - 1)
    between[gaps, gaps] = between[gaps + 1, gaps] = 1.0
    rows = np.block([[at / mean_std, 0.5 * between / mean_std],
                     [at / square_std, between / (3.0 * square_std)],
                     [np.zeros((n_knots - 1, n_knots)),
                      np.eye(n_knots - 1) * np.sqrt(2.0) / (6.0 * square_std)]])
    wanted = np.concatenate([means / mean_std, np.diag(products) / square_std,
                             np.diag(products, 1) * np.sqrt(2.0) / square_std])
    return nnls(rows, wanted)[0]


def _places(weights, n_rows, draws):
    """Return places drawn in proportion to weights, evenly where all of them are 0."""
    if not weights.sum() > 0.0:
        weights = np.ones(len(weights))
    return draws.choices(weights[None], np.zeros(n_rows, dtype=np.intp))


def _with_moment(rows, moment, square_std):
    """Return rows mapped to the mean and covariance of a released moment, and directions.

    The covariance is used as far as it stands out of its noise; `square_std` is the noise on its
    diagonal. Directions of coefficients, shape (n_features, n_directions), have equal effects on
    predictions. Return also whether columns may be collinear in each direction.
    """
    mean, wanted = rows.mean(axis=0), moment[-1, :-1]
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False, bias=True).reshape(
        len(mean), len(mean)))
    varied = values > _NO_VARIANCE * values[-1]
    roots, vectors = np.sqrt(values[varied]), vectors[:, varied]
    maps = vectors / roots
    covariance = moment[:-1, :-1] - np.outer(wanted, wanted)
    measured, turns = np.linalg.eigh(maps.T @ covariance @ maps)
    directions = maps @ turns
    noise = _DIFFERENT * square_std * np.square(directions).sum(axis=0)
    hidden = measured < np.minimum(_COLLINEAR[0] * noise, _COLLINEAR[1])
    # Noise spreads ratios, and hardly changes those far from 1; true correlations must be kept.
    change = measured - 1.0
    ratios = 1.0 + np.sign(change) * np.sqrt(np.maximum(change**2 - noise**2, 0.0))
    ratios = _shared_where_small(measured, ratios, noise / _DIFFERENT)
    # Fits are noisiest along directions without variance, so bands hold whatever noise hides.
    ratios[hidden] = 0.0
    stretch = turns * np.sqrt(np.maximum(ratios, _LEAST_VARIANCE))
    mapped = (rows - mean) @ maps @ stretch @ turns.T @ (vectors * roots).T + wanted
    return mapped, directions, hidden


def _shared_where_small(measured, ratios, noise):
    """Return ratios, where those that noise alone may explain share one value.

    Noise alone spreads k ratios up to ``sqrt(2 k)`` deviations about 0 (Wigner's semicircle), and
    moves their mean by ``1 / sqrt(k)`` deviations. The mean is shrunk by Stein's positive part.
    Where that spread includes ratios that are not small, noise hides their difference from 1 as
    well, and they stay.
    """
    for count in range(len(measured), 0, -1):
        edges = np.sqrt(2.0 * count) * noise
        alike = (edges <= _COLLINEAR[1]) & (measured <= edges)
        if alike.sum() >= count:
            mean = (measured / noise)[alike].mean()
            left = max(mean - 1.0 / (alike.sum() * mean), 0.0) if mean > 0.0 else 0.0
            return np.where(alike, left * noise, ratios)
    return ratios
