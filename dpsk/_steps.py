"""Fits of several steps under one budget: releases and fits of models, each at its share."""

import math

import numpy as np
import sklearn

from dpsk._fit import opened_stream
from dpsk._privacy import accountant
from dpsk._privacy.certificate import Certificate, library_versions
from dpsk._privacy.closed_forms import gaussian_delta, gaussian_mu
from dpsk._privacy.events import Composed, Gaussian
from dpsk._version import __version__

__all__ = ["Steps"]

#: Shares of mu^2 are taken of a little less: an epsilon that is solved for is rounded up.
_MARGIN = 1.0 - 1e-9


class Steps:
    """The steps of one fit, each mu-GDP with a mu that is fixed before the first.

    Which release or model a step is may depend on the steps before it, and its price may not: so
    squares of mu add up as if all were known beforehand (Dong, Roth, Su 2022, Corollary 2). What
    is shown by chance beside that adds to delta.

    Parameters
    ----------
    method : Method
    budget : Budget
    chance : float
        The additive delta of all steps together.
    random_state, verbose
        As for `fit_private`.
    """

    def __init__(self, method, budget, chance, *, random_state, verbose):
        self._method, self._budget = method, budget
        self._options = {"random_state": random_state, "verbose": verbose}
        left = accountant.left_beside(budget.delta, chance) if chance else budget.delta
        self._mu = gaussian_mu(budget.epsilon, left) * _MARGIN
        self._left, self._events, self._enforced, self._noise = 1.0, [], [], []

    def mu(self, share):
        """Return the mu that a share of mu^2 allows; infinite without a budget."""
        return math.sqrt(share) * self._mu

    def budget(self, share):
        """Return the (epsilon, delta) of a model at a share of mu^2."""
        if not self._budget.is_private:
            return math.inf, self._budget.delta
        mu, delta = self.mu(share), self._budget.delta
        epsilon = accountant.epsilon(Gaussian(mu), delta)
        # Where delta alone would allow that much, or nearly, it says little of the mu.
        return (epsilon, delta) if epsilon >= mu else (mu, gaussian_delta(mu, mu))

    def release(self, name, share, event, rows, run):
        """Return what ``run(releases)`` makes of rows by the releases of an event.

        Parameters
        ----------
        name : str
        share : float
            Of mu^2, which the event costs at most.
        event : Event
        rows : RowSource
            Sensitive, for the digest that keys noise that repeats.
        run : callable, Releases -> object
        """
        self._take(share, event)
        releases, stream = opened_stream(self._method, (self._budget, name), rows, event,
                                         **self._options)
        self._noise.append((stream.description, stream.reproducible, 0.0))
        with np.errstate(all="ignore"):
            return run(releases)

    def fit(self, share, make, *args):
        """Return the model ``make(epsilon=, delta=, random_state=, verbose=)``, fitted at a share.
        """
        epsilon, delta = self.budget(share)
        model = make(epsilon=epsilon, delta=delta, **self._options).fit(*args)
        certificate = model.privacy_
        self._take(share, certificate.event)
        self._enforced.extend(certificate.enforced)
        self._noise.append((certificate.noise_source, certificate.reproducible,
                            certificate.noise_multiplier))
        return model

    def certificate(self, solver, *, enforced, public, released):
        """Return the certificate of all steps; the noise multiplier is that of the last."""
        sources, reproducible, multipliers = zip(*self._noise, strict=True)
        return Certificate(
            epsilon=self._budget.epsilon, delta=self._budget.delta,
            event=Composed(tuple(self._events)), noise_multiplier=multipliers[-1],
            estimator=self._method.name, solver=solver,
            enforced=(*enforced, *self._enforced), public=tuple(public),
            released=tuple(released), noise_source=sources[-1], reproducible=any(reproducible),
            arithmetic="grid",
            versions=library_versions(dpsk=__version__, sklearn=sklearn.__version__)).verify()

    def _take(self, share, event):
        """Record a step; a RuntimeError if it costs more than its share, or none is left."""
        spent = accountant.merge(event)
        self._left -= share
        sound = spent.rest.is_gaussian and spent.rest.mu <= self.mu(share) / _MARGIN
        if self._budget.is_private and not (sound and self._left > -1e-12):
            raise RuntimeError(f"The step {event!r} costs more than the share {share:.6g} of the "
                               "budget, or more than is left.")
        self._events.append(event)
