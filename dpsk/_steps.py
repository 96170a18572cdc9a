r"""Fits of several steps under one budget: each release or model gets a share of mu^2.

Only the last step may have releases that are not Gaussian, such as noisy sums of random samples.
It gets a small delta' of its own and is calibrated to the epsilon that a slightly smaller mu has
at delta'. Before anything is released, its event is compared with a mu-GDP release that reveals
everything with probability delta'. If that release dominates the event, it is the cost of the
step. Otherwise, as for objective perturbation, the step gets a fixed (epsilon', delta'). Its cost
is then that of randomized response at epsilon' that reveals everything with probability delta'.
This dominates every (epsilon', delta')-private release (Kairouz, Oh, Viswanath 2015), and
composes with the earlier steps, whatever they released.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dpsk._charging import Carried, admit, is_alone, paid_for, stating
from dpsk._fit import certify, opened_stream, warn_of_weak_budget
from dpsk._mechanism.core import Priced, Share
from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.certificate import GROUP_RELATION, Certificate
from dpsk._privacy.closed_forms import gaussian_delta
from dpsk._privacy.domination import is_covered
from dpsk._privacy.events import Composed, Disclosure, Gaussian, NotPrivate, Pure
from dpsk._privacy.noise.seeds import noise_seed
from dpsk._rehearsal import rehearse

__all__ = ["LAST_CHANCE", "OTHER_KINDS", "PARTS", "Steps"]

#: Shares are of a slightly smaller mu^2, because solved epsilons are rounded up.
_MARGIN = 1.0 - 1e-9
#: Share of delta for a non-Gaussian last step: dominated by a mu-GDP release, or not.
LAST_CHANCE, _LAST_DELTA = 0.01, 0.4
#: Part of its mu to which a non-Gaussian step is calibrated. A noisy sum of samples is dominated
#: by a mu 0.1 % above the one of its tail, which is found to 0.1 %.
OTHER_KINDS = 0.995
#: Parts of its mu at which such a fit is tried, until it is dominated by that mu.
PARTS = (1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05)
#: Kinds of arithmetic, the least exact first; a certificate names the least exact one in use.
_ARITHMETIC = ("float", "snapped", "grid")


class Steps:
    """The steps of one fit, each mu-GDP with a mu that is fixed before the first step.

    A step may depend on the results of earlier steps, but its privacy cost may not. So squares of
    mu add up as in non-adaptive composition (Dong, Roth, Su 2022, Corollary 2). Probabilities of
    revealing a row add to delta.

    Parameters
    ----------
    method : Method
    budget : Budget
    chance : float
        The additive delta of all steps together.
    random_state, verbose
        As for `fit_private`.
    public : sequence of str
        Facts that open budgets record as public.
    is_seeded : bool
        Whether a model has a NoiseSeed of its own, so that its noise is reproducible.
    """

    def __init__(self, method, budget, chance, *, random_state, verbose, public=(),
                 is_seeded=False):
        warn_of_weak_budget(budget)
        self._method, self._budget = method, budget
        self._facts = {"public": (*public, *method.trusted), "reproducible": (
            is_seeded or noise_seed(random_state) is not None)}
        self._options = {"random_state": random_state, "verbose": verbose}
        # Budgets compute the declared cost again, so it gets a margin as well.
        whole = accountant.mu_beside(budget.epsilon, budget.delta, chance) * _MARGIN
        self._mu = whole * _MARGIN
        self._left, self._chance = 1.0, chance
        self._events, self._enforced, self._noise, self._arithmetic = [], [], [], []
        # Open budgets are charged for this event before the first step, once for all steps. None:
        # there is only the last step, which is charged by itself.
        self._declared = _declared(whole, chance) if budget.is_private else NotPrivate()
        self._fixed_price = None
        self._admission, self._trusted = None, ()

    def mu(self, share):
        """Return the mu that a share of mu^2 allows; infinite without a budget."""
        return math.sqrt(share) * self._mu

    def budget(self, share):
        """Return the (epsilon, delta) of a model at a share of mu^2."""
        if not self._budget.is_private:
            return math.inf, self._budget.delta
        # A delta near 1 has too few digits to determine mu.
        mu, delta = self.mu(share), min(self._budget.delta, 0.5)
        epsilon = accountant.epsilon(Gaussian(mu), delta)
        # If delta alone nearly allows this mu, epsilon does not determine it either.
        return (epsilon, delta) if epsilon >= mu else (mu, gaussian_delta(mu, mu))

    @property
    def may_be_pure(self):
        """bool : whether a single step may use pure epsilon, which composes at a higher cost.

        It may if no other cost is known to share its budget and nothing has been prepaid.
        """
        unpaid = self._admission is None or not self._admission.files
        return (self._budget.is_private and self._left == 1.0 and unpaid
                and is_alone(self._method.carried))

    def release(self, name, step, rows, data, known=(), pure=False):
        """Return what a mechanism makes of data at its share of mu^2.

        Parameters
        ----------
        name : str
        step : Share
        rows : RowSource
            Sensitive; their digest keys reproducible noise.
        data : object
            Input of the mechanism, including these rows.
        known : tuple
            Additional keys of reproducible noise, if data depend on more than these rows.
        pure : bool
            Whether this is the only release, with pure epsilon and noise multiplier 1 / epsilon.
        """
        noise_multiplier = 1.0 / (self._budget.epsilon * _MARGIN if pure else self._mu)
        event = step.event(noise_multiplier)
        if pure:
            self._take_all(event)
        else:
            self._take(step.share, event)
        method = replace(self._method, carried=Carried(prepaid=self._prepaid(None)))
        session, stream = opened_stream(method, (self._budget, *known, name), rows, event,
                                        of_groups=self._budget.grouped, **self._options)
        self._noise.append((stream.description, stream.reproducible, noise_multiplier))
        self._arithmetic.append("grid")
        with np.errstate(all="ignore"):
            found = step.run(data, session, noise_multiplier)
        self._enforced.extend(session.enforced)
        return found

    def share_of(self, stage):
        """Return the share of mu^2 that the own rule of a stage sets."""
        return (accountant.merge(stage.event(self._budget)).rest.mu / self._mu)**2

    def learn(self, stage, rows):
        """Run a stage at the share of mu^2 that its own rule sets; return what it returns."""
        step = Share(Priced(stage.event(self._budget), stage.release), self.share_of(stage))
        found = self.release(stage.attribute or type(stage).__name__, step, rows,
                             (self._budget, rows))
        for line in stage.enforced_bounds(self._budget):
            self.enforce(line)
        return found

    def enforce(self, line):
        """Add an enforced bound to the certificate."""
        self._enforced.append(line)

    def _prepaid(self, affords):
        """Return the prepayment of a step; charge open budgets for all steps on the first call."""
        if self._declared is None:
            return self._method.carried.prepaid
        if self._admission is None:
            self._admission = admit(self._method.name, self._declared,
                                    carried=self._method.carried,
                                    of_groups=self._budget.grouped, **self._facts)
        # The answers that a budget keeps for replay are those of all steps together.
        return self._admission.pays_for(affords if self._budget.is_private else None,
                                        self._admission.answers)

    def fit(self, share, make, *args, **fit_params):
        """Return the model ``make(epsilon=, delta=, random_state=, verbose=)``, fitted at a share.

        A step of share 0 releases nothing, so its epsilon does not matter.
        """
        price = self.budget(share) if share else (self._budget.epsilon, self._budget.delta)
        model, certificate = self._fitted(price, self._allowed(share), make, args, fit_params)
        self._take(share, certificate.event)
        self._note(certificate)
        return model

    def alone(self, trusted):
        """Make the last step the only release, charged for the event that it declares.

        Its charge records the facts in `trusted` as public, in addition to its own.
        """
        self._declared, self._trusted = None, (*trusted, *self._method.trusted)

    def last_price(self, share, part=OTHER_KINDS):
        """Return the (epsilon, delta) of a non-Gaussian last step at a part of its mu."""
        if not self._budget.is_private:
            return math.inf, self._budget.delta
        delta = min(LAST_CHANCE * self._budget.delta, 0.5)
        mu = self.mu(share) * part
        epsilon = accountant.epsilon(Gaussian(mu), delta)
        return (epsilon, delta) if epsilon >= mu else (mu, min(delta, gaussian_delta(mu, mu)))

    def checked_last(self, share, event):
        """Return the (epsilon, delta) of the last step, whose event a rehearsal gave.

        Called before any other step, because it changes the declared event.
        """
        price, budget = self.last_price(share), self._budget
        if not budget.is_private or event is None or self._affords(share, price)(event):
            return price
        delta = _LAST_DELTA * budget.delta
        before = Composed((Gaussian(self.mu(1.0 - share)), Disclosure(self._chance),
                           Disclosure(delta)))
        self._fixed_price = 1.0 / calibrate(_Beside(before), budget.epsilon, budget.delta), delta
        self._declared = Composed((before, Pure(self._fixed_price[0])))
        return self._fixed_price

    def fit_last(self, share, make, *args, **fit_params):
        """Return the model, fitted as the last step; without a share it gets the whole budget."""
        price, event = (self._budget.epsilon, self._budget.delta), None
        affords = _Within(*price)
        if self._fixed_price is not None:
            price, event = self._fixed_price, _of_any_kind(*self._fixed_price)
            affords = _Within(*price)
        elif share and self._budget.is_private:
            price, affords = self._covered(share, make, args, fit_params)
            event = affords.event
        model, certificate = self._fitted(price, affords, make, args, fit_params)
        if self._budget.is_private and not affords(certificate.event):
            raise RuntimeError(f"The step {certificate.event!r} costs more than epsilon="
                               f"{price[0]!r}, delta={price[1]!r}.")
        self._events.append(certificate.event if event is None else event)
        self._left = 0.0
        self._note(certificate)
        return model

    def _covered(self, share, make, args, fit_params):
        """Return the (epsilon, delta) of a last step, and the check of its event."""
        for part in PARTS:
            price = self.last_price(share, part * OTHER_KINDS)
            affords = self._affords(share, price)
            event = rehearse(make(epsilon=price[0], delta=price[1], **self._options), *args,
                             **fit_params)
            # Of a third-party class only the budget is known.
            if affords(_of_any_kind(*price) if event is None else event):
                return price, affords
        raise RuntimeError("The last step would cost more than its share of the budget at any "
                           "part of it; leave it out.")

    def _affords(self, share, price):
        return _Covered(self.mu(share), LAST_CHANCE * self._budget.delta, price)

    def certificate(self, solver, *, enforced, public, released):
        """Return the certificate of all steps; the noise multiplier is that of the last."""
        sources, reproducible, multipliers = zip(*self._noise, strict=True)
        # A reproducible source is the one that a reader must know about.
        source = sources[reproducible.index(True) if any(reproducible) else -1]
        return certify(
            self._method, solver, self._budget, event=Composed(tuple(self._events)),
            noise_multiplier=multipliers[-1], source=(source, any(reproducible)),
            enforced=(*enforced, *self._enforced), public=public, released=released,
            arithmetic=min(self._arithmetic, key=_ARITHMETIC.index)).verify()

    def _take(self, share, event):
        """Record a step; a RuntimeError if it costs more than its share, or none is left."""
        sound = self._allowed(share)(event)
        self._left -= share
        self._chance -= accountant.merge(event).chance
        if self._budget.is_private and not (sound and self._left > -1e-12):
            raise RuntimeError(f"The step {event!r} costs more than the share {share:.6g} of the "
                               "budget, or more than is left.")
        self._events.append(event)

    def _take_all(self, event):
        """Record the only step; a RuntimeError if it costs more than the budget."""
        if self._left < 1.0 or not _Within(self._budget.epsilon, self._budget.delta)(event):
            raise RuntimeError(f"The step {event!r} is not all there is, or exceeds the budget.")
        self.alone(())
        self._left = 0.0
        self._events.append(event)

    def _allowed(self, share):
        """Return a function that checks whether an event is within a share of mu^2."""
        return _Share(self.mu(share) / _MARGIN, self._chance + 1e-9 * self._budget.delta)

    def _fitted(self, price, affords, make, args, fit_params):
        """Return a model fitted at an (epsilon, delta), and its certificate."""
        epsilon, delta = price
        with paid_for(make(epsilon=epsilon, delta=delta, **self._options),
                      self._prepaid(affords)) as model, stating(*self._trusted):
            model = model.fit(*args, **fit_params)
        return model, _certificate(model, self._budget.grouped)

    def _note(self, certificate):
        """Record the bounds, the noise source and the arithmetic of a model's certificate."""
        self._enforced.extend(certificate.enforced)
        self._noise.append((certificate.noise_source, certificate.reproducible,
                            certificate.noise_multiplier))
        self._arithmetic.append(certificate.arithmetic)


def _declared(mu, chance):
    """Return the event of Gaussian steps and a probability of revealing a row."""
    return Composed((Gaussian(mu), Disclosure(chance))) if chance else Gaussian(mu)


def _certificate(model, grouped):
    """Return the certificate of a fit; a RuntimeError if there is none for the unit of privacy."""
    certificate = getattr(model, "privacy_", None)
    # The class default is the replace-one relation of single rows.
    relation = GROUP_RELATION if grouped else Certificate.relation
    if not isinstance(certificate, Certificate) or certificate.relation != relation:
        unit = "groups of rows" if grouped else "single rows"
        raise RuntimeError(f"{type(model).__name__} left no certificate for {unit} in "
                           "privacy_, so nothing is known of its price; leave it out.")
    return certificate


@dataclass(frozen=True)
class _Share:
    """Check that an event is Gaussian with at most `mu`, up to a probability `chance`."""

    mu: float
    chance: float

    def __call__(self, event):
        spent = accountant.merge(event)
        return spent.rest.is_gaussian and spent.rest.mu <= self.mu and spent.chance <= self.chance


@dataclass(frozen=True)
class _Within:
    """Check that an event costs at most epsilon and delta."""

    epsilon: float
    delta: float

    def __call__(self, event):
        return accountant.delta(event, self.epsilon) <= self.delta


def _of_any_kind(epsilon, delta):
    """Return the event that dominates every (epsilon, delta) release (Kairouz et al. 2015)."""
    return Composed((Pure(epsilon), Disclosure(delta)))


@dataclass(frozen=True)
class _Covered:
    """Check that a mu-GDP release with a probability of revealing everything dominates an event.

    It must dominate the event itself, or every release within `price`.
    """

    mu: float
    chance: float
    price: tuple

    @property
    def event(self):
        """Event : the dominating release."""
        return Composed((Gaussian(self.mu), Disclosure(self.chance)))

    def __call__(self, event):
        return is_covered(event, self.mu, self.chance) or (
            _Within(*self.price)(event)
            and is_covered(_of_any_kind(*self.price), self.mu, self.chance))


@dataclass(frozen=True)
class _Beside:
    """Plan of an event and a pure release of epsilon 1 / noise_multiplier."""

    event: Composed

    def __call__(self, noise_multiplier):
        return Composed((self.event, Pure(1.0 / noise_multiplier)))
