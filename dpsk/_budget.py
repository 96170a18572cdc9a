"""One budget for all fits on the same rows; each fit is charged or refused before it draws."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, cast

import sklearn

from dpsk._charging import Account, enter, leave
from dpsk._parameters import MOST_EPSILON, check_choice, check_real
from dpsk._privacy.budget_certificate import BudgetCertificate
from dpsk._privacy.certificate import library_versions
from dpsk._privacy.certificate_fields import (
    SAME_GROUPS,
    escaped,
    printable,
    rounded_down,
    rounded_up,
)
from dpsk._privacy.charges import today
from dpsk._privacy.events import written
from dpsk._privacy.filters import KINDS, open_filter
from dpsk._version import __version__

if TYPE_CHECKING:
    from typing import Any


__all__ = ["PrivacyBudget"]

_FOLDER: list[Any] = []
#: Names of the files in its folder.
_NUMBERS = count()
#: The part of delta reserved for `disclosure`.
_DISCLOSED = 0.1


class PrivacyBudget:
    r"""Limit the total privacy loss of all fits on one table.

    Inside ``with budget:`` every private fit of the process, its threads and its workers is
    charged before it draws, or refused with a `dpsk.exceptions.BudgetExceededError` and nothing
    spent. Settings of a fit, and whether it is made at all, may depend on what earlier fits
    released.

    Parameters
    ----------
    epsilon, delta : float
        > 0, and in [0, 1). The guarantee of everything that is fitted inside, taken together.
    kind : {"gaussian", "renyi", "pure"} or None, default=None
        What is counted; fixed from the first fit on. "gaussian" is right for full-batch solvers,
        transformers and additive models; "renyi" for `sgd`, `svrg` and networks; "pure" for delta
        0. None: "pure" if delta is 0, else "gaussian".
    disclosure : float or None, default=None
        For "gaussian", the part of delta for chances to tell all. Of it, a fit that finds
        categories (`DPTableVectorizer`, additive models, pipelines) takes a tenth of the fit's own
        delta; a search, and any other fit that is not Gaussian, takes a sixteenth of `disclosure`,
        whatever its delta, so that at most 16 of these find room. A search of such fits, or of
        fits that may find categories, takes up to 5/64, a tuned threshold of these at most 1/64.
        None: a tenth of delta.
    unit : {"row", "group"}, default="row"
        What is protected; "group" admits fits with groups of rows only, taken to be the same
        people in all fits. In the eyes of "row" a row that is replaced stays in its group.
    name : str or None, default=None
        Of the data set. The budget is for the same rows throughout, which is for the caller to see
        to.
    path : str or None, default=None
        File of what has been spent, which outlasts the process and may be shared by several; made
        if there is none, and else continued if it is one of the same budget. An empty file is
        refused, as a budget may have been in it. None: a temporary file.

    Attributes
    ----------
    charges : list of Charge
        What fits were charged for, in order.
    spent : dict
        What has been spent, in what is counted.
    limits : dict
        The most that may be spent.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `path` holds another budget, or nothing, or was changed.

    See Also
    --------
    dpsk.privacy_report : What fits gave away together, afterwards.
    dpsk.accounting.BudgetCertificate : One guarantee for all that was charged, to hand over.
    dpsk.exceptions.BudgetExceededError : Raised where a fit is not admitted.

    Notes
    -----
    *Privacy.* All that is released inside is (epsilon, delta)-differentially private for data sets
    that differ in one row (or group), changed arbitrarily, under full adaptivity: sums of squares
    of mu ("gaussian"), of Renyi divergences at one order ("renyi") or of epsilons ("pure") stay
    within what the budget is worth. A fit is charged for all that it declares, at once and before
    its first draw; if it fails later it stays charged. Not covered: exact scores, and what other
    packages fit.

    *Where.* Fits are charged in the process of the block, in all of its threads, and in all
    processes that descend from it, such as workers of joblib and of `multiprocessing`, whether
    these are older than the block or not. An estimator that is pickled inside charges the budget
    wherever it can reach its file, and so does a process whose environment names the file in
    ``DPSK_BUDGET``. Without one, workers of Dask, Ray and Spark, workers whose parent has ended
    and children that run as another user refuse to fit. Other servers that are older than the
    block, such as Celery's, and daemons that got another environment are not charged. Lazy
    results of joblib, futures, threads and processes that were begun inside and are not done
    when the block ends are charged until they are. What is pickled inside holds the path of the
    budget, so save models after the block.

    References
    ----------
    Smith and Thakurta (2022) and Koskela, Tobaben and Honkela (2023) for Gaussian filters; Feldman
    and Zrnic (2021) for Renyi filters.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression, PrivacyBudget
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> budget = PrivacyBudget(1.0, 1e-5)
    >>> with budget:
    ...     model = DPLogisticRegression(epsilon=0.5, delta=1e-5).fit(X, y)
    >>> round(budget.left(delta=1e-5), 2)
    0.83
    >>> with budget:  # doctest: +ELLIPSIS
    ...     model = DPLogisticRegression(epsilon=1.0, delta=1e-5).fit(X, y)
    Traceback (most recent call last):
        ...
    dpsk.exceptions.BudgetExceededError: The privacy cost of the fit of DPLogisticRegression is ...
    """

    def __init__(self, epsilon: float, delta: float | None, *, kind: str | None = None,
                 disclosure: float | None = None, unit: str = "row", name: str | None = None,
                 path: Any = None) -> None:
        epsilon = check_real("epsilon", epsilon, low=0, open_low=True, high=MOST_EPSILON,
                             remedy=f"a number > 0 and at most {MOST_EPSILON:g}")
        delta = check_real("delta", delta, low=0, high=1, open_high=True,
                           remedy="a number in [0, 1)")
        kind = kind or ("gaussian" if delta else "pure")
        check_choice("kind", kind, list(KINDS))
        if (kind == "pure") != (delta == 0):
            raise ValueError(f"kind={kind!r}: 'pure' goes with delta=0 and the others with "
                             f"delta > 0; got delta={delta!r}.")
        if disclosure is None:
            disclosure = _DISCLOSED * delta if kind == "gaussian" else 0.0
        disclosure = check_real("disclosure", disclosure, low=0,
                                remedy="a number >= 0 and below delta")
        if disclosure and (kind != "gaussian" or disclosure >= delta):
            raise ValueError(f"disclosure={disclosure!r}: must be below delta={delta!r}, and 0 "
                             "unless kind='gaussian'.")
        check_choice("unit", unit, ["row", "group"])
        if not (name is None or isinstance(name, str)):
            raise ValueError(f"name={name!r}: must be None or a string.")
        counted = open_filter(kind, float(epsilon), float(delta), float(disclosure))
        self._account = Account(
            _temporary() if path is None else path,
            {"kind": kind, **asdict(cast("Any", counted)), "delta": float(delta), "unit": unit,
             "name": name})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PrivacyBudget:
        """Return the budget whose file is at a path.

        Parameters
        ----------
        path : str
            The file.

        Returns
        -------
        budget : PrivacyBudget
            It continues from what was spent.
        """
        budget = cls.__new__(cls)
        budget._account = Account(path)
        return budget

    def __enter__(self) -> PrivacyBudget:
        enter(self._account)
        return self

    def __exit__(self, *raised: Any) -> None:
        leave(self._account)

    @property
    def path(self) -> str:
        """str : the file of what has been spent."""
        return self._account.path

    @property
    def charges(self) -> list[Any]:
        """list of Charge : what fits were charged for, in order."""
        return self._account.charges()

    @property
    def spent(self) -> dict[str, float]:
        """dict : what has been spent, in what is counted."""
        account = self._account
        return dict(zip(account.filter.units, account.sum(self.charges), strict=True))

    @property
    def limits(self) -> dict[str, float]:
        """dict : the most that may be spent."""
        return dict(zip(self._account.filter.units, self._account.filter.limits, strict=True))

    def left(self, delta: float | None = None) -> float:
        """Return the largest epsilon of a Gaussian fit that would still be admitted.

        Parameters
        ----------
        delta : float in (0, 1) or None, default=None
            Of that fit; None: that of the budget.

        Returns
        -------
        epsilon : float
            That of a pure fit, where delta is 0.
        """
        account = self._account
        own = account.terms["delta"]
        delta = own if delta is None else check_real(
            "delta", delta, low=0, open_low=own > 0, high=1, open_high=True,
            remedy="None, or a number in (0, 1), as no Gaussian fit has a guarantee at 0")
        return account.filter.left(account.sum(self.charges), delta)

    def certificate(self) -> BudgetCertificate:
        """Return one certificate for everything that was charged so far.

        Returns
        -------
        certificate : BudgetCertificate
            As text, JSON, and a page for a privacy officer: ``to_json()``, ``to_html()``.
        """
        charges, checksum = self._account.statement()
        terms = self._account.terms
        # Clocks of machines that share the file may differ.
        date = max([today(), *(charge.date for charge in charges)])
        return BudgetCertificate(
            charges=tuple(charges), date=date, checksum=checksum,
            disclosure=terms.get("disclosure", 0.0),
            versions=library_versions(dpsk=__version__, sklearn=sklearn.__version__),
            **{each: terms[each] for each in ("epsilon", "delta", "kind", "unit", "name")}
        ).verify()

    def __repr__(self) -> str:
        return repr(self._account)

    def __str__(self) -> str:
        return "\n".join(map(printable, [self._title(), *(
            f"  {name}: {text}" for name, text in self._lines(self.charges))]))

    def _repr_html_(self) -> str:
        charges = self.charges
        rows = "".join(f"<tr><th style='text-align:left'>{escaped(name)}</th>"
                       f"<td style='text-align:left'>{escaped(text)}</td></tr>"
                       for name, text in self._lines(charges))
        share = 100.0 * self._share(charges)
        return (f"<table><caption>{escaped(self._title())}<br><progress max='100' "
                f"value='{share:.1f}'></progress> {share:.1f} % spent</caption>"
                f"<tbody>{rows}</tbody></table>")

    def _title(self):
        terms = self._account.terms
        name = f" of {terms['name']}" if terms["name"] else ""
        return (f"Privacy budget{name}: ({rounded_up(terms['epsilon'], 6)}, "
                f"{rounded_up(terms['delta'], 3)}) for a {terms['unit']}")

    def _lines(self, charges):
        counted, terms = self._account.filter, self._account.terms
        delta, spent = terms["delta"], self._account.sum(charges)
        if terms["unit"] == "group":
            yield "on trust", f"{SAME_GROUPS}."
        yield "counted", f"{terms['kind']}, {', '.join(counted.units)}"
        for unit, one, limit in zip(counted.units, spent, counted.limits, strict=True):
            if limit:
                yield f"spent, {unit}", f"{rounded_up(one, 6)} of {rounded_up(limit, 6)}"
        at = rounded_down(delta, 3)
        left = rounded_down(counted.left(spent, float(at)), 4)
        yield "left", f"epsilon={left} at delta={at} for one fit"
        for charge in charges:
            yield "charged", f"{charge.name}: {written(charge.event)}"

    def _share(self, charges):
        pairs = zip(self._account.sum(charges), self._account.filter.limits, strict=True)
        return max((one / limit for one, limit in pairs if limit), default=0.0)


def _temporary():
    """Return a path in a folder that the process removes at its end."""
    if not _FOLDER or _FOLDER[0] != os.getpid():
        folder = tempfile.mkdtemp(prefix="dpsk-budgets-")
        _FOLDER[:] = [os.getpid(), folder]
        atexit.register(_remove, os.getpid(), folder)
    return os.path.join(_FOLDER[1], f"{next(_NUMBERS)}.budget")


def _remove(owner, folder):
    # A forked child ends with the handlers of its parent.
    if owner == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
