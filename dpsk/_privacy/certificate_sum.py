"""Sums and comparisons of certificates of fits on the same rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy import accountant
from dpsk._privacy.assumptions import FIXED
from dpsk._privacy.certificate_fields import ARITHMETIC, GROUP_RELATION, SAME_GROUPS
from dpsk._privacy.events import Composed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["dominates", "n_fits", "total"]

#: Separator of names in the certificate of several fits.
_AND = " + "
#: Epsilons at which privacy profiles without a closed form are compared.
_POINTS = np.geomspace(1e-2, 1e2, 33)


def total(certificates: Sequence[Any]) -> Any:
    """Return the joint certificate of several fits on the same rows.

    Parameters
    ----------
    certificates : sequence of Certificate
        At least one.

    Returns
    -------
    certificate : Certificate
        Its delta is the sum of their deltas. Its epsilon is composed from all events at that
        delta, and is at most the sum of their epsilons. With groups, it states the assumption
        that groups are the same people in all fits.

    Raises
    ------
    ValueError
        If they have different neighboring relations, or their deltas add up to 1 or more.
    """
    first = certificates[0]
    if len(certificates) == 1:
        return first
    relations = dict.fromkeys(each.relation for each in certificates)
    if len(relations) > 1:
        raise ValueError(f"relations {' and '.join(map(repr, relations))}: a guarantee for rows "
                         "and one for groups of rows do not add up; fit all with groups, or none.")
    delta = sum(each.delta for each in certificates)
    if not delta < 1:
        raise ValueError(f"delta={delta!r}: the deltas of certificates add up to 1 or more, so "
                         "there is no guarantee; fit with smaller ones.")
    event = Composed(tuple(each.event for each in certificates))
    assumed = (FIXED, SAME_GROUPS) if first.relation == GROUP_RELATION else (FIXED,)
    # The sum of epsilons is never exceeded either (basic composition); infinite without noise.
    epsilon = min(accountant.epsilon(event, delta), sum(each.epsilon for each in certificates))
    return replace(
        first, epsilon=max(epsilon, math.ulp(1.0)), delta=delta, event=event,
        # The smallest noise multiplier, 0 if one fit has no noise.
        noise_multiplier=min(each.noise_multiplier for each in certificates),
        estimator=_AND.join(each.estimator for each in certificates),
        solver=_AND.join(each.solver for each in certificates),
        enforced=_joined(certificates, "enforced"),
        public=tuple(dict.fromkeys((*_joined(certificates, "public"), *assumed))),
        released=_joined(certificates, "released"),
        noise_source="; ".join(dict.fromkeys(each.noise_source for each in certificates)),
        reproducible=any(each.reproducible for each in certificates),
        # The least exact arithmetic of all fits.
        arithmetic=min((each.arithmetic for each in certificates), key=list(ARITHMETIC).index),
        versions=_joined(certificates, "versions"))


def n_fits(certificate: Any) -> int:
    """Return the number of fits that a certificate covers."""
    return len(certificate.estimator.split(_AND))


def dominates(one: Any, other: Any) -> bool:
    """Return whether `one` has at most the delta of `other` at every epsilon."""
    if one.relation != other.relation:
        return False
    first, second = accountant.merge(one.event), accountant.merge(other.event)
    if not second.is_private:
        return True
    if not first.is_private:
        return False
    if first.is_gaussian and second.is_gaussian:
        return first.mu <= second.mu
    return all(accountant.delta(one.event, point) <= accountant.delta(other.event, point)
               for point in _POINTS)


def _joined(certificates: Sequence[Any], name: str) -> tuple[Any, ...]:
    """Return the entries of a field of all certificates, each once."""
    lines: list[Any] = []
    for each in certificates:
        # Values of bounds may be lists, which have no hash.
        lines.extend(line for line in getattr(each, name) if line not in lines)
    return tuple(lines)
