"""Privacy cost of events: epsilon, delta and error rates of a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from dpsk._budget import PrivacyBudget
from dpsk._parameters import check_real
from dpsk._privacy import accountant, certificate_sum
from dpsk._privacy.budget_certificate import BudgetCertificate
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.events import Composed, Event

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.plans import Declaration
    from dpsk._typing import FloatArray

__all__ = ["compose", "delta", "epsilon", "noise_multiplier", "total", "type_two_error"]

#: Epsilons at which error rates are bounded by the (epsilon, delta) guarantee.
_SLOPES = np.concatenate([[0.0], np.geomspace(1e-2, 64.0, 40)])
#: Delta below which a larger epsilon cannot improve the bound on an error.
_NEGLIGIBLE = 1e-12


def compose(*events: Any) -> Event:
    """Return the composition of several events on the same rows.

    Parameters
    ----------
    *events : Event, Certificate, or iterable of these
        Mechanisms run on the same rows.

    Returns
    -------
    event : Composed
        The composition.

    Notes
    -----
    *Privacy.* The cost of the composition is an upper bound if kinds, number and noise of all
    mechanisms were fixed before the first output. Each query may depend on earlier outputs. All
    must protect the same unit: rows, or the same groups of rows. An event does not record which.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, compose, epsilon
    >>> both = compose(Gaussian(mu=0.3), Gaussian(mu=0.4))
    >>> round(epsilon(both, 1e-5), 3) == round(epsilon(Gaussian(mu=0.5), 1e-5), 3)
    True
    """
    return Composed(tuple(_event(each) for each in events))


def total(*certificates: Any) -> Certificate:
    """Return the certificate of several fits on the same rows.

    Parameters
    ----------
    *certificates : Certificate, fitted estimator with `privacy_`, budget, or a list of these
        At least one. A `PrivacyBudget` counts in full, consumed or not, and already includes the
        fits inside it.

    Returns
    -------
    certificate : Certificate
        Its delta is the sum of the deltas; its epsilon follows from all events at that delta.

    Raises
    ------
    ValueError
        If none is given, they are for different relations, or deltas add up to 1.
    TypeError
        If something has no certificate.

    Notes
    -----
    *Privacy.* The guarantee holds if no fit, nor the decision to make it, depended on the result
    of another fit; otherwise fit within a `PrivacyBudget`. For fits with `groups` it holds if the
    groups are the same people in all fits. The certificate states this in `public`, but cannot
    check it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLinearSVC, DPLogisticRegression
    >>> from dpsk.accounting import total
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> fits = [model.fit(X, y) for model in (DPLogisticRegression(epsilon=1.0, delta=1e-6),
    ...                                       DPLinearSVC(epsilon=1.0, delta=1e-6))]
    >>> both = total(*fits)
    >>> both.delta, both.epsilon < 1.5
    (2e-06, True)
    """
    found = [_certificate(each) for given in certificates for each in (
        given if isinstance(given, (list, tuple)) else [given])]
    if not found:
        raise ValueError("certificates=(): must be at least one.")
    return certificate_sum.total(found).verify()


def epsilon(events: Event | Certificate | Iterable[Event | Certificate],
            delta: ArrayLike) -> float | FloatArray:
    """Return an upper bound on epsilon at every delta.

    Parameters
    ----------
    events : Event, Certificate, or iterable of these
        Mechanisms run on the same rows.
    delta : float or array-like
        In [0, 1].

    Returns
    -------
    epsilon : float or ndarray of float64, like `delta`
        Infinite at delta 0 unless all events are `Pure`. The bound exceeds epsilon by a relative
        error of at most 1e-6 where there is a closed form, and by the discretization error of
        the privacy loss distribution elsewhere.

    Raises
    ------
    ValueError
        If a delta is outside [0, 1].

    Examples
    --------
    >>> from dpsk.accounting import Pure, Repeated, epsilon
    >>> epsilon(Repeated(Pure(0.5), 4), 0.0)
    2.0
    >>> epsilon(Repeated(Pure(0.5), 4), [0.0, 1e-3, 0.1]).round(3).tolist()
    [2.0, 1.993, 0.988]
    """
    return _mapped(accountant.epsilon, _event(events), delta)


def delta(events: Event | Certificate | Iterable[Event | Certificate],
          epsilon: ArrayLike) -> float | FloatArray:
    """Return an upper bound on delta at every epsilon.

    Parameters
    ----------
    events : Event, Certificate, or iterable of these
        Mechanisms run on the same rows.
    epsilon : float or array-like
        Finite and >= 0.

    Returns
    -------
    delta : float or ndarray of float64, like `epsilon`
        In [0, 1].

    Raises
    ------
    ValueError
        If an epsilon is negative or not finite.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, delta
    >>> delta(Gaussian(mu=1.0), [0.5, 1.0, 2.0]).round(4).tolist()
    [0.2384, 0.1269, 0.0209]
    """
    return _mapped(accountant.delta, _event(events), epsilon)


def noise_multiplier(plan: Declaration, epsilon: float, delta: float) -> float:
    """Return the least noise multiplier at which a plan is (epsilon, delta)-private.

    Parameters
    ----------
    plan : callable, float -> Event
        The event at a noise multiplier; its privacy cost must decrease with the noise multiplier.
    epsilon : float > 0
        Epsilon of the guarantee.
    delta : float in [0, 1)
        Delta of the guarantee.

    Returns
    -------
    noise_multiplier : float
        Rounded to the private side: the event at this multiplier has at most the given delta.

    Raises
    ------
    ValueError
        If no noise suffices, or a number is out of range.

    Examples
    --------
    A hundred noisy sums over all rows, where a replaced row moves each by up to 2 clip norms:

    >>> from dpsk.accounting import Gaussian, Repeated, noise_multiplier
    >>> z = noise_multiplier(lambda z: Repeated(Gaussian(2 / z), 100), epsilon=1.0, delta=1e-6)
    >>> round(z, 1)
    84.5
    """
    epsilon = check_real("epsilon", epsilon, low=0, open_low=True, remedy="a finite number > 0")
    delta = check_real("delta", delta, low=0, high=1, open_high=True, remedy="a number in [0, 1)")
    return calibrate(plan, epsilon, delta)


def type_two_error(events: Event | Certificate | Iterable[Event | Certificate],
                   type_one_error: ArrayLike) -> float | FloatArray:
    r"""Return the trade-off function: the least type II error between neighbors.

    .. math:: T(\alpha) \ge \max_{\varepsilon \ge 0} \max\bigl(0,\;
              1 - \delta(\varepsilon) - e^{\varepsilon} \alpha,\;
              e^{-\varepsilon} (1 - \delta(\varepsilon) - \alpha)\bigr),

    and :math:`\Phi(\Phi^{-1}(1 - \alpha) - \mu)` if all events are Gaussian.

    Parameters
    ----------
    events : Event, Certificate, or iterable of these
        Mechanisms run on the same rows.
    type_one_error : float or array-like
        In [0, 1]: the probability that the test reports an absent row as present.

    Returns
    -------
    type_two_error : float or ndarray of float64, like `type_one_error`
        A lower bound on the probability that the test misses a present row.

    Raises
    ------
    ValueError
        If an error is outside [0, 1].

    References
    ----------
    Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Proposition 2.5.

    Examples
    --------
    >>> from dpsk.accounting import Gaussian, type_two_error
    >>> type_two_error(Gaussian(mu=1.0), [0.05, 0.5]).round(3).tolist()
    [0.74, 0.159]
    """
    event = _event(events)
    alpha = np.asarray(type_one_error, dtype=np.float64)
    if not np.all((alpha >= 0) & (alpha <= 1)):
        raise ValueError(f"type_one_error={type_one_error!r}: must be numbers in [0, 1].")
    releases = accountant.merge(event)
    if releases.is_private and releases.is_gaussian:
        # By symmetry of the normal quantile; 1 - alpha would lose a small alpha to rounding.
        errors = ndtr(-ndtri(alpha) - releases.mu)
    else:
        errors = np.zeros(alpha.shape)
        # If the privacy loss is bounded, the curve has a corner at its maximum.
        floor = min(1.0, accountant.delta(event, _SLOPES[-1]) + _NEGLIGIBLE)
        corner = min(accountant.epsilon(event, floor), _SLOPES[-1])
        for slope in np.union1d(_SLOPES, corner):
            left, growth = 1.0 - accountant.delta(event, slope), np.exp(slope)
            for bound in (left - growth * alpha, (left - alpha) / growth):
                errors = np.maximum(errors, bound)
            if 1.0 - left < _NEGLIGIBLE:
                break
    return float(errors) if alpha.ndim == 0 else errors


def _event(events):
    """Return one event for events, certificates or an iterable of these."""
    if isinstance(events, Certificate):
        return events.event
    if isinstance(events, Event):
        return events
    if isinstance(events, Iterable) and not isinstance(events, (str, bytes, dict)):
        return Composed(tuple(_event(each) for each in events))
    raise TypeError(f"{type(events).__name__} is no event; give events of dpsk.accounting, "
                    "certificates, or a list of these.")


def _certificate(fitted):
    """Return a certificate, or that of a fitted estimator or of a budget."""
    if isinstance(fitted, PrivacyBudget):
        fitted = fitted.certificate()
    if isinstance(fitted, BudgetCertificate):
        return fitted.combined()
    found = fitted if isinstance(fitted, Certificate) else getattr(fitted, "privacy_", None)
    if not isinstance(found, Certificate):
        raise TypeError(f"{type(fitted).__name__} has no certificate in privacy_; give fitted "
                        "private estimators, budgets, or their certificates.")
    return found


def _mapped(function, event, values):
    """Evaluate a function of an event at a number, or at each number of an array."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 0:
        return function(event, float(values))
    found = [function(event, float(value)) for value in values.ravel()]
    return np.array(found, dtype=np.float64).reshape(values.shape)
