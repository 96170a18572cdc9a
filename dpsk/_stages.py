"""Releases that come before and after the solver's own, and what they change."""

from dataclasses import dataclass, replace

import numpy as np

from dpsk._models import LinearModel, Preconditioner
from dpsk._oracle import CountOracle, MeanOracle, MomentOracle, thresholded, whitening
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Composed, Gaussian
from dpsk._solvers.centring import center_norm, centring_pays, mean_budget, shrunk
from dpsk._solvers.counting import count_budget, shares
from dpsk._solvers.tempering import (
    best_factor,
    pays,
    slope_clip,
    tempering_multiplier,
    tempering_plan,
    tempers,
)
from dpsk._solvers.whitening import moment_budget, whitening_floor

__all__ = ["Centring", "Counting", "Framed", "Tempering", "Whitening"]


@dataclass(frozen=True)
class Framed:
    """The declaration of `first` events, then of the solver's plan, then of `last` events."""

    first: tuple
    plan: object
    last: tuple

    def __call__(self, noise_multiplier):
        return Composed((*self.first, self.plan(noise_multiplier), *self.last))


class Whitening:
    """Release a noisy second moment and map the rows by its inverse root.

    Parameters
    ----------
    model : LinearModel
        Of the rows as they are.

    Attributes
    ----------
    matrix : ndarray of float64, shape (p, p)
        The preconditioner, once released.
    """

    def __init__(self, model):
        self._model = model
        self.matrix = None

    def event(self, problem):
        """Return what the release costs."""
        return Gaussian(moment_budget(problem))

    def release(self, problem, rows, stream, ledger):
        """Return the problem with what is known of whitened rows, and the whitened rows."""
        moments = MomentOracle(self._model, rows.X, self.event(problem).mu, stream, ledger)
        noisy = moments.second_moment()
        moment, entries = thresholded(noisy, moments.noise_std, self._model.fit_intercept)
        floor = whitening_floor(moments.noise_std, entries, problem.loss, self._model.data_norm)
        matrix, directions = whitening(moment, floor)
        left = float(np.linalg.eigvalsh(matrix @ noisy @ matrix)[-1])
        keeps_length = problem.loss.keeps_length
        # The usual row that keeps its length then has about norm 1.
        self.matrix = matrix / np.sqrt(directions) if keeps_length else matrix
        mapped = Preconditioner(self._model, self.matrix, keeps_length).transform(rows.X)
        problem = replace(problem, directions=directions, unevenness=max(1.0, left))
        return problem, replace(rows, X=mapped, owned=True)


class Centring:
    """Release a noisy mean of rows and subtract it from them, for a network.

    Parameters
    ----------
    n_features : int
    data_norm : float or None
        The bound on rows; None: as if features had size 1, for the mean only.

    Attributes
    ----------
    center : ndarray of float32, shape (n_features,)
        Once released.
    """

    def __init__(self, n_features, data_norm):
        self._rows = LinearModel(n_features, None, False, center_norm(n_features, data_norm))
        self.center = None

    @classmethod
    def wanted(cls, precondition, problem, data_norm):
        """Return a list of one such stage, or of none.

        Parameters
        ----------
        precondition : bool or "auto"
        problem : Problem
        data_norm : float or None
        """
        pays = centring_pays(problem) if precondition == "auto" else precondition
        return [cls(problem.model.n_features, data_norm)] if pays else []

    def event(self, problem):
        """Return what the release costs."""
        return Gaussian(mean_budget(problem))

    def stated(self):
        """Return what the certificate states of the mean, an Enforced."""
        return Enforced("center_norm", self._rows.data_norm, "derived", "l2 norm of one row of "
                        "features as it enters the noisy mean; longer rows are scaled down")

    def release(self, problem, rows, stream, ledger):
        """Return the problem of rows that are bounded already, and the centred rows."""
        means = MeanOracle(self._rows, rows.X, self.event(problem).mu, stream, ledger)
        center = shrunk(means.mean(), means.noise_std, self._rows.data_norm)
        self.center = center.astype(np.float32)
        model = problem.model
        rows = replace(rows, X=model.bounded(rows.X) - self.center)
        return replace(problem, model=replace(model, data_norm=None)), rows


class Counting:
    """Release noisy counts of groups of rows, and give the loss their shares.

    Parameters
    ----------
    groups : ndarray of int, shape (n,)
        The group of every row.
    n_groups : int
    make_loss : callable
        From a tuple of shares, one a group, to the loss.

    Attributes
    ----------
    shares : tuple of float
        Once released.
    """

    def __init__(self, groups, n_groups, make_loss):
        self._groups, self._n_groups, self._make_loss = groups, n_groups, make_loss
        self.shares = None

    def event(self, problem):
        """Return what the release costs."""
        return Gaussian(count_budget(problem))

    def release(self, problem, rows, stream, ledger):
        """Return the problem with the loss of the noisy shares, and the rows."""
        oracle = CountOracle(self._groups, self._n_groups, self.event(problem).mu, stream, ledger)
        self.shares = shares(oracle.counts(), problem.n_samples)
        return replace(problem, loss=self._make_loss(self.shares)), rows


class Tempering:
    """Release noisy slopes along the ray through what was fitted, and rescale it.

    Parameters
    ----------
    wanted : bool or None
        None: on whitened rows, where the clip, left at its default, makes scores too large.

    Attributes
    ----------
    temperature : float or None
        What the parameters were divided by, once it was found.
    """

    #: What it adds to what a fit releases.
    attribute = "temperature_"

    def __init__(self, wanted):
        self._wanted = wanted
        self.temperature = None

    def applies(self, problem, given, solver):
        """Return whether scores are rescaled, from public facts.

        Parameters
        ----------
        problem : Problem
        given, solver : Solver
            As the caller set it up, and configured.

        Raises
        ------
        ValueError
            If it is wanted where it cannot be had.
        """
        possible = tempers(problem, solver)
        if self._wanted and not possible:
            raise ValueError(
                "temperature=True: scores are rescaled after solver='gd' or 'sgd' with a "
                "clip_norm below the loss's slope, an l2 penalty or none, and delta > 0; leave "
                "temperature='auto'.")
        by_default = given.clip_norm is None and pays(problem)
        return possible and (by_default if self._wanted is None else self._wanted)

    def event(self, problem):
        """Return what the release costs."""
        return tempering_plan()(tempering_multiplier(problem))

    def stated(self, problem):
        """Return what the certificate states of the slopes, an Enforced."""
        return Enforced("slope_clip", slope_clip(problem), "default",
                        "derivative of one row's loss in the factor of the parameters, over "
                        "their norm times that of the longest row; larger ones are cut")

    def release(self, problem, oracle, theta):
        """Return `theta` times the factor that suits it best."""
        length = float(np.linalg.norm(theta))
        factor = 1.0
        # Elsewhere the products of scores and factors could overflow or vanish.
        if 1e-50 < length * problem.model.radius < 1e50:
            ray = oracle.along(theta, tempering_plan(), slope_clip(problem),
                               tempering_multiplier(problem))
            factor = best_factor(ray, problem.penalty, theta)
        self.temperature = 1.0 / factor
        return factor * theta
