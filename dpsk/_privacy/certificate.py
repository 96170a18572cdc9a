"""Certificate of a fit: its guarantee, in a form that an auditor can check."""

from __future__ import annotations

import math
import platform
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dpsk._privacy import accountant
from dpsk._privacy.assumptions import facts_of, of_fit
from dpsk._privacy.certificate_fields import (
    ARITHMETIC,
    FIELD_RULES,
    GROUP_RELATION,
    RELATION,
    CertificateBase,
    Enforced,
    check_accounting,
    read_epsilon,
    rebuilt_bounds,
    require,
    rounded_up,
    same_keys,
    tupled,
    written_epsilon,
)
from dpsk._privacy.certificate_sum import dominates, total
from dpsk._privacy.event_dicts import event_from_dict
from dpsk._privacy.events import Event, tally, written

if TYPE_CHECKING:
    from typing import Any

__all__ = ["DERIVED", "GROUP_RELATION", "Certificate", "Enforced", "library_versions"]

#: Keys of the JSON that are derived from the fields.
DERIVED = ("accounting", "assumed")
#: Tolerance on delta for the elementary functions of other machines and repeated rounding up.
_OTHER_MACHINES = 1 + 1e-8


@dataclass(frozen=True)
class Certificate(CertificateBase):
    """The privacy certificate of one fit, found as ``privacy_`` on a fitted estimator.

    All of it is public: nothing here depends on the rows, except bounds from private releases.

    Attributes
    ----------
    epsilon, delta : float
        The budget that was requested and is satisfied. An infinite epsilon means that there is no
        budget and the fit is not private.
    event : Event
        Everything that the fit declared it would release; the actual releases are at most this.
        Other pairs of epsilon and delta are computed from it.
    noise_multiplier : float
        Standard deviation of the noise (scale, for pure epsilon) divided by the clip norm of a
        sum, or by the sensitivity of a single output; 0 without noise.
    estimator, solver : str
        Names of the estimator and the solver.
    enforced : tuple of Enforced
        Every enforced bound: its value, and where the value came from.
    public : tuple of str
        Facts taken as public, and the unverified assumptions that `assumed` lists.
    released : tuple of str
        Fitted attributes that depend on the rows.
    noise_source : str
        Source of the noise: the operating system, or a seed.
    reproducible : bool
        Whether the noise repeats: True exactly for a `dpsk.testing.NoiseSeed`.
    arithmetic : {"float", "grid", "snapped"}
        How noise was added: to floating-point numbers, on a grid, or snapped to a grid.
    relation : str
        The neighboring relation: data sets differ in one row, or in one group of rows.
    versions : tuple of (str, str)
        Names and versions of the software that the result depends on.

    See Also
    --------
    dpsk.privacy_report : The joint privacy cost of several fits.
    dpsk.accounting.total : The certificate of several fits.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> certificate = DPLogisticRegression(epsilon=1.0, delta=1e-5).fit(X, y).privacy_
    >>> certificate.delta_at(1.0) <= 1e-5
    True
    >>> certificate.epsilon_at(1e-6) > 1.0
    True
    """

    epsilon: float
    delta: float
    event: Event
    noise_multiplier: float
    estimator: str
    solver: str
    enforced: tuple[Enforced, ...]
    public: tuple[str, ...]
    released: tuple[str, ...]
    noise_source: str
    reproducible: bool
    arithmetic: str = "float"
    relation: str = RELATION
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def is_private(self) -> bool:
        """bool : whether there is a guarantee; False if epsilon is infinite."""
        return self.epsilon < math.inf

    @property
    def guarantee(self) -> str:
        """str : the guarantee in words, or that there is none."""
        if not self.is_private:
            return "not private: epsilon=inf, fitted without noise; there is no guarantee"
        epsilon, delta = rounded_up(self.epsilon, 6), rounded_up(self.delta, 3)
        return f"({epsilon}, {delta})-differential privacy"

    @property
    def assumed(self) -> tuple[str, ...]:
        """tuple of str : the unverified assumptions behind the guarantee."""
        return of_fit(self)

    @cached_property
    def accounting(self) -> accountant.Account:
        """Account : how the declared delta was checked at the declared epsilon."""
        if not self.is_private:
            return accountant.Account(self.epsilon, 1.0, "no noise")
        return accountant.account(self.event, self.epsilon)

    def __add__(self, other: object) -> Certificate:
        """Return the certificate of both fits on the same rows, as `total` does."""
        if not isinstance(other, Certificate):
            return NotImplemented
        return total((self, other)).verify()

    def __radd__(self, other: object) -> Certificate:
        """Return this certificate: `sum` starts at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __le__(self, other: object) -> bool:
        """Return whether this guarantee is at least as strong at every epsilon.

        The guarantees compared are those of the events, not the declared budgets: delta here is at
        most that of the other at every epsilon. Two certificates may be incomparable. The
        comparison is exact if all releases are Gaussian; otherwise it is made at 33 epsilons.
        """
        return dominates(self, other) if isinstance(other, Certificate) else NotImplemented

    def __ge__(self, other: object) -> bool:
        """Return whether this guarantee is at most as strong at every epsilon."""
        return dominates(other, self) if isinstance(other, Certificate) else NotImplemented

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary of plain JSON types, which `from_dict` reads.

        The guarantee comes first, in words. An infinite epsilon becomes the string "inf", as JSON
        has no infinity.

        Returns
        -------
        data : dict
            The fields, the guarantee in words, and derived values.
        """
        values = {"guarantee": self.guarantee,
                  **{f.name: getattr(self, f.name) for f in fields(self)}}
        values.update(
            epsilon=written_epsilon(self.epsilon),
            event=self.event.to_dict(),
            enforced=[asdict(bound) for bound in self.enforced],
            public=list(self.public),
            released=list(self.released),
            versions=dict(self.versions),
            accounting={**asdict(self.accounting), "epsilon": written_epsilon(self.epsilon)},
            assumed=list(self.assumed),
        )
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Rebuild a certificate from the result of `to_dict`, and verify it.

        Parameters
        ----------
        data : dict
            As `to_dict` returned it.

        Returns
        -------
        certificate : Certificate
            A certificate with the same fields.

        Raises
        ------
        ValueError
            If `data` has other keys, or values that do not follow from its events.
        """
        names = [each.name for each in fields(cls)]
        same_keys("certificate", data, ["guarantee", *names, *DERIVED])
        values: dict[str, Any] = {name: tupled(data[name]) for name in names}
        values["epsilon"] = read_epsilon(data["epsilon"])
        values["event"] = event_from_dict(data["event"])
        values["enforced"] = rebuilt_bounds(data["enforced"])
        require(isinstance(data["versions"], dict), "versions", data["versions"], "a dictionary")
        values["versions"] = tuple(data["versions"].items())
        certificate = cls(**values).verify()
        # Older versions rounded to nearest in words; the numbers themselves are verified.
        nearest = f"({certificate.epsilon:g}, {certificate.delta:.3g})-differential privacy"
        require(data["guarantee"] in (certificate.guarantee, nearest), "guarantee",
                data["guarantee"],
                 f"{certificate.guarantee!r}, which follows from epsilon and delta")
        check_accounting(data["accounting"], {**asdict(certificate.accounting),
                                               "epsilon": written_epsilon(certificate.epsilon)})
        require(data["assumed"] == [*certificate.assumed], "assumed", data["assumed"],
                f"{[*certificate.assumed]!r}, which follows from the rest")
        return certificate

    def verify(self) -> Certificate:
        """Return this certificate if its statements follow from its events.

        The events describe the releases. The noise multiplier and the enforced bounds come from
        the fit, and only their types can be checked here.

        Returns
        -------
        certificate : Certificate
            This one.

        Raises
        ------
        ValueError
            If a field has the wrong type or range, or if `delta` is below the delta of the events
            at `epsilon`. An event without noise has delta 1 at every finite epsilon.
        """
        for name, (holds, rule) in FIELD_RULES.items():
            value = getattr(self, name)
            require(holds(value), name, value, rule)
        noiseless = not all(event.protects for event in tally(self.event))
        require((self.noise_multiplier == 0) == noiseless, "noise_multiplier",
                 self.noise_multiplier, "0 exactly where events are without noise")
        require(self.is_private != noiseless, "event", self.event,
                 "without noise (NotPrivate) exactly where epsilon is infinite")
        if noiseless:
            return self
        try:
            follows = self.accounting.delta
        except ArithmeticError:
            # The accountant overflows, so no guarantee is shown.
            follows = 1.0
        if not follows <= self.delta * _OTHER_MACHINES:
            raise ValueError(f"delta={self.delta!r} at epsilon={self.epsilon!r}: the events give "
                             f"delta={follows:.4g} there; use the certificate of the fit.")
        return self

    def _title(self) -> str:
        first = "Privacy certificate" if self.is_private else "Not private"
        return f"{first}: {self.estimator}"

    def _lines(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs in reading order."""
        account = self.accounting
        lines = [
            ("guarantee", self.guarantee),
            ("relation", self.relation),
            ("releases", written(self.event)),
            ("solver", f"{self.solver}, noise multiplier {self.noise_multiplier:.6g}"),
            ("accounting", account.method if not self.is_private else
             f"{account.method}; delta({rounded_up(self.epsilon, 6)}) <= "
             + rounded_up(account.delta, 6)
             + (f", of which numerical slack {account.fft_share:.1e}"
                if account.fft_share else "")),
        ]
        lines += [("enforced", f"{b.name} = {_short(b.value)} ({b.origin}): {b.how}")
                  for b in self.enforced]
        lines += [
            ("taken as public", ", ".join(facts_of(self))),
            *(("assumed", line) for line in self.assumed),
            ("depends on rows",
             ", ".join(self.released) + "; others only through these and public facts"),
            ("noise source", self.noise_source),
            ("arithmetic", ARITHMETIC[self.arithmetic]),
            ("versions", ", ".join(f"{name} {version}" for name, version in self.versions)),
        ]
        return lines


def library_versions(**own: str) -> tuple[tuple[str, str], ...]:
    """Return (name, version) pairs of the software that a result depends on."""
    return (*own.items(), ("numpy", np.__version__), ("scipy", scipy.__version__),
            ("python", platform.python_version()))


def _short(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_short, value))}]"
    return str(value)
