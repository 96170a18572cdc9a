"""Synthetic data with the second moment and predictions that a fit released."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space
from scipy.special import expit, ndtri, softmax
from sklearn.base import is_classifier

from dpsk._data.weights import class_factors
from dpsk._defaults.budgets import TARGET_REACH, USUAL_RESIDUAL

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["MOST_HIDDEN", "center_of", "feature_moment", "partial_categories", "shown_moment",
           "synthetic_rows", "synthetic_targets", "units_of", "whole_categories", "with_rests"]

#: Largest share of a coefficient in hidden directions for which its noise is known.
MOST_HIDDEN = 0.02
#: A moment is significant if it exceeds 0 by this many standard deviations of noise.
_SURE = 3.0
#: Mean of standard normal noise with negative values set to 0: the normal density at 0.
_MEAN_NOISE = 0.4
#: Least variance relative to the largest one, as maps are stored with few bits.
_LEAST_VARIANCE = 1e-12
#: Least standard deviation of residuals, relative to that of targets.
_LEAST_RESIDUAL = 0.2
#: Columns are taken as indicators of one category by three thresholds: the relative distance
#: between their rows of the projector on hidden directions, the hidden share of their direction,
#: and the error of their moments in deviations of noise.
_ALIKE, _WITHIN, _OFF = 0.5, 0.8, 4.0
#: Least odds that columns are all levels of a category, not all but one, for uniform shares.
_LEAST_ODDS = 6.0
#: Lost share of a direction's mean square above which the loss is not noise alone.
_LOST = 0.5
#: Least mean square along a direction of clipped rows, in deviations of its noise.
_CLEAR = 8.0
#: Golden ratio less 1; its multiples modulo 1 are spread evenly over [0, 1).
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: Least mean square of the rows' constants, which are scaled down with long rows.
_LEAST_CONSTANT = 0.05


def released_moment(model: Any) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvectors of the released second moment, and its eigenvalues.

    Rows are divided by their bound, with the constant last. Eigenvalues include noise, so some may
    be negative.
    """
    usual, floor = model.preconditioner_scales_
    matrix = model.preconditioner_.astype(np.float64)
    matrix[:model.n_features_in_] *= units_of(model)[:, None]
    sizes, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return vectors, (usual * np.maximum(sizes, np.finfo(float).tiny)) ** -2.0 - floor


def center_of(model: Any) -> FloatArray:
    """Return the released center of a model's rows; 0 where they were not centered."""
    if model.center_ is None:
        return np.zeros(model.n_features_in_)
    return np.asarray(model.center_, np.float64)


def units_of(model: Any) -> FloatArray:
    """Return what features are divided by in the released moment: bound on rows, and scales."""
    scales = np.ones(model.n_features_in_) if model.feature_scales_ is None else (
        model.feature_scales_)
    return scales * float(model.data_norm_)


def feature_moment(model: Any) -> FloatArray:
    """Return the released second moment of features and the constant, with its noise."""
    vectors, squares = released_moment(model)
    units = np.append(units_of(model), 1.0)
    found = units[:, None] * ((vectors * squares) @ vectors.T) * units
    if model.center_ is None:
        return found
    # The moment is that of rows less the center, each with its constant.
    back = np.eye(len(found))
    back[:-1, -1] = center_of(model)
    return back @ found @ back.T


def whole_categories(model: Any) -> list[Any]:
    """Return the column positions of each category whose levels all have indicators.

    They are inferred from the released moment: each row has one level, so the sum of indicators
    equals the constant. If one level is left out, its share is missing from the sum of means.
    Where noise hides that share, Bayes' rule decides.
    """
    vectors, squares = released_moment(model)
    p, units, facts = len(vectors) - 1, units_of(model), model._noise_facts
    hidden = vectors[:, _hidden(squares, _deviations(model, vectors))]
    moment, shadow = feature_moment(model), hidden @ hidden.T
    means, products = moment[:p, -1], moment[:p, :p]
    found, left = [], np.flatnonzero(np.full(p, model.fit_intercept))
    while left.size:
        off = np.linalg.norm(shadow[left] - shadow[left[0]], axis=1)
        alike = off <= _ALIKE * np.linalg.norm(shadow[left[0]])
        alike[0] = True
        group, left = left[alike], left[~alike]
        direction = _direction(model, group)
        missing = moment[-1, -1] - means[group].sum()
        noise = facts.mean_std * float(np.linalg.norm(units[group]))
        odds = math.exp(-0.5 * (missing / noise)**2) / (
            math.sqrt(2.0 * math.pi) * noise * len(group))
        off = np.abs(products[np.ix_(group, group)] - np.diag(means[group]))
        if (len(group) > 1 and (off <= _offs(model, units[group])).all()
                and odds >= _LEAST_ODDS and direction @ shadow @ direction >= _WITHIN):
            found.append(group)
    return found


def partial_categories(model: Any, whole: list[Any]) -> list[tuple[Any, Any]]:
    """Return the positions of other indicator columns, and the share of rows of each.

    A row has at most one indicator of a category. Examples are dummies for all levels but one, or
    a single flag. Mean squares of indicators are their means, and their products are 0. Scaled
    indicators have correlations ``-r_i r_j``, with ``r_i^2 = s_i / (1 - s_i)`` for shares s_i.
    Columns are left out where noise could hide that they are not indicators.
    """
    p, units, facts = model.n_features_in_, units_of(model), model._noise_facts
    if not model.fit_intercept:
        return []
    moment = feature_moment(model)
    means, products = moment[:p, -1], moment[:p, :p]
    offs, variances = _offs(model, units), np.diag(products) - means**2
    off = np.diag(offs)
    free = np.ones(p, bool)
    free[[place for group in whole for place in group]] = False
    are_flags = free & (np.abs(np.diag(products) - means) <= off) & (
        means >= _SURE * facts.mean_std * units) & (means * (1.0 - means) > off)
    found = [(group, means[group]) for group in _grouped(
        np.flatnonzero(are_flags), means, np.abs(products) <= offs)
        if means[group].sum() <= 1.0 + off[group].max()]
    free &= ~are_flags & (variances > off)
    deviations = np.sqrt(np.outer(variances, variances), where=np.outer(free, free),
                         out=np.ones((p, p)))
    correlations = (products - np.outer(means, means)) / deviations
    least = offs / deviations
    for group in _grouped(np.flatnonzero(free), variances, correlations < -least):
        shares = _shares_by_correlations(correlations[np.ix_(group, group)],
                                         least[np.ix_(group, group)])
        if shares is not None:
            found.append((group, shares))
    return found


def _offs(model, units):
    """Return how far noise may move products of features in these units."""
    facts = model._noise_facts
    squares = facts.square_std * np.outer(units, units)
    return _OFF * np.hypot(facts.mean_std * np.sqrt(np.outer(units, units)), squares)


def with_rests(model: Any, moment: FloatArray, categories: list[Any]) -> tuple[FloatArray, Any]:
    """Return a moment corrected for rows without an indicator, and unsure parameters.

    Only these rows vary along one direction, which noise may hide even if it hides no share of the
    indicators. A parameter is unsure if more than a little of it lies in a direction whose mean
    square is too noisy: such rows are long in it, and the noise of the fit depends on where they
    are clipped. `categories` are positions and shares.
    """
    p, found = len(moment) - 1, moment
    are_unsure = np.zeros(p + 1, bool)
    for group, shares in categories:
        means = moment[group, -1]
        stds = np.sqrt(np.maximum(np.diag(moment)[group] - means**2, _LEAST_VARIANCE))
        # One minus the indicators, which are linear functions of the columns.
        sizes, rest = np.sqrt(shares * (1.0 - shares)) / stds, 1.0 - shares.sum()
        direction = np.zeros(p + 1)
        direction[group], direction[-1] = -sizes, rest + sizes @ means
        size = np.linalg.norm(direction)
        direction /= size
        lost = rest / size**2 - direction @ moment @ direction
        if lost > _LOST * rest / size**2:
            found = found + lost * np.outer(direction, direction)
        elif len(group) > 1 and direction @ moment @ direction < _CLEAR * _deviations(
                model, direction[:, None])[0]:
            are_unsure |= direction**2 > MOST_HIDDEN
    return found, are_unsure


def _grouped(places, sizes, are_together):
    """Return groups of positions that are pairwise together; larger sizes go first."""
    groups: list[list[int]] = []
    for place in places[np.argsort(-sizes[places], kind="stable")].tolist():
        for group in groups:
            if are_together[place, group].all():
                group.append(place)
                break
        else:
            groups.append([place])
    return [np.array(group) for group in groups]


def _shares_by_correlations(correlations, off):
    """Return the shares of indicators with these correlations, or None if none fit.

    ``log(r_i) + log(r_j)`` is the logarithm of a negated correlation; the ratios r_i are fitted by
    least squares over all pairs.
    """
    size = len(correlations)
    if size < 3:
        return None
    logs = np.log(np.maximum(-correlations, np.finfo(float).tiny))
    np.fill_diagonal(logs, 0.0)
    sums = logs.sum(axis=1)
    ratios = np.exp((sums - sums.sum() / (2.0 * (size - 1))) / (size - 2))
    misfit = np.abs(correlations + np.outer(ratios, ratios)) > off
    np.fill_diagonal(misfit, False)
    shares = ratios**2 / (1.0 + ratios**2)
    return None if misfit.any() or shares.sum() > 1.0 else shares


def _direction(model, group):
    """Return the direction of zero variance of all indicators of a category."""
    direction = np.zeros(model.n_features_in_ + 1)
    direction[group], direction[-1] = units_of(model)[group], center_of(model)[group].sum() - 1.0
    return direction / np.linalg.norm(direction)


def _hidden(squares, deviations):
    """Return which directions of a moment may be pure noise."""
    return ~(squares >= deviations * max(_SURE, math.sqrt(2.0 * len(squares))))


def shown_moment(model: Any, categories: list[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the moment for synthetic rows, and the hidden share of each coefficient.

    A direction is hidden if its moment may be pure noise. The directions of whole categories have
    no variance and hide nothing. The share, with the intercept's last, includes how far noise may
    have turned hidden directions.

    Hidden directions keep their measured moments, at least 0, if they have more than `MOST_HIDDEN`
    of the predictions. Otherwise all get their mean if it is significant, so that rows keep their
    lengths, and else 0, where coefficients vary most.
    """
    vectors, squares = released_moment(model)
    if categories:
        basis = null_space(np.array([_direction(model, group) for group in categories]))
        squares, turns = np.linalg.eigh((basis.T @ vectors * squares) @ (vectors.T @ basis))
        vectors = basis @ turns
    deviations = _deviations(model, vectors)
    hidden = _hidden(squares, deviations)
    share = np.square(vectors[:, hidden]).sum(axis=1)
    if hidden.any():
        # First-order perturbation of eigenvectors; off-diagonal noise has half the variance.
        gaps = squares[~hidden] - np.maximum(squares[hidden], 0.0)[:, None]
        turned = 0.5 * deviations[hidden][:, None] * deviations[~hidden] / gaps**2
        turned = np.square(vectors[:, ~hidden]) @ turned.sum(axis=0)
        share = np.square(np.sqrt(share) + np.sqrt(turned))
        parts = np.square(_in_unit(model) @ vectors).sum(axis=0) * squares
        keeps = parts[hidden].sum() > MOST_HIDDEN * parts.sum()
        np.maximum(squares, 0.0, out=squares, where=hidden & keeps)
    if hidden.any() and not keeps:
        level = np.maximum(squares[hidden], 0.0).mean()
        alone = (_MEAN_NOISE + _SURE / math.sqrt(hidden.sum())) * deviations[hidden].mean()
        squares[hidden] = level if level > alone else 0.0
    return (vectors * squares) @ vectors.T, share


def _in_unit(model):
    """Return coefficients for rows divided by their bound, with the intercept last."""
    coef = np.atleast_2d(model.coef_).astype(np.float64)
    if not model.fit_intercept:
        return coef * units_of(model)
    return np.column_stack([coef * units_of(model),
                            np.ravel(model.intercept_) + coef @ center_of(model)])


def synthetic_rows(model: Any, moment: FloatArray, categories: list[Any], n_rows: int,
                   draws: Any, share: float) -> FloatArray:
    """Return synthetic rows with the feature means and covariance of a moment.

    Rows are normal for ``share=1``. Otherwise they are mixed from independent columns that are
    nonzero in that share of rows. Categories, given by positions and shares, use indicators
    instead; rows beyond the sum of shares have no indicator. The moment is divided by that of the
    constant, which undoes the scaling of long rows with their constants.
    """
    p = model.n_features_in_
    mean = np.zeros(p)
    if model.fit_intercept:
        moment = moment / min(1.0, max(moment[-1, -1], _LEAST_CONSTANT))
        mean = moment[:p, -1]
    covariance = moment[:p, :p] - np.outer(mean, mean)
    # The root is that of correlations, so each column mostly follows one mixed column.
    variances = np.diag(covariance)
    stds = np.sqrt(np.maximum(variances, _LEAST_VARIANCE * max(variances.max(), 0.0)))
    stds[stds == 0.0] = 1.0
    values, directions = np.linalg.eigh(covariance / np.outer(stds, stds))
    roots = np.sqrt(np.maximum(values, _LEAST_VARIANCE * max(values[-1], 0.0)))
    rows = draws.normals((n_rows, p))
    if share < 1.0:
        rows *= (draws.uniforms(n_rows * p).reshape(n_rows, p) < share) / math.sqrt(share)
    for group, shares in categories:
        shares = np.maximum(shares, 0.0)
        rest = max(1.0 - shares.sum(), 0.0)
        shares = shares / (shares.sum() + rest)
        # Categories are in random order, with frequencies equal to the shares.
        even = (np.argsort(draws.uniforms(n_rows)) + 0.5) / n_rows
        places = np.searchsorted(np.cumsum(shares), even)
        spreads = np.sqrt(np.maximum(shares * (1.0 - shares), _LEAST_VARIANCE))
        sizes, turns = np.linalg.eigh(
            (np.diag(shares) - np.outer(shares, shares)) / np.outer(spreads, spreads))
        # Whitens the indicators, except along a direction without variance.
        sizes[sizes <= _LEAST_VARIANCE] = np.inf
        rows[:, group] = (np.eye(len(group) + 1)[places, :-1] - shares) / spreads @ (
            turns / np.sqrt(np.maximum(sizes, _LEAST_VARIANCE))) @ turns.T
    rows = rows @ ((directions * roots) @ directions.T * stds)
    rows = (rows + mean) * units_of(model) + center_of(model)
    return rows.astype(model.coef_.dtype)


def _deviations(model, vectors):
    """Return the standard deviation of a moment's noise along each direction."""
    own, beside = model._noise_facts.square_std, model._noise_facts.mean_std
    features = np.square(vectors[:model.n_features_in_]).sum(axis=0)
    # Only products with features are noisy; the constant's own moment is nearly public.
    return np.sqrt((own * features)**2 + 4.0 * beside**2 * features * (1.0 - features))


def synthetic_targets(model: Any, X: FloatArray, draws: Any, size: float) -> Any:
    """Return targets distributed about a model's predictions, scaled by `size`."""
    if is_classifier(model):
        return _synthetic_labels(model, X, draws, size)
    means = _sized(model.predict(X), size)
    low, high = model.target_bounds_
    spread = USUAL_RESIDUAL * 0.5 * (high - low)
    ends = (-np.inf, np.inf) if model._learns_bounds else model._bounds()
    if ends != (low, high):
        # Learned bounds show the spread of targets, on a side without a declared bound.
        center = means.mean()
        whole = max(high - center, center - low) / -ndtri(TARGET_REACH)
        spread = math.sqrt(max(whole**2 - means.var(), (_LEAST_RESIDUAL * whole)**2))
    # Predictions of a quantile have that share of targets below them.
    residuals = draws.normals(len(X)) - ndtri(getattr(model, "quantile", 0.5))
    return np.clip(means + spread * residuals, ends[0], ends[1])


def _even_choices(shares, start):
    """Return a class for each row from its probabilities, by stratified draws.

    Among rows with similar probabilities, class frequencies match the probabilities, as they
    nearly do in the data of a fitted model. Independent draws would add their own variance.
    """
    order = np.lexsort(shares.T)
    uniforms = np.empty(len(shares))
    uniforms[order] = (start + _GOLDEN * np.arange(len(shares))) % 1.0
    ends = np.cumsum(shares, axis=1)
    return (uniforms[:, None] >= ends[:, :-1] / ends[:, -1:]).sum(axis=1)


def _sized(predictions, size):
    """Return predictions scaled by `size` about their mean over rows."""
    mean = predictions.mean(axis=0)
    return mean + size * (predictions - mean)


def _kept_lengths(model, X):
    """Return the factors by which training scales down rows, and so their scores."""
    norms = np.linalg.norm((X - center_of(model)) / units_of(model), axis=1)
    return 1.0 / np.maximum(norms, 1.0)


def _synthetic_labels(model, X, draws, size):
    """Return labels with the model's probabilities; every class occurs."""
    scores = _sized((model.decision_function(X).T * _kept_lengths(model, X)).T, size)
    shares = softmax(scores, axis=1) if scores.ndim > 1 else np.column_stack(
        [expit(-scores), expit(scores)])
    # Class weights are divided out of the probabilities that a weighted loss fits.
    shares = shares / (1.0 / model.class_shares_ if model._is_balanced() else
                       class_factors(model.class_weight or {}, model.classes_))
    codes = _even_choices(shares, float(draws.uniforms(1)[0]))
    codes[:len(model.classes_)] = np.arange(len(model.classes_))
    return model.classes_[codes]
