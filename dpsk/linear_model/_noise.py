r"""The privacy noise of coefficients, by a parametric bootstrap on synthetic data.

A fit that maps rows releases their second moment. Normal rows with that moment, and targets that
the fitted model predicts for them, form a synthetic table. Private fits to it with fresh noise
vary as private fits to the real table do, since bounds, maps, clips, steps and temperatures pass
noise on in the same way. All fits have the same rows, so the bootstrap shows the noise alone.

Where all noise is Gaussian, a smaller table at a larger budget has the same signal ``n mu`` and
replaces a large one.

References
----------
Efron, Tibshirani (1993), "An introduction to the bootstrap", chapter 6; Ferrando, Wang, Sheldon
(2022), "Parametric bootstrap for differentially private confidence intervals"; Gourieroux,
Monfort, Renault (1993), "Indirect inference".
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from dpsk._charging import Carried, Prepaid
from dpsk._data.errors import without_warnings
from dpsk._objective.losses import CappedPoisson, Multinomial
from dpsk._origin import is_of
from dpsk._privacy.closed_forms import gaussian_epsilon, gaussian_mu
from dpsk._privacy.noise.public import PublicDraws
from dpsk._progress import without_callbacks
from dpsk.linear_model._synthetic import (
    MOST_HIDDEN,
    center_of,
    partial_categories,
    shown_moment,
    synthetic_rows,
    synthetic_targets,
    units_of,
    whole_categories,
    with_rests,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["NoiseFacts", "centered_over_classes", "noise_by_replays", "replays",
           "sized_replays", "stand_in", "why_replays_differ", "why_unknown"]

#: Least number of rows of a table that replaces a larger one, in all and for each column.
_FEWEST_ROWS, _ROWS_A_COLUMN = 5000, 50
#: Fits per tried size of predictions, the largest size, and the accepted distance from a size.
_PILOTS, _MOST_SIZE, _NEAR = 6, 2.0, 0.1
#: Candidate fractions of rows in which a column is nonzero; how many standard deviations the
#: curvature of scores must be below that of normal rows to use them; and the number of tables,
#: of two fits each, that estimate the curvature.
_SHARES, _FALL, _TABLES = (0.5, 0.25, 0.12, 0.06), 2.0, 8
#: Least fraction of the model's coefficients that fits to its synthetic data must recover.
_LEAST_FOUND = 0.5


class NoiseFacts(NamedTuple):
    """Public facts of a fit that are needed, with its attributes, to repeat it.

    Attributes
    ----------
    n_units : int
        The public number of rows, or of groups.
    solver : str
        Name of the solver used, with "auto" resolved.
    epsilon, delta : float
    is_gaussian : bool
        Whether all noise of the solver is Gaussian.
    is_weighted : bool
        Whether rows had weights other than class weights.
    is_grouped : bool
        Whether groups of rows are protected.
    square_std, mean_std : float or None
        Standard deviations of the noise on a mean square and on a mean of rows, which are
        divided by their bound.
    """

    n_units: int
    solver: str
    epsilon: float
    delta: float
    is_gaussian: bool
    is_weighted: bool
    is_grouped: bool
    square_std: float | None
    mean_std: float | None

    @classmethod
    def of(cls, problem: Any, name: str, solver: Any, stage: Any, is_weighted: bool) -> Any:
        """Return the facts of a fit by the solver `name`, after a row stage or None."""
        stds = getattr(stage, "noise_stds", None) or (None, None)
        return cls(problem.n_samples, name, problem.epsilon, problem.delta, solver.is_gaussian,
                   is_weighted, problem.grouped, *stds)


def why_unknown(model: Any) -> str | None:
    """Return why the noise of a fitted model's coefficients is not known, or None."""
    facts = model._noise_facts
    if facts.epsilon == np.inf:
        return "epsilon=inf: there is no noise."
    if model.preconditioner_scales_ is None:
        return ("the fit released no second moment of rows; use solver='gd', 'newton' or 'sgd' "
                "with precondition=True.")
    if not is_classifier(model) and isinstance(model._scalar_loss(), CappedPoisson):
        return "the spread of counts about their predictions was not released."
    if model._row_map is not None:
        return f"precondition={model.precondition!r} predicts by rows of one length."
    if facts.is_weighted:
        return "the fit had sample_weight, whose law was not released."
    if hasattr(model, "group_weights_"):
        return "which rows are in which group was not released."
    if facts.is_grouped:
        # The clip of a group cuts the average of many rows far less than one row.
        return "with groups=, how many rows each person has was not released."
    if model.penalty in ("l1", "elasticnet"):
        return f"penalty={model.penalty!r} hides how far from 0 a coefficient would be without it."
    if not is_of(type(model), "dpsk"):
        return (f"{type(model).__name__} has code of its own, which might read other rows; use "
                "the class that it was made from.")
    return None


def centered_over_classes(model: Any, coef: FloatArray,
                          intercept: Any) -> tuple[FloatArray, Any]:
    """Return coefficients and intercepts, centered over classes if multinomial.

    A common shift of all classes changes no probability, but noise moves it.
    """
    n_classes = len(getattr(model, "classes_", ()))
    if n_classes < 3 or not isinstance(model._several_loss(n_classes), Multinomial):
        return coef, intercept
    return coef - coef.mean(axis=0), intercept - intercept.mean()


def noise_by_replays(model: Any, n_draws: int) -> tuple[FloatArray, FloatArray] | str:
    """Return noise deviations of `coef_` and `intercept_`, by fits to synthetic data.

    Coefficients of multinomial models are centered over classes. If such fits would not recover
    the model's coefficients, the reason is returned instead, as a string.

    A coefficient is NaN if noise hides part of it, since it then follows the noise of the row map.
    No row of data is read, so nothing is charged.
    """
    facts, draws = model._noise_facts, PublicDraws(None)
    n_rows, epsilon = stand_in(facts, model.n_features_in_)
    whole = whole_categories(model)
    moment, hidden = shown_moment(model, whole)
    means = moment[:-1, -1] * units_of(model) + center_of(model)
    categories = [(group, means[group] / means[group].sum()) for group in whole]
    partial = partial_categories(model, whole)
    moment, are_unsure = with_rests(model, moment, partial)
    categories += partial
    # Clipping affects few rows in regression, so unsure lengths matter for classifiers only.
    unclear = (hidden > MOST_HIDDEN) | (are_unsure & is_classifier(model))
    # The intercept compensates for predictions along hidden directions.
    if unclear[:model.n_features_in_].all():
        return "noise hides which combinations of features vary; more rows or epsilon would help."

    def fits(share, count):
        X = synthetic_rows(model, moment, categories, n_rows, PublicDraws(None), share)
        return X, list(replays(model, X, epsilon, count, draws))

    share = _share_of_rows(model, fits)
    if share is None:
        return "a few rows have most of the scores, by which law was not released."
    X, found = fits(share, n_draws)
    differ = why_replays_differ(model, X, [replay.coef_ for replay in found])
    if differ is not None:
        return differ
    found = [centered_over_classes(model, replay.coef_, replay.intercept_) for replay in found]
    coefs, intercepts = (np.std(np.array(values, np.float64), axis=0, ddof=1)
                         for values in zip(*found, strict=True))
    coefs[..., unclear[:model.n_features_in_]] = np.nan
    return coefs, intercepts * np.nan if model.fit_intercept and unclear[-1] else intercepts


def _share_of_rows(model, fits):
    """Return the fraction of nonzero entries that explains the score curvature.

    ``fits(share, count)`` returns a synthetic table with that fraction, and `count` replays on it.
    The mean curvature of replays must equal that of the model after a James-Stein correction for
    noise. Returns None if no fraction explains the curvature.
    """
    own, before, wanted = getattr(model, "score_curvature_", None), None, None
    for share in (1.0, *_SHARES) if own is not None else ():
        told = np.array([[fit.score_curvature_ for fit in fits(share, 2)[1]]
                         for _ in range(_TABLES)], np.float64)
        if not np.isfinite(told).all():
            break
        after = told.mean()
        if before is None:
            # Fits to one table differ by noise only, tables also by their labels.
            variance = 0.5 * np.square(told[:, 0] - told[:, 1]).mean()
            variance += told.mean(axis=1).var(ddof=1) / _TABLES
            fall = after - own
            if not fall > _FALL * math.sqrt(variance):
                break
            wanted = after - fall + variance / fall
        elif after <= wanted:
            part = (before[1] - wanted) / (before[1] - after)
            return float(before[0] * (share / before[0])**part)
        before = share, after
    return 1.0 if wanted is None else None


def replays(model: Any, X: FloatArray, epsilon: float, n_draws: int,
            draws: PublicDraws) -> Iterator[Any]:
    """Yield fits of a clone of a model to synthetic rows, each with fresh noise.

    Targets follow the model's predictions. No row of data is read, so nothing is charged.
    """
    y = without_warnings(synthetic_targets, model, X, draws, 1.0)
    return _fits(model, X, y, epsilon, n_draws)


def sized_replays(model: Any, X: FloatArray, epsilon: float, n_draws: int,
                  draws: PublicDraws) -> tuple[float, list[Any]]:
    """Return the scale of predictions that replays need, and the replays at it.

    Noise increases the variance of predictions, and shrinkage decreases it. With targets from
    predictions times this scale, about their mean, fits have the variance of the model's
    predictions on average (indirect inference). The scale is 0 if fits to targets without signal
    reach that variance.
    """
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    own, tried = _energy(model.coef_, covariance), {}

    def try_size(size):
        y = without_warnings(synthetic_targets, model, X, draws, size)
        fits = list(_fits(model, X, y, epsilon, _PILOTS))
        tried[size] = [_energy(fit.coef_, covariance) for fit in fits], y, fits

    try_size(0.0)
    size = 0.0
    if own > max(tried[0.0][0]):
        try_size(1.0)
        size = _size_of(own, tried)
        if min(abs(at - size) for at in tried) > _NEAR:
            # With shrinkage energies are not quadratic in sizes, so the estimate is refined once.
            try_size(size)
            size = _size_of(own, tried)
    near = min(tried, key=lambda at: abs(at - size))
    if abs(near - size) <= _NEAR:
        _, y, fits = tried[near]
        return near, [*fits, *_fits(model, X, y, epsilon, n_draws - _PILOTS)]
    y = without_warnings(synthetic_targets, model, X, draws, size)
    return size, list(_fits(model, X, y, epsilon, n_draws))


def _size_of(own, tried):
    """Return the size with energy `own`, interpolated between the tried sizes.

    Energies are nearly linear in squared sizes. Beyond the largest size the line through size 0
    and the largest one is extrapolated.
    """
    sizes = sorted(tried)
    means = np.maximum.accumulate([np.mean(tried[size][0]) for size in sizes])
    place = int(np.clip(np.searchsorted(means, own), 1, len(sizes) - 1))
    ends = [place - 1 if own <= means[place] else 0, place]
    (low, high), (less, more) = np.square(sizes)[ends], means[ends]
    if not more > less:
        return _MOST_SIZE
    return min(math.sqrt(max(low + (own - less) / (more - less) * (high - low), 0.0)), _MOST_SIZE)


def _fits(model, X, y, epsilon, n_draws):
    """Yield fits of clones of a model to synthetic rows and targets."""
    for _ in range(n_draws):
        replay = without_callbacks(clone(model)).set_params(
            solver=model._noise_facts.solver, epsilon=epsilon, delta=model._noise_facts.delta,
            random_state=None, verbose=0)
        replay._of_shares, replay._log_odds = model._of_shares, model._log_odds
        with _paid_beforehand(replay):
            without_warnings(replay.fit, X, y)
        yield replay


def why_replays_differ(model: Any, X: FloatArray, coefs: list[Any],
                        size: float | None = None) -> str | None:
    """Return why replays do not recover the model's coefficients, or None.

    Coefficients are compared by their predictions on synthetic rows, about the mean. If the
    predictions were scaled to a `size`, noise may explain most or all of them.
    """
    if size == 0.0:
        return None
    fits = np.array([_centered(coef) for coef in coefs])
    wanted, covariance = _centered(model.coef_), np.atleast_2d(np.cov(X, rowvar=False))
    mean = fits.mean(axis=0)
    energy = _energy(wanted, covariance)
    noise = sum(_energy(each, covariance) for each in fits - mean) / (len(fits) - 1)
    least = _LEAST_FOUND
    if size is not None:
        # Shrinkage removes the part of the predictions that noise explains.
        least *= size * max(1.0 - noise / energy, 0.0)
    elif not noise < energy:
        return "noise explains all that the coefficients predict; more rows or epsilon would help."
    if not least <= float((mean @ covariance * wanted).sum()) / energy <= 1.0 / _LEAST_FOUND:
        return ("a penalty, few steps or a clip hold coefficients back, by how much was not "
                "released.")
    return None


def _centered(coef):
    """Return coefficients of shape (n_outputs, n_features), centered over classes."""
    coef = np.atleast_2d(coef).astype(np.float64)
    return coef - coef.mean(axis=0) if len(coef) > 1 else coef


def _energy(coef, covariance):
    """Return the variance of the predictions of coefficients, summed over outputs."""
    coef = _centered(coef)
    return float((coef @ covariance * coef).sum())


def stand_in(facts: NoiseFacts, n_features: int,
             fewest: int = _FEWEST_ROWS) -> tuple[int, float]:
    """Return the number of rows of a synthetic table, and epsilon for fits to it."""
    fewer = max(fewest, _ROWS_A_COLUMN * (n_features + 1))
    if not facts.is_gaussian or fewer >= facts.n_units:
        return facts.n_units, facts.epsilon
    mu = gaussian_mu(facts.epsilon, facts.delta) * facts.n_units / fewer
    return fewer, gaussian_epsilon(mu, facts.delta)


@contextmanager
def _paid_beforehand(replay: Any) -> Iterator[None]:
    """Exempt one fit of this object from all open budgets; charge other fits as usual.

    The exemption belongs to the object, not to the thread. A fit started meanwhile by a signal
    handler, a finalizer or a parameter with its own code is charged.
    """
    prepaid = Prepaid("the noise of a model", frozenset(), is_free=True)
    replay._carried = Carried(prepaid=prepaid)
    try:
        yield
    finally:
        prepaid.close()
