r"""Fits of several steps under one budget: releases and fits of models, each at its share.

A step whose releases are not Gaussian, such as sums of random samples, can be the last one. It
is calibrated at a small delta' of its own, to the epsilon there of a little less than its mu, and
its event is held against that mu beforehand: where a mu-GDP release beside a chance of delta' to
tell all tells at least as much, that is its price. Where it does not, as of objective
perturbation, the step has a fixed (epsilon', delta'): whatever it releases tells tables apart no
better than randomized response at epsilon' that with probability delta' tells all (Kairouz, Oh,
Viswanath 2015), which composes with the steps before it whatever they had found.
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

#: Shares of mu^2 are taken of a little less: an epsilon that is solved for is rounded up.
_MARGIN = 1.0 - 1e-9
#: The share of delta of a last step that is not Gaussian, and that of one which none covers.
LAST_CHANCE, _LAST_DELTA = 0.01, 0.4
#: The part of its mu that what is not Gaussian is calibrated to. A noisy sum of samples is covered
#: by a mu that is 0.1 % larger than at its tail, found to 0.1 %.
OTHER_KINDS = 0.995
#: Parts of its mu that such a fit is tried at, until what it would cost is within that mu.
PARTS = (1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05)
#: What is least exact says how exact all is.
_ARITHMETIC = ("float", "snapped", "grid")


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
    public : sequence of str
        What open budgets note as taken for public.
    is_seeded : bool
        Whether a model has a seed of its own under which its noise repeats.
    """

    def __init__(self, method, budget, chance, *, random_state, verbose, public=(),
                 is_seeded=False):
        warn_of_weak_budget(budget)
        self._method, self._budget = method, budget
        self._facts = {"public": public, "reproducible": (
            is_seeded or noise_seed(random_state) is not None)}
        self._options = {"random_state": random_state, "verbose": verbose}
        # What is declared is computed anew by whoever pays for it, so it is a little less too.
        whole = accountant.mu_beside(budget.epsilon, budget.delta, chance) * _MARGIN
        self._mu = whole * _MARGIN
        self._left, self._chance = 1.0, chance
        self._events, self._enforced, self._noise, self._arithmetic = [], [], [], []
        # What open budgets are charged for before the first step, which pays for all of them;
        # None: the last is all there is, and pays for itself.
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
        # Near 1 a delta says little of the mu, in so few digits.
        mu, delta = self.mu(share), min(self._budget.delta, 0.5)
        epsilon = accountant.epsilon(Gaussian(mu), delta)
        # Where delta alone would allow that much, or nearly, it says little of the mu.
        return (epsilon, delta) if epsilon >= mu else (mu, gaussian_delta(mu, mu))

    @property
    def may_be_pure(self):
        """bool : whether the only step may have a pure epsilon, at which composition costs more.

        That is where nothing else is known to be charged with it, and nothing has paid so far.
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
            Sensitive, for the digest that keys noise that repeats.
        data : object
            What the mechanism runs on, these rows among it.
        known : tuple
            What keys it beside these rows: where data follow from more.
        pure : bool
            Whether it is all that is released, at a noise multiplier of one over epsilon.
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

    def learn(self, stage, rows):
        """Return the share of mu^2 that a stage costs by its own rule, which leaves its value."""
        event = stage.event(self._budget)
        share = (accountant.merge(event).rest.mu / self._mu)**2
        self.release(stage.attribute, Share(Priced(event, stage.release), share), rows,
                     (self._budget, rows))
        for line in stage.enforced_bounds(self._budget):
            self.enforce(line)
        return share

    def enforce(self, line):
        """Note for the certificate what is enforced."""
        self._enforced.append(line)

    def _prepaid(self, affords):
        """Return what pays for a step, once open budgets have been charged for all of them."""
        if self._declared is None:
            return self._method.carried.prepaid
        if self._admission is None:
            self._admission = admit(self._method.name, self._declared,
                                    carried=self._method.carried,
                                    of_groups=self._budget.grouped, **self._facts)
        # Answers that are kept, or given again, are those of all steps.
        return self._admission.pays_for(affords if self._budget.is_private else None,
                                        self._admission.answers)

    def fit(self, share, make, *args, **fit_params):
        """Return the model ``make(epsilon=, delta=, random_state=, verbose=)``, fitted at a share.

        A step of share 0 releases nothing, and may be told any epsilon.
        """
        price = self.budget(share) if share else (self._budget.epsilon, self._budget.delta)
        model, certificate = self._fitted(price, self._allowed(share), make, args, fit_params)
        self._take(share, certificate.event)
        self._note(certificate)
        return model

    def alone(self, trusted):
        """Let the last step be all that is released, and charged for what it declares.

        Beside what it takes as public itself, charges state what is `trusted` of others.
        """
        self._declared, self._trusted = None, tuple(trusted)

    def last_price(self, share, part=OTHER_KINDS):
        """Return the (epsilon, delta) of a last step of any kind at a part of its mu."""
        if not self._budget.is_private:
            return math.inf, self._budget.delta
        delta = min(LAST_CHANCE * self._budget.delta, 0.5)
        mu = self.mu(share) * part
        epsilon = accountant.epsilon(Gaussian(mu), delta)
        return (epsilon, delta) if epsilon >= mu else (mu, min(delta, gaussian_delta(mu, mu)))

    def checked_last(self, share, event):
        """Return the (epsilon, delta) of the last step, of which a rehearsal gave an event.

        Before any other step, as it is part of what is declared.
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
        """Return the model, fitted as the last of all; without a share it has the whole budget."""
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
        """Return the (epsilon, delta) of a last step, and whether its share affords an event."""
        for part in PARTS:
            price = self.last_price(share, part * OTHER_KINDS)
            affords = self._affords(share, price)
            event = rehearse(make(epsilon=price[0], delta=price[1], **self._options), *args,
                             **fit_params)
            # Of a class of somebody else's nothing is known but its budget.
            if affords(_of_any_kind(*price) if event is None else event):
                return price, affords
        raise RuntimeError("The last step would cost more than its share of the budget at any "
                           "part of it; leave it out.")

    def _affords(self, share, price):
        return _Covered(self.mu(share), LAST_CHANCE * self._budget.delta, price)

    def certificate(self, solver, *, enforced, public, released):
        """Return the certificate of all steps; the noise multiplier is that of the last."""
        sources, reproducible, multipliers = zip(*self._noise, strict=True)
        # The source that repeats is the one to know of.
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
        """Return whether a step at a share of mu^2 may cost an event, a function of it."""
        return _Share(self.mu(share) / _MARGIN, self._chance + 1e-9 * self._budget.delta)

    def _fitted(self, price, affords, make, args, fit_params):
        """Return a model fitted at an (epsilon, delta), and the certificate that it left."""
        epsilon, delta = price
        with paid_for(make(epsilon=epsilon, delta=delta, **self._options),
                      self._prepaid(affords)) as model, stating(*self._trusted):
            model = model.fit(*args, **fit_params)
        return model, _certificate(model, self._budget.grouped)

    def _note(self, certificate):
        """Keep what the certificate of a model says beside its events."""
        self._enforced.extend(certificate.enforced)
        self._noise.append((certificate.noise_source, certificate.reproducible,
                            certificate.noise_multiplier))
        self._arithmetic.append(certificate.arithmetic)


def _declared(mu, chance):
    """Return the event of Gaussian steps beside a chance to show a row."""
    return Composed((Gaussian(mu), Disclosure(chance))) if chance else Gaussian(mu)


def _certificate(model, grouped):
    """Return the certificate that a fit left; a RuntimeError if there is none for what is
    protected.
    """
    certificate = getattr(model, "privacy_", None)
    # The default is the relation of single rows that are replaced.
    relation = GROUP_RELATION if grouped else Certificate.relation
    if not isinstance(certificate, Certificate) or certificate.relation != relation:
        unit = "groups of rows" if grouped else "single rows"
        raise RuntimeError(f"{type(model).__name__} left no certificate for {unit} in "
                           "privacy_, so nothing is known of its price; leave it out.")
    return certificate


@dataclass(frozen=True)
class _Share:
    """Whether an event is Gaussian of at most a mu, but for a chance to tell all."""

    mu: float
    chance: float

    def __call__(self, event):
        spent = accountant.merge(event)
        return spent.rest.is_gaussian and spent.rest.mu <= self.mu and spent.chance <= self.chance


@dataclass(frozen=True)
class _Within:
    """Whether an event costs at most epsilon and delta."""

    epsilon: float
    delta: float

    def __call__(self, event):
        return accountant.delta(event, self.epsilon) <= self.delta


def _of_any_kind(epsilon, delta):
    """Return what tells as much as any release of an (epsilon, delta) (Kairouz et al. 2015)."""
    return Composed((Pure(epsilon), Disclosure(delta)))


@dataclass(frozen=True)
class _Covered:
    """Whether an event tells no more than a mu-GDP release beside a chance to tell all.

    By itself, or as all of a price do.
    """

    mu: float
    chance: float
    price: tuple

    @property
    def event(self):
        """Event : what covers it."""
        return Composed((Gaussian(self.mu), Disclosure(self.chance)))

    def __call__(self, event):
        return is_covered(event, self.mu, self.chance) or (
            _Within(*self.price)(event)
            and is_covered(_of_any_kind(*self.price), self.mu, self.chance))


@dataclass(frozen=True)
class _Beside:
    """The declaration of a release of loss 1 over the noise multiplier beside an event."""

    event: Composed

    def __call__(self, noise_multiplier):
        return Composed((self.event, Pure(1.0 / noise_multiplier)))
