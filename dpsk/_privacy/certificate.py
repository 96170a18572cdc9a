"""What a fit guarantees, in a form an auditor can check."""

import html
import json
import math
import platform
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from numbers import Real

import numpy as np
import scipy

from dpsk._privacy import accountant
from dpsk._privacy.events import Event, event_from_dict, tally

__all__ = ["GROUP_RELATION", "Certificate", "Enforced", "library_versions"]

_RELATION = "replace-one: data sets of n rows that differ in one row, changed arbitrarily"
#: The relation where rows are in groups, whose number n is.
GROUP_RELATION = ("replace-one: data sets of n groups of rows that differ in one group, changed "
                  "arbitrarily, its number of rows included")


@dataclass(frozen=True)
class Enforced:
    """A bound that the code enforced on every row, whatever the data.

    Attributes
    ----------
    name : str
    value : float or list
    origin : {"declared", "default", "derived", "released"}
        Given by the user, a constant default, implied by other bounds, or learnt from the rows by
        a release of this fit. "default" for a bound on targets reads "default, not declared".
    how : str
    """

    name: str
    value: object
    origin: str
    how: str


@dataclass(frozen=True)
class Certificate:
    """The privacy certificate of one fit, found as ``privacy_`` on a fitted estimator.

    All of it is public: nothing here depends on the rows, but for bounds that were released.

    Attributes
    ----------
    epsilon, delta : float
        The budget that was asked for and is met; with an infinite epsilon there is none, and
        the fit is not private.
    event : Event
        Everything the fit declared that it would release; what it did release is at most
        this. Its losses give the curve.
    noise_multiplier : float
        Standard deviation (scale, for pure epsilon) of the noise over the clip norm on a
        sum, or over the sensitivity for a single output; 0 where there is none.
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

    @property
    def is_private(self):
        """bool : whether there is a guarantee; not where epsilon is infinite."""
        return self.epsilon < math.inf

    @property
    def guarantee(self):
        """str : the guarantee in words, or that there is none."""
        if not self.is_private:
            return "not private: epsilon=inf, fitted without noise; there is no guarantee"
        return f"({self.epsilon:g}, {self.delta:.3g})-differential privacy"

    @cached_property
    def accounting(self):
        """Account : how the declared delta was checked at the declared epsilon."""
        if not self.is_private:
            return accountant.Account(self.epsilon, 1.0, "no noise")
        return accountant.account(self.event, self.epsilon)

    def to_dict(self):
        """Return a dictionary of plain JSON types, undone by `from_dict`.

        The guarantee comes first, in words. An infinite epsilon is the string "inf", as JSON
        has no such number.
        """
        values = {"guarantee": self.guarantee,
                  **{f.name: getattr(self, f.name) for f in fields(self)}}
        values.update(
            epsilon=_written(self.epsilon),
            event=self.event.to_dict(),
            enforced=[asdict(bound) for bound in self.enforced],
            public=list(self.public),
            released=list(self.released),
            versions=dict(self.versions),
            accounting={**asdict(self.accounting), "epsilon": _written(self.epsilon)},
        )
        return values

    def to_json(self, **kwargs):
        """Return the certificate as JSON text; keywords go to `json.dumps`."""
        return json.dumps(self.to_dict(), **kwargs)

    @classmethod
    def from_dict(cls, data):
        """Rebuild a certificate from what `to_dict` returned, and verify it.

        Parameters
        ----------
        data : dict

        Returns
        -------
        certificate : Certificate

        Raises
        ------
        ValueError
            If `data` has other keys, or values that do not follow from its events.
        """
        _same_keys("certificate", data,
                   ["guarantee", *(f.name for f in fields(cls)), "accounting"])
        values = {key: _tupled(value) for key, value in data.items()
                  if key not in ("guarantee", "accounting")}
        values["epsilon"] = _read(data["epsilon"])
        values["event"] = event_from_dict(data["event"])
        values["enforced"] = _rebuilt_bounds(data["enforced"])
        _require(isinstance(data["versions"], dict), "versions", data["versions"], "a dictionary")
        values["versions"] = tuple(data["versions"].items())
        certificate = cls(**values).verify()
        _require(data["guarantee"] == certificate.guarantee, "guarantee", data["guarantee"],
                 f"{certificate.guarantee!r}, which follows from epsilon and delta")
        _check_accounting(data["accounting"], {**asdict(certificate.accounting),
                                               "epsilon": _written(certificate.epsilon)})
        return certificate

    def verify(self):
        """Return this certificate if what it states follows from its events.

        The events stand for what was released; the noise multiplier and the bounds that were
        enforced are those of the fit, and only their types can be checked here.

        Returns
        -------
        certificate : Certificate
            This one.

        Raises
        ------
        ValueError
            If a field has the wrong type or range, or if `delta` at `epsilon` is below what
            follows from the events: 1 at every finite epsilon, where one of them has no noise.
        """
        for name, (holds, rule) in _RULES.items():
            value = getattr(self, name)
            _require(holds(value), name, value, rule)
        noiseless = not all(event.protects for event in tally(self.event))
        _require((self.noise_multiplier == 0) == noiseless, "noise_multiplier",
                 self.noise_multiplier, "0 exactly where events are without noise")
        _require(self.is_private != noiseless, "event", self.event,
                 "without noise (NotPrivate) exactly where epsilon is infinite")
        if noiseless:
            return self
        try:
            follows = self.accounting.delta
        except ArithmeticError:
            # Counts or numbers too large to be priced: nothing is shown.
            follows = 1.0
        if not follows <= self.delta * _OTHER_MACHINES:
            raise ValueError(f"delta={self.delta!r} at epsilon={self.epsilon!r}: the events give "
                             f"delta={follows!r} there; use the certificate that the fit made.")
        return self

    @classmethod
    def from_json(cls, text):
        """Rebuild a certificate from the text that `to_json` returned; see `from_dict`."""
        return cls.from_dict(json.loads(text))

    def __str__(self):
        width = 2 + max(len(name) for name, _ in self._lines())
        title = self._title()
        body = (f"  {name + ':':<{width}}{text}" for name, text in self._lines())
        return "\n".join([title, *body])

    def _repr_html_(self):
        rows = "".join(f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(name)}"
                       f"</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
                       for name, text in self._lines())
        return (f"<table><caption>{html.escape(self._title())}</caption>"
                f"<tbody>{rows}</tbody></table>")

    def _title(self):
        first = "Privacy certificate" if self.is_private else "Not private"
        return f"{first}: {self.estimator}"

    def _lines(self):
        """Return (name, text) pairs in reading order."""
        account = self.accounting
        lines = [
            ("guarantee", self.guarantee),
            ("relation", self.relation),
            ("releases", " + ".join(f"{count} x {event!r}"
                                    for event, count in tally(self.event).items())),
            ("solver", f"{self.solver}, noise multiplier {self.noise_multiplier:.6g}"),
            ("accounting", account.method if not self.is_private else
             f"{account.method}; delta({self.epsilon:g}) <= {account.delta:.6g}"
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
    "float": "float: noise and sums in floating point, an idealization of real arithmetic",
    "grid": "grid: sums over rows are exact; answers and noise are multiples of a power of two",
    "snapped": "snapped: steps in float64; the result and its noise on a grid",
}


#: What stands for an infinite epsilon in JSON.
_NO_BUDGET = "inf"
#: What another machine's elementary functions may change.
_OTHER_MACHINES = 1 + 1e-9


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value):
    return isinstance(value, str)


def _all_of(cls):
    return lambda value: isinstance(value, tuple) and all(isinstance(v, cls) for v in value)


def _are_versions(value):
    return _all_of(tuple)(value) and all(len(pair) == 2 and _all_of(str)(pair) for pair in value)


#: What can be said of each field by itself.
_RULES = {
    "epsilon": (lambda v: (_is_number(v) and v > 0) or (isinstance(v, float) and v == math.inf),
                "a finite number > 0, or inf where nothing is private"),
    "delta": (lambda v: _is_number(v) and 0 <= v < 1, "a number in [0, 1)"),
    "event": (lambda v: isinstance(v, Event), "an Event"),
    "noise_multiplier": (lambda v: _is_number(v) and v >= 0, "a finite number >= 0"),
    "estimator": (_is_text, "a string"),
    "solver": (_is_text, "a string"),
    "enforced": (_all_of(Enforced), "a tuple of Enforced"),
    "public": (_all_of(str), "strings"),
    "released": (_all_of(str), "strings"),
    "noise_source": (_is_text, "a string"),
    "reproducible": (lambda v: isinstance(v, bool), "True or False"),
    "arithmetic": (lambda v: _is_text(v) and v in _ARITHMETIC, f"one of {list(_ARITHMETIC)}"),
    "relation": (lambda v: v in (_RELATION, GROUP_RELATION),
                 f"{_RELATION!r} or {GROUP_RELATION!r}"),
    "versions": (_are_versions, "pairs of strings"),
}


def _rebuilt_bounds(bounds):
    _require(isinstance(bounds, list), "enforced", bounds, "a list")
    names = [f.name for f in fields(Enforced)]
    for bound in bounds:
        _same_keys("enforced", bound, names)
        ok = all(isinstance(bound[name], str) for name in names if name != "value")
        ends = bound["value"] if isinstance(bound["value"], list) else [bound["value"]]
        _require(ok and all(isinstance(end, Real) for end in ends), "enforced", bound,
                 "numbers, or lists of numbers, described by strings")
    return tuple(Enforced(**bound) for bound in bounds)


def _check_accounting(stated, follows):
    _same_keys("accounting", stated, follows)
    for name, value in follows.items():
        same = stated[name] == value
        if isinstance(value, float) and _is_number(stated[name]) and name != "epsilon":
            # Another machine or version of the accountant may take another grid.
            same = math.isclose(stated[name], value, rel_tol=1e-2)
        _require(same, f"accounting[{name!r}]", stated[name],
                 f"{value!r}, which follows from the events")


def _same_keys(name, data, keys):
    _require(isinstance(data, dict) and set(data) == set(keys), f"keys of {name}",
             sorted(map(str, data)) if isinstance(data, dict) else data, ", ".join(keys))


def _written(epsilon):
    """Return epsilon as JSON can hold it."""
    return epsilon if epsilon != math.inf else _NO_BUDGET


def _read(epsilon):
    """Return epsilon from what JSON held; only its own word stands for infinity."""
    if isinstance(epsilon, float) and epsilon == math.inf:
        return _NO_BUDGET
    return math.inf if isinstance(epsilon, str) and epsilon == _NO_BUDGET else epsilon


def _tupled(value):
    return tuple(value) if isinstance(value, list) else value


def _require(ok, name, value, rule):
    if not ok:
        raise ValueError(f"{name}={value!r}: must be {rule}.")


def library_versions(**own):
    """Return (name, version) pairs of what a result depends on."""
    return (*own.items(), ("numpy", np.__version__), ("scipy", scipy.__version__),
            ("python", platform.python_version()))


def _short(value):
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return str(value)
