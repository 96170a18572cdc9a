"""The claim that an audit tests: a trade-off function, with its source."""

import inspect
import math
import types
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.frozen import FrozenEstimator

from dpsk._budget import PrivacyBudget
from dpsk._parameters import check_real
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.certificate_fields import rounded_up
from dpsk._privacy.events import Event
from dpsk.accounting import epsilon as event_epsilon
from dpsk.accounting import total, type_two_error
from dpsk.auditing._leaves import attributes

__all__ = ["Claim", "find_claim"]

#: Type I errors at which the trade-off function of a claim is computed.
_ERRORS = np.unique(np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 1000),
                                    np.linspace(0.0, 1.0, 4001)]))
#: Types whose contents are not part of this fit: plain values, code, budgets (which record other
#: fits too) and frozen estimators (which an audit never fits again).
_CLOSED = (str, bytes, int, float, complex, type(None), type, types.ModuleType,
           types.FunctionType, np.generic, PrivacyBudget, FrozenEstimator)


@dataclass(frozen=True)
class Claim:
    """A claimed privacy guarantee.

    Attributes
    ----------
    epsilon, delta : float
    event : Event or None
        The claimed privacy event; None if only epsilon and delta are claimed.
    origin : str
        Where the claim was found.
    """

    epsilon: float
    delta: float
    event: Event | None
    origin: str

    def type_two_error(self, type_one_error):
        """Return the least type II error that the claim allows at type I errors."""
        alpha = np.asarray(type_one_error, dtype=np.float64)
        if self.event is not None:
            # The curve decreases, so the value at the next grid point to the right is a lower
            # bound.
            return self._curve[np.searchsorted(_ERRORS, alpha)]
        # At epsilon 700 the claim already allows everything; the cap keeps exp finite.
        growth = math.exp(min(self.epsilon, 700.0))
        return np.maximum(0.0, np.maximum(1.0 - self.delta - growth * alpha,
                                          (1.0 - self.delta - alpha) / growth))

    @cached_property
    def _curve(self):
        return type_two_error(self.event, _ERRORS)

    def __str__(self):
        return (f"({rounded_up(self.epsilon, 6)}, {rounded_up(self.delta, 3)})-differential "
                f"privacy, {self.origin}")


def find_claim(claim, estimator, fitted):
    """Return the claim to test: as given, of the fit, or by its parameters.

    Parameters
    ----------
    claim : None, float, (float, float), Certificate or Event
    estimator, fitted : estimator

    Returns
    -------
    claim : Claim
    """
    if claim is None:
        found = certificates(fitted)
        if len(found) == 1:
            return _certified(found[0], "as privacy_ says")
        if found:
            return _certified(total(*found), f"the total of {len(found)} certificates")
        return _from_parameters(estimator)
    if isinstance(claim, Certificate):
        return _certified(claim, "as given")
    if isinstance(claim, Event):
        delta = 1e-5
        return Claim(event_epsilon(claim, delta), delta, claim, "as given")
    epsilon, delta = claim if isinstance(claim, (tuple, list)) else (claim, 0.0)
    return _stated(epsilon, delta, "as given")


def _certified(certificate, origin):
    if not certificate.is_private:
        raise ValueError("claim=None: the estimator claims no privacy (epsilon=inf); there is "
                         "nothing to refute. Give claim=(epsilon, delta) or --claim.")
    return Claim(certificate.epsilon, certificate.delta, certificate.event, origin)


def _from_parameters(estimator):
    params = estimator.get_params()
    values = {name: [value for key, value in params.items() if key.split("__")[-1] == name]
              for name in ("epsilon", "delta")}
    if len(values["epsilon"]) != 1 or len(values["delta"]) > 1:
        raise ValueError("claim=None: the fitted estimator has no certificate in privacy_, "
                         "and its parameters no single epsilon; give claim=(epsilon, delta) "
                         "or --claim.")
    delta = values["delta"][0] if values["delta"] else 0.0
    if delta is None:
        raise ValueError("claim=None: the estimator has delta=None and no certificate in "
                         "privacy_; give claim=(epsilon, delta) or --claim.")
    return _stated(values["epsilon"][0], delta, "by its parameters")


def _stated(epsilon, delta, origin):
    epsilon = check_real("epsilon", epsilon, low=0, remedy="a finite number >= 0")
    delta = check_real("delta", delta, low=0, high=1, open_high=True, remedy="a number in [0, 1)")
    return Claim(epsilon, delta, None, origin)


def certificates(fitted):
    """Return the distinct certificates inside a fitted object.

    An object with a certificate is not searched further: its certificate covers all its parts.
    """
    # Keeping the objects alive ensures that no identity is reused.
    found, seen, waiting = {}, {}, [fitted]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _CLOSED):
            continue
        seen[id(value)] = value
        own = value if isinstance(value, Certificate) else _own(value)
        if own is None:
            waiting.extend(reversed(_members(value)))
        else:
            found[id(own)] = own
    return list(found.values())


def _own(value):
    """Return an object's own certificate, not one delegated from a part; or None."""
    try:
        inspect.getattr_static(value, "privacy_")
    except AttributeError:
        return None
    own = getattr(value, "privacy_", None)
    return own if isinstance(own, Certificate) else None


def _members(value):
    """Return the items of a container and the attributes of an object."""
    held = [part for _, part in attributes(value)]
    if isinstance(value, Mapping):
        return [*value.values(), *held]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return [*value, *held]
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    return held
