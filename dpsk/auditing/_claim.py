"""The claim that an audit tests: the least error of any test between neighbors."""

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
from dpsk._privacy.events import Event
from dpsk.accounting import epsilon as event_epsilon
from dpsk.accounting import total, type_two_error
from dpsk.auditing._leaves import attributes

__all__ = ["Claim", "find_claim"]

#: Type I errors at which the curve of a claim is computed.
_ERRORS = np.unique(np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 1000),
                                    np.linspace(0.0, 1.0, 4001)]))
#: What holds no part of a fit: plain values, code, budgets, which know of other fits as well, and
#: frozen estimators, which an audit never fits again.
_CLOSED = (str, bytes, int, float, complex, type(None), type, types.ModuleType,
           types.FunctionType, np.generic, PrivacyBudget, FrozenEstimator)


@dataclass(frozen=True)
class Claim:
    """A guarantee.

    Attributes
    ----------
    epsilon, delta : float
    event : Event or None
        What is said to be released, where more than a pair of numbers is claimed.
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
            # The curve falls: its value a little to the right is not above it.
            return self._curve[np.searchsorted(_ERRORS, alpha)]
        # Beyond 700 nothing is left of the claim, and exp stays finite.
        growth = math.exp(min(self.epsilon, 700.0))
        return np.maximum(0.0, np.maximum(1.0 - self.delta - growth * alpha,
                                          (1.0 - self.delta - alpha) / growth))

    @cached_property
    def _curve(self):
        return type_two_error(self.event, _ERRORS)

    def __str__(self):
        return f"({self.epsilon:g}, {self.delta:.3g})-differential privacy, {self.origin}"


def find_claim(claim, estimator, fitted):
    """Return the claim that is given, or made by a fit, or by parameters.

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
    """Return the certificates inside a fitted object, each once, however often it is held.

    Nothing is looked for inside of what has one of its own, which is for all of it.
    """
    # Objects are kept so that no later one has the identity of one that is gone.
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
    """Return an object's certificate, or None; not one that it passes on from a part."""
    try:
        inspect.getattr_static(value, "privacy_")
    except AttributeError:
        return None
    own = getattr(value, "privacy_", None)
    return own if isinstance(own, Certificate) else None


def _members(value):
    """Return what a container holds, or what the attributes of an object hold."""
    held = [part for _, part in attributes(value)]
    if isinstance(value, Mapping):
        return [*value.values(), *held]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return [*value, *held]
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    return held
