r"""Standard deviations of the coefficients of an additive model, from released numbers.

Steps on whitened rows carry the noise of their answers, of known size, as far as they do not
forget it. How fast a direction forgets is its curvature: that of the released second moment of
features, times the curvature of the loss at the scores that rows of a level have by that moment,
where their gradients are not clipped. Directions count less that hardly stand out of the noise of
the moment, as rows are mapped by the same noise; measured in docs/results/shape_functions.md.
"""

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logsumexp
from sklearn.base import is_classifier

__all__ = ["coefficient_noise"]

#: Where normal scores are evaluated.
_POINTS, _MASSES = hermegauss(31)
#: Shares of rows count as no less, and mean scores of levels as so many deviations off at most.
_LEAST_SHARE, _MOST_DEVIATIONS = 1e-4, 4.0
#: Of a curvature that is predicted, far above the noise: too wide a band misleads less than a
#: narrow one, and the noise of moments and temperature has no other place here.
_SHARE = 0.5
#: Sizes of the map count as no less, beside the largest: it is kept in single precision.
_LEAST_SIZE = 1e-6


def coefficient_noise(model, unit):
    """Return roots of the covariances of coefficients due to the noise of their fit, or None.

    None where the solver says nothing of how it forgets noise, or no second moment was released.

    Parameters
    ----------
    model : LinearEstimator
        Fitted to features that are shares: not negative, and at most 1.
    unit : float
        Bound on the norm of a row.

    Returns
    -------
    roots : list of ndarray of shape (n_features, n_features + 1)
        Of every output; the covariance is a root times its transpose.
    """
    solver, noise_std = model._notes["solver"], model._notes["noise_std"]
    if model.preconditioner_scales_ is None or noise_std is None:
        return None
    matrix = model.preconditioner_.astype(np.float64)
    units = np.append(np.full(len(matrix) - 1, unit), 1.0)[:, None]
    sizes, vectors = np.linalg.eigh(units * matrix)
    sizes = np.maximum(sizes, _LEAST_SIZE * sizes[-1])
    usual, floor = model.preconditioner_scales_
    squares = np.maximum((usual * sizes) ** -2.0 - floor, 0.0)
    length = float(np.sqrt(sizes**2 @ squares))
    squares *= _SHARE * squares / (squares + floor)
    # A root of the second moment of features as they are.
    root = units * vectors * np.sqrt(squares)
    roots = []
    slope_clip = solver.clip_norm / max(length, 1e-300)
    for curvatures in _level_curvatures(model, root @ root.T, slope_clip):
        # Between two levels their geometric mean counts: so no eigenvalue is negative.
        half = (np.sqrt(curvatures)[:, None] * root).T @ matrix
        if not np.isfinite(half).all():
            return None
        eigenvalues, directions = np.linalg.eigh(half.T @ half)
        gain = solver.noise_gain(np.clip(eigenvalues, 0.0, 1.0 / solver.learning_rate))
        if gain is None:
            return None
        roots.append(matrix[:-1] @ directions * (gain * noise_std * _scale(model)))
    return roots


def _scale(model):
    """Return what fitted coefficients are over those that noise was added to."""
    if is_classifier(model):
        return 1.0 / (model.temperature_ or 1.0)
    low, high = model.target_bounds_
    return 0.5 * (high - low)


def _level_curvatures(model, moment, slope_clip):
    """Yield the mean curvature of the loss at rows of every level and of all, for every output.

    `moment` is that of features and the constant, `slope_clip` the clip norm over the length of
    a usual row.
    """
    if not is_classifier(model):
        yield np.ones(len(moment))
        return
    temperature = model.temperature_ or 1.0
    theta = temperature * np.column_stack([model.coef_, model.intercept_]).T
    count = max(float(moment[-1, -1]), _LEAST_SHARE)
    products, shares = moment @ theta / count, moment[:, -1:] / count
    total = products[-1]
    deviations = np.sqrt(np.maximum((theta * products).sum(axis=0) - total**2, 0.0))
    means = products / np.maximum(shares, _LEAST_SHARE)
    means = np.clip(means, total - _MOST_DEVIATIONS * deviations,
                    total + _MOST_DEVIATIONS * deviations)
    for output, deviation in enumerate(deviations):
        others = np.delete(means, output, axis=1)
        margins = means[:, output] - (logsumexp(others, axis=1) if others.size else 0.0)
        scores = margins[:, None] + deviation * _POINTS
        yield _curvature(scores, temperature, slope_clip) @ _MASSES / _MASSES.sum()


def _curvature(scores, temperature, slope_clip):
    """Return the expected curvature of a clipped logistic loss at some scores.

    Labels are as likely as the scores over the temperature say.
    """
    fitted, likely = expit(scores), expit(scores / temperature)
    unclipped = likely * (1.0 - fitted <= slope_clip) + (1.0 - likely) * (fitted <= slope_clip)
    return fitted * (1.0 - fitted) * unclipped
