"""What a fit guarantees, in a form an auditor can check."""

import html
import json
import math
import platform
from dataclasses import asdict, dataclass, fields
from functools import cached_property

import numpy as np
import scipy

from dpsk._privacy import accountant
from dpsk._privacy.events import Event, event_from_dict, tally

__all__ = ["Certificate", "Enforced", "library_versions"]

_RELATION = "replace-one: data sets of n rows that differ in one row, changed arbitrarily"


@dataclass(frozen=True)
class Enforced:
    """A bound that the code enforced on every row, whatever the data.

    Attributes
    ----------
    name : str
    value : float or list
    origin : {"declared", "default", "derived"}
        Given by the user, a constant default, or implied by other bounds. "default" for a
        bound on targets reads "default, not declared".
    how : str
    """

    name: str
    value: object
    origin: str
    how: str


@dataclass(frozen=True)
class Certificate:
    """The privacy certificate of one fit, found as ``privacy_`` on a fitted estimator.

    All of it is public: nothing here depends on the rows.

    Attributes
    ----------
    epsilon, delta : float
        The budget that was asked for and is met.
    event : Event
        Everything the fit declared that it would release; what it did release is at most
        this. Its losses give the curve.
    noise_multiplier : float
        Standard deviation (scale, for pure epsilon) of the noise over the clip norm on a
        sum, or over the sensitivity for a single output.
    estimator, solver : str
    enforced : tuple of Enforced
    public : tuple of str
        What is taken as public.
    released : tuple of str
        Fitted attributes that depend on the rows.
    noise_source : str
    reproducible : bool
        Whether the noise repeats: exactly under a `dpsk.testing.NoiseSeed`.
    arithmetic : {"float", "grid", "snapped"}
    relation : str
    versions : tuple of (str, str)

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
    enforced: tuple
    public: tuple
    released: tuple
    noise_source: str
    reproducible: bool
    arithmetic: str = "float"
    relation: str = _RELATION
    versions: tuple = ()

    def epsilon_at(self, delta):
        """Return the epsilon of this fit at another `delta`, an upper bound.

        Parameters
        ----------
        delta : float in [0, 1)

        Returns
        -------
        epsilon : float
        """
        return accountant.epsilon(self.event, delta)

    def delta_at(self, epsilon):
        """Return the delta of this fit at another `epsilon`, an upper bound.

        Parameters
        ----------
        epsilon : float

        Returns
        -------
        delta : float
        """
        return accountant.delta(self.event, epsilon)

    @cached_property
    def accounting(self):
        """Account : how the declared delta was checked at the declared epsilon."""
        return accountant.account(self.event, self.epsilon)

    def to_dict(self):
        """Return a dictionary of plain JSON types, undone by `from_dict`."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values.update(
            event=self.event.to_dict(),
            enforced=[asdict(bound) for bound in self.enforced],
            public=list(self.public),
            released=list(self.released),
            versions=dict(self.versions),
            accounting=asdict(self.accounting),
        )
        return values

    def to_json(self, **kwargs):
        """Return the certificate as JSON text; keywords go to `json.dumps`."""
        return json.dumps(self.to_dict(), **kwargs)

    @classmethod
    def from_dict(cls, data):
        """Rebuild a certificate from what `to_dict` returned."""
        values = {key: value for key, value in data.items() if key != "accounting"}
        values.update(
            event=event_from_dict(data["event"]),
            enforced=tuple(Enforced(**bound) for bound in data["enforced"]),
            public=tuple(data["public"]),
            released=tuple(data["released"]),
            versions=tuple(data["versions"].items()),
        )
        return cls(**values)

    @classmethod
    def from_json(cls, text):
        """Rebuild a certificate from the text that `to_json` returned."""
        return cls.from_dict(json.loads(text))

    def __str__(self):
        width = 2 + max(len(name) for name, _ in self._lines())
        title = f"Privacy certificate: {self.estimator}"
        body = (f"  {name + ':':<{width}}{text}" for name, text in self._lines())
        return "\n".join([title, *body])

    def _repr_html_(self):
        rows = "".join(f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(name)}"
                       f"</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
                       for name, text in self._lines())
        return (f"<table><caption>Privacy certificate: {html.escape(self.estimator)}</caption>"
                f"<tbody>{rows}</tbody></table>")

    def _lines(self):
        """Return (name, text) pairs in reading order."""
        account = self.accounting
        lines = [
            ("guarantee", f"({self.epsilon:g}, {self.delta:.3g})-differential privacy"),
            ("relation", self.relation),
            ("releases", " + ".join(f"{count} x {event!r}"
                                    for event, count in tally(self.event).items())),
            ("solver", f"{self.solver}, noise multiplier {self.noise_multiplier:.6g}"),
            ("accounting", f"{account.method}; delta({self.epsilon:g}) <= {account.delta:.6g}"
             + (f", of which numerical slack {account.fft_share:.1e}"
                if account.fft_share else "")),
        ]
        lines += [("enforced", f"{b.name} = {_short(b.value)} ({b.origin}): {b.how}")
                  for b in self.enforced]
        lines += [
            ("taken as public", ", ".join(self.public)),
            ("depends on rows", ", ".join(self.released) + "; nothing else on the estimator"),
            ("noise source", self.noise_source),
            ("arithmetic", _ARITHMETIC[self.arithmetic]),
            ("versions", ", ".join(f"{name} {version}" for name, version in self.versions)),
        ]
        return lines


_ARITHMETIC = {
    "float": "float: noise and sums in floating point, an idealisation of real arithmetic",
    "grid": "grid: sums and noise are exact multiples of a power of two",
    "snapped": "snapped: steps in float64; the result and its noise on a grid",
}


def library_versions(**own):
    """Return (name, version) pairs of what a result depends on."""
    return (*own.items(), ("numpy", np.__version__), ("scipy", scipy.__version__),
            ("python", platform.python_version()))


def _short(value):
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return str(value)
