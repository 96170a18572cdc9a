r"""Certificate of a budget: one guarantee for everything charged to it.

The guarantee comes from the privacy filter that admitted the charges. It holds even if earlier
releases decided later ones. The accountant also composes the charges so far. That epsilon is
smaller, but valid only if no release decided which fit came next, or when to stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from dpsk._privacy.assumptions import facts_of_charges, of_budget
from dpsk._privacy.budget_fields import BUDGET_RULES, check_same, read_charge
from dpsk._privacy.budget_page import UNKNOWN_DAY, page, shares
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.certificate_fields import (
    GROUP_RELATION,
    RELATION,
    CertificateBase,
    require,
    rounded_up,
    same_keys,
)
from dpsk._privacy.closed_forms import ROUNDING
from dpsk._privacy.events import Composed, Disclosure, Gaussian, Pure, written
from dpsk._privacy.filters import open_filter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._privacy.charges import Charge
    from dpsk._privacy.elementary import Event
    from dpsk._privacy.filters import Filter

__all__ = ["DERIVED", "BudgetCertificate"]

#: Keys of the JSON that are derived from the fields.
DERIVED = ("charged_epsilon", "spent", "limits", "assumed")
_UNITS = {"row": RELATION, "group": GROUP_RELATION}


@dataclass(frozen=True)
class BudgetCertificate(CertificateBase):
    """The certificate of a budget, made by `dpsk.PrivacyBudget.certificate`.

    All of it is public: nothing here depends on the rows.

    Attributes
    ----------
    epsilon, delta : float
        The joint guarantee of everything that is charged to the budget, even if earlier results
        decided later fits.
    kind : {"gaussian", "renyi", "pure"}
        The privacy filter, which defines the quantities that are counted.
    disclosure : float
        The part of `delta` for disclosure probabilities.
    unit : {"row", "group"}
        The unit of privacy.
    name : str or None
        Name of the data set.
    charges : tuple of Charge
        Every charge, in order: the estimator's name, its event, the day, and its public facts.
        Fits that failed after they were charged are included.
    date : str
        The day on which the certificate was made, in UTC.
    checksum : str
        Checksum of the last line of the ledger at that time, which covers all lines before it.
    versions : tuple of (str, str)
        Names and versions of the software that made it.

    See Also
    --------
    dpsk.PrivacyBudget : Admits fits, or refuses them.
    dpsk.Certificate : The guarantee of one fit.
    dpsk.accounting.certificate_schema : The JSON schema of both.

    Notes
    -----
    *Privacy.* Dates have no time of day, since the duration of a private search reveals how many
    candidates it ran. The certificate does not say whether a fit succeeded: a failed fit was
    charged, and counts.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression, PrivacyBudget
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with PrivacyBudget(2.0, 1e-5, name="patients") as budget:
    ...     model = DPLogisticRegression(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> certificate = budget.certificate()
    >>> certificate.guarantee
    '(2, 1e-05)-differential privacy'
    >>> 0.8 < certificate.charged_epsilon < 1.0
    True
    """

    epsilon: float
    delta: float
    kind: str
    disclosure: float
    unit: str
    name: str | None
    charges: tuple[Charge, ...]
    date: str
    checksum: str
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def guarantee(self) -> str:
        """str : the guarantee in words."""
        return (f"({rounded_up(self.epsilon, 6)}, {rounded_up(self.delta, 3)})-differential "
                "privacy")

    @property
    def relation(self) -> str:
        """str : the neighboring relation, as on the certificate of a fit."""
        return _UNITS[self.unit]

    @cached_property
    def filter(self) -> Filter:
        """Filter : the privacy filter that admits charges."""
        return open_filter(self.kind, self.epsilon, self.delta, self.disclosure)

    @property
    def event(self) -> Event:
        """Event : everything that was charged so far."""
        return Composed(tuple(charge.event for charge in self.charges))

    @cached_property
    def charged_epsilon(self) -> float:
        """float : the epsilon, at `delta`, of everything that was charged so far.

        It holds only if earlier releases did not decide which fits were made.
        """
        return min(self.epsilon, self.epsilon_at(self.delta))

    @cached_property
    def prices(self) -> tuple[dict[str, float], ...]:
        """tuple of dict : the price of each charge, in the units of the filter."""
        return tuple(dict(zip(self.filter.units, self.filter.price(charge.event), strict=True))
                     for charge in self.charges)

    @property
    def spent(self) -> dict[str, float]:
        """dict : the consumed budget, in the units of the filter."""
        return {unit: math.fsum(price[unit] for price in self.prices)
                for unit in self.filter.units}

    @cached_property
    def limits(self) -> dict[str, float]:
        """dict : the limits of the budget, in the units of the filter."""
        return dict(zip(self.filter.units, self.filter.limits, strict=True))

    @property
    def assumed(self) -> tuple[str, ...]:
        """tuple of str : the unverified assumptions behind the guarantee."""
        return of_budget(self.unit, self.charges)

    def combined(self) -> Certificate:
        """Return the guarantee of the whole budget as the certificate of one release.

        Its event stands for the whole budget, so it also counts the remaining budget.

        Returns
        -------
        certificate : Certificate
            A certificate that `dpsk.privacy_report` and `dpsk.accounting.total` accept.
        """
        worth: Event = Pure(self.epsilon)
        # Pure(epsilon) with a disclosure dominates every (epsilon, delta)-private release.
        strength, chance = self.epsilon, self.delta / ROUNDING
        if self.kind == "gaussian":
            strength, chance = math.sqrt(self.filter.limits[0]), self.disclosure
            worth = Gaussian(strength)
        return Certificate(
            epsilon=self.epsilon, delta=self.delta,
            event=Composed((worth, Disclosure(chance))) if chance else worth,
            noise_multiplier=1.0 / strength, estimator="PrivacyBudget",
            solver=f"{self.kind} filter", enforced=(),
            public=(*facts_of_charges(self.charges), *self.assumed),
            released=tuple(dict.fromkeys(charge.name for charge in self.charges)),
            noise_source="that of each release",
            reproducible=any(charge.reproducible for charge in self.charges),
            relation=self.relation, versions=self.versions).verify()

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary of plain JSON types, which `from_dict` reads.

        Returns
        -------
        data : dict
            The fields, the guarantee in words, and derived values.
        """
        data: dict[str, Any] = {"guarantee": self.guarantee, "relation": self.relation}
        data.update((each.name, getattr(self, each.name)) for each in fields(self))
        data.update(
            charges=[{**charge.to_dict(), "price": price}
                     for charge, price in zip(self.charges, self.prices, strict=True)],
            versions=dict(self.versions), charged_epsilon=self.charged_epsilon,
            spent=self.spent, limits=self.limits, assumed=list(self.assumed))
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BudgetCertificate:
        """Rebuild a certificate from the result of `to_dict`, and verify it.

        Parameters
        ----------
        data : dict
            As `to_dict` returned it.

        Returns
        -------
        certificate : BudgetCertificate
            A certificate with the same fields.

        Raises
        ------
        ValueError
            If `data` has other keys, or values that do not follow from its charges.
        """
        names = [each.name for each in fields(cls)]
        same_keys("certificate", data, ["guarantee", "relation", *names, *DERIVED])
        values = {name: data[name] for name in names}
        require(isinstance(data["versions"], dict), "versions", data["versions"], "a dictionary")
        values["versions"] = tuple(data["versions"].items())
        require(isinstance(data["charges"], list), "charges", data["charges"], "a list")
        values["charges"] = tuple(map(read_charge, data["charges"]))
        certificate = cls(**values).verify()
        check_same("certificate", data, certificate.to_dict())
        return certificate

    def verify(self) -> BudgetCertificate:
        """Return this certificate if the budget admits its charges.

        Only the ledger shows whether a charge is missing: see ``python -m dpsk.verify``.

        Returns
        -------
        certificate : BudgetCertificate
            This one.

        Raises
        ------
        ValueError
            If a field has the wrong type or range, or the charges exceed the budget.
        """
        for name, (holds, rule) in BUDGET_RULES.items():
            require(holds(getattr(self, name)), name, getattr(self, name), rule)
        require((self.kind == "pure") == (self.delta == 0), "kind", self.kind,
                "'pure' exactly where delta is 0")
        require(0 <= self.disclosure < (self.delta if self.kind == "gaussian" else math.ulp(0.0)),
                "disclosure", self.disclosure, "below delta, and 0 unless kind='gaussian'")
        for charge in self.charges:
            require(self.unit == "row" or charge.of_groups, "charges", charge,
                    "of groups, as the budget protects groups")
            require(charge.date <= self.date, "date", self.date, f"from {charge.date} on")
        try:
            spent = tuple(self.spent.values())
        except ArithmeticError:
            # The prices overflow.
            spent = (math.inf,) * len(self.filter.units)
        if not self.filter.admits((0.0,) * len(spent), spent):
            raise ValueError(f"charges: add up to {spent} in {self.filter.units}, and the budget "
                             f"admits {self.filter.limits}; there is no guarantee.")
        return self

    def to_html(self, ledger: str = "LEDGER") -> str:
        """Return a self-contained HTML page for a privacy officer.

        Parameters
        ----------
        ledger : str, default="LEDGER"
            Name of the ledger file in the command that checks the certificate.

        Returns
        -------
        text : str
            HTML with a plain summary, the use of the budget, what is public and assumed, how to
            check the page, and the JSON.
        """
        return page(self, ledger)

    def _title(self) -> str:
        return f"Privacy certificate of a budget{f' of {self.name}' if self.name else ''}"

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield (name, text) pairs in reading order."""
        yield "guarantee", f"{self.guarantee} of all releases together"
        yield "relation", self.relation
        yield "charged so far", (
            f"({rounded_up(self.charged_epsilon, 4)}, {rounded_up(self.delta, 3)}), valid only if "
            "no release decided which came next")
        for unit, spent in self.spent.items():
            if self.limits[unit]:
                yield "spent", f"{unit} {spent:.4g} of {self.limits[unit]:.4g}"
        for number, (charge, share) in enumerate(zip(self.charges, shares(self), strict=True), 1):
            yield f"release {number}", (
                f"{charge.date or UNKNOWN_DAY} {charge.name}: {share:.1%} of the budget, "
                f"{written(charge.event)}")
        for fact in facts_of_charges(self.charges):
            yield "taken as public", fact
        for line in self.assumed:
            yield "assumed", line
        yield "ledger", f"{len(self.charges) + 1} lines, checksum {self.checksum}"
        yield "made", self.date + ", " + ", ".join(
            f"{name} {version}" for name, version in self.versions)
