"""Noise and risk of a fit as functions of epsilon, from public numbers only."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.columns import DISCLOSURE_SHARE
from dpsk._defaults.risks import RISK_FACTOR
from dpsk._parameters import MOST_EPSILON, check_choice, check_integer, check_real
from dpsk._privacy import accountant
from dpsk._privacy.certificate_fields import rounded_down, rounded_up
from dpsk._privacy.closed_forms import gaussian_epsilon, gaussian_mu
from dpsk._privacy.filters import GaussianFilter
from dpsk.metrics._plan import plan_evaluation
from dpsk.planning._parts import (
    EVALUATION,
    SEARCH,
    checked_shares,
    part_delta,
    search_epsilons,
)
from dpsk.planning._risk import (
    NAMES,
    constant_risk,
    excess_risk,
    good_enough,
    learning_share,
    training,
)
from dpsk.planning._table import Expansion, check_described, expansion, has_words

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

__all__ = ["PrivacyPlan", "plan_privacy"]

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class PrivacyPlan:
    """A privacy plan, made by `plan_privacy`; arrays have one entry per epsilon.

    It depends on public numbers only and reads no row.

    Attributes
    ----------
    n_samples, n_features : int
        Numbers of rows and of columns.
    delta : float
        Delta of the guarantee.
    epsilon : ndarray of shape (n_epsilons,)
        Increasing.
    mu : ndarray of shape (n_epsilons,)
        The budget as Gaussian differential privacy.
    noise : ndarray of shape (n_epsilons,)
        Standard deviation of the noise per coordinate, on the mean of rows of norm at most 1.
    excess_risk : ndarray of shape (n_epsilons,)
        Predicted mean loss minus that of the same model without noise.
    excess_risk_range : ndarray of shape (n_epsilons, 2)
        Half and twice `excess_risk`, for what no public number tells.
    largest_excess_risk : float
        Largest acceptable excess risk.
    suggested_epsilon : float or None
        The smallest epsilon with an acceptable excess risk; None if there is none.
    n_expanded : ndarray of shape (n_epsilons,)
        Approximate number of nonempty features after encoding the columns, by the rules of
        additive models and of `DPTableVectorizer`; `n_features` if columns were not described.
    coefficient_share : ndarray of shape (n_epsilons,)
        Share of mu^2 of training that coefficients get; the rest goes to knots, categories, counts
        and the choice of pairs of columns, or to scales, center and norm bound of features.
    parts : dict of str to ndarray of shape (n_epsilons,)
        The epsilon of every part, at `part_delta`, such that all parts fit in one `PrivacyBudget`;
        empty if no parts were requested. `arguments` returns both numbers.
    part_delta : float
        The delta of every part; `delta` if no parts were requested.
    finds_categories : bool or None
        Whether some described column has categories that a fit must find; None if no columns
        were described.
    candidate : ndarray of shape (n_epsilons,), or None
        The epsilon of every candidate of the part "search", if there is one.
    evaluation_errors : dict of str to ndarray of shape (n_epsilons,)
        Expected standard errors of the part "evaluation", by metric, as `plan_evaluation` returns
        them for all rows; empty without that part.

    See Also
    --------
    plan_privacy : Makes one.
    PrivacyPlanDisplay : Its picture.

    Examples
    --------
    >>> from dpsk import plan_privacy
    >>> plan = plan_privacy(20_000, 10)
    >>> plan.suggested_epsilon in plan.epsilon
    True
    """

    n_samples: int
    n_features: int
    delta: float
    epsilon: np.ndarray
    mu: np.ndarray
    noise: np.ndarray
    excess_risk: np.ndarray
    excess_risk_range: np.ndarray
    largest_excess_risk: float
    suggested_epsilon: float | None
    n_expanded: np.ndarray
    coefficient_share: np.ndarray
    parts: dict[str, np.ndarray]
    part_delta: float
    finds_categories: bool | None
    candidate: np.ndarray | None
    evaluation_errors: dict[str, np.ndarray]

    def arguments(self, part: str, epsilon: float | None = None) -> dict[str, float]:
        """Return the epsilon and the delta of a part.

        All parts then fit in one ``PrivacyBudget(epsilon, plan.delta)``. A part is one fit,
        search, evaluation or statistic.

        Parameters
        ----------
        part : str
            A name in `parts`.
        epsilon : float or None, default=None
            Epsilon of the budget, an entry of `epsilon`; None if only one was planned.

        Returns
        -------
        arguments : dict
            With "epsilon" and "delta".

        Raises
        ------
        ValueError
            If the part or the epsilon was not planned.

        Examples
        --------
        >>> from dpsk import plan_privacy
        >>> plan = plan_privacy(20_000, 10, epsilon=2.0, delta=1e-6,
        ...                     parts={"model": 3, "threshold": 1, "evaluation": 1})
        >>> {name: float(f"{value:.3g}") for name, value in plan.arguments("model").items()}
        {'epsilon': 1.84, 'delta': 5e-07}
        """
        check_choice("part", part, list(self.parts))
        places = [place for place, each in enumerate(self.epsilon.tolist())
                  if epsilon in (None, each)]
        if len(places) != 1:
            raise ValueError(f"epsilon={epsilon!r}: must be one that was planned, of "
                             f"{self.epsilon.tolist()}.")
        return {"epsilon": float(self.parts[part][places[0]]), "delta": self.part_delta}

    def __str__(self) -> str:
        widths = [max(len(head), least) for head, least in zip(
            self._heads(), (8, 9, 10, 12, 7, 7, *[0] * len(self._heads())), strict=False)]
        rows = [self._heads(), *self._rows()]
        return "\n".join([self._title(), *("  " + " ".join(map(str.rjust, row, widths))
                                           for row in rows),
                          *(f"  {line}" for line in self._advice())])

    def _repr_html_(self) -> str:
        def line(cells, kind):
            return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + (
                "</tr>")

        body = "".join(line(row, "td") for row in self._rows())
        caption = "<br>".join(map(html.escape, [self._title(), *self._advice()]))
        return (f"<table><caption>{caption}</caption><thead>{line(self._heads(), 'th')}</thead>"
                f"<tbody>{body}</tbody></table>")

    def _title(self):
        of = "columns" if self._is_expanded else "features"
        return (f"Privacy plan: {self.n_samples} rows of {self.n_features} {of}, "
                f"delta={rounded_up(self.delta, 3)}")

    @property
    def _is_expanded(self):
        return bool(np.any(self.n_expanded != self.n_features))

    def _heads(self):
        return ["epsilon", "mu", "noise", "excess risk", "low", "high",
                *(["features"] if self._is_expanded else []), *self._shown()]

    def _rows(self):
        for place, epsilon in enumerate(self.epsilon):
            yield [rounded_up(epsilon, 3), f"{self.mu[place]:.3g}", f"{self.noise[place]:.3g}",
                   f"{self.excess_risk[place]:.3g}",
                   *(f"{each:.2g}" for each in self.excess_risk_range[place]),
                   *([str(self.n_expanded[place])] if self._is_expanded else []),
                   *(f"{each[place]:.3g}" for each in self._shown().values())]

    def _shown(self):
        """Return the table columns of the parts, each with its derived columns.

        Epsilons are rounded down, so that copied values still fit in the budget.
        """
        beside = {SEARCH: {} if self.candidate is None else {"candidate": self.candidate},
                  EVALUATION: {} if not self.evaluation_errors else {
                      "AUC error": self.evaluation_errors["roc_auc"]}}
        return {head: values for name, own in self.parts.items()
                for head, values in {name: [float(rounded_down(each, 3)) for each in own.tolist()],
                                     **beside.get(name, {})}.items()}

    def _advice(self):
        """Return the lines below the table."""
        found = self.suggested_epsilon
        lines = [f"suggested: epsilon={found:g}" if found is not None else
                 f"no epsilon has an excess risk of {self.largest_excess_risk:.3g} or less: more "
                 "rows or fewer features would help"]
        if self.evaluation_errors:
            lines.append(f"AUC error: if all {self.n_samples} rows are evaluated; of a held-out "
                         "part it is larger, see plan_evaluation")
        if self.parts:
            lines.append(f"delta={rounded_down(self.part_delta, 6)} in every part")
        if self.parts and self.finds_categories is not None:
            lines[-1] += ("; fits that find categories count up to a tenth as disclosure"
                          if self.finds_categories else
                          "; categories are declared: additive models alone count no disclosure")
        return lines


def plan_privacy(n_samples: int, n_features: int | dict[Any, Any], *,
                 epsilon: ArrayLike | None = None, delta: float | None = None,
                 loss: str = "logistic", alpha: float = 0.0,
                 largest_excess_risk: float | None = None,
                 parts: dict[str, float] | None = None, cases: int | None = None,
                 n_iter: float = 10) -> PrivacyPlan:
    r"""Predict the accuracy that privacy costs, before any row is read.

    The prediction is a usual value and a range, half and twice that. Risks also depend on how
    features are related to each other and to the target, which no public number tells. Of ten raw
    tables, five of which its constants were chosen on, the measured risk was within a factor of
    1.5 of the prediction for seven, eight and ten at epsilon .5, 1 and 4, and in the range for
    ten, eight and ten. It was in the range in seven of nine cases of three further tables
    (``python -m benchmarks.utility.plans``).

    Parameters
    ----------
    n_samples : int
        Public number of rows; of people if groups of rows are protected.
    n_features : int or dict
        Public number of features. A dict describes the columns of a raw table for an additive
        model or a `DPTableVectorizer`, by name: "numbers"; an int, the approximate number of
        categories of a string column; or a value as in their `columns`, a list of categories or
        a tuple of bounds or knots. The risk is then that of the encoded features.
    epsilon : array-like of floats > 0, or None, default=None
        None: .1, .2, .5, 1, 2, 4 and 8.
    delta : float in (0, 1) or None, default=None
        None: ``1 / n_samples**2``.
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        Loss of the model; "squared" is for targets in (-1, 1), of a standard deviation of .25.
    alpha : float, default=0.0
        Strength of an l2 penalty.
    largest_excess_risk : float > 0 or None, default=None
        Largest acceptable excess risk. None: .02, or with `cases` the same fraction, 2.9 %, of the
        logistic loss of a model that knows only the number of cases; .00125 for squares.
    parts : dict or None, default=None
        Parts of the budget by name, with weights such as ``{"training": 2, "evaluation": 0.5,
        "threshold": 0.5}``. A part is one fit, search or evaluation; epsilons of parts are roughly
        proportional to the weights. The first part is training, whose risk is predicted. None:
        training alone. A part "evaluation" evaluates the scores of two classes; the plan predicts
        its errors. A part "search" is a `DPRandomizedSearchCV` or `DPGridSearchCV` of `n_iter`
        candidates; the plan gives their epsilon. All parts have the same delta, of which fits that
        find categories take up to a tenth. `PrivacyPlan.arguments` returns the epsilon and delta
        of each part.
    cases : int or None, default=None
        Publicly known, approximate number of rows of the second class, for the errors of an
        evaluation and the acceptable excess risk. None: half.
    n_iter : float, default=10
        Expected number of candidates of a search, as passed to the search.

    Returns
    -------
    plan : PrivacyPlan
        The plan, which prints as a table; `PrivacyPlanDisplay.from_plan` draws it.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    *Privacy.* Planning reads no row, so it has no privacy cost. The noise on a mean that is
    released once is :math:`2 / (n \mu)` per coordinate. Squares of mu add up under composition:
    parts get shares of mu^2 in proportion to their squared weights, so their epsilons add up to
    more than the budget's. This holds for Gaussian mechanisms; networks are charged more (7 %). A
    search gets the epsilon at which a `PrivacyBudget` charges it the mu^2 of its part, for
    candidates with Gaussian noise.

    *Excess risk.* Let d be the number of coefficients that matter, with the constant: one for a
    numeric column, and one less than its categories for any other. Let mu be that of the
    coefficients, and :math:`S = n \mu / \sqrt d`. The prediction for logistic losses is
    :math:`3 / S + .15 / \sqrt S`, at most the loss of a constant. The first term is noise, and
    regularization against it; the second is due to clipped gradients and few steps. For hinge
    losses it is :math:`.26 / \sqrt S`, for squares :math:`.19 / S`, in proportion to the variance
    of targets. The numbers were chosen on tables of Adult and Credit, for squares on Bike. Risks
    of squares are known least: on Wine they were less than a third of the prediction.

    Described columns are those of an additive model, which pays for the choice of pairs, unlike
    a pipeline with `DPTableVectorizer`; the risk is that without pairs. Features are those of
    `DPLogisticRegression`, `DPLinearSVC` or `DPLinearRegression` at their defaults. The bound on
    sample weights is not planned; it takes .5 to 5 % of mu^2.

    Examples
    --------
    >>> from dpsk import plan_privacy
    >>> print(plan_privacy(20_000, 10, epsilon=[0.1, 0.5, 2.0]))
    Privacy plan: 20000 rows of 10 features, delta=2.5e-09
       epsilon        mu      noise  excess risk     low    high
           0.1    0.0206    0.00485       0.0384   0.019   0.077
           0.5    0.0965    0.00104       0.0117  0.0058   0.023
             2     0.361   0.000277      0.00468  0.0023  0.0094
      suggested: epsilon=0.5
    >>> table = {"age": (0, 110), "income": "numbers", "town": 40, "sex": ["f", "m"]}
    >>> print(plan_privacy(20_000, table, epsilon=[3.0], delta=1e-6,
    ...                    parts={"training": 2, "search": 0.5}))
    Privacy plan: 20000 rows of 4 columns, delta=1e-06
       epsilon        mu      noise  excess risk     low    high features training search candidate
             3     0.648   0.000154      0.00563  0.0028   0.011       94     2.89  0.439     0.292
      suggested: epsilon=3
      delta=9.2e-07 in every part; fits that find categories count up to a tenth as disclosure
    """
    n_samples = check_integer("n_samples", n_samples, low=2, remedy="an int >= 2")
    table = n_features if isinstance(n_features, dict) else None
    n_columns = check_described(table) if table is not None else check_integer(
        "n_features", n_features, low=1, remedy="an int >= 1, or a dict that describes columns")
    shares = checked_shares(parts)
    if cases is not None:
        cases = check_integer("cases", cases, low=1, high=n_samples - 1,
                              remedy="None, or an int in [1, n_samples - 1]")
    n_iter = check_real("n_iter", n_iter, low=1, high=1e4, remedy="a number in [1, 10**4]")
    delta = check_real("delta", 1.0 / n_samples**2 if delta is None else delta, low=0, high=1,
                       open_low=True, open_high=True, remedy="a number in (0, 1)")
    alpha = check_real("alpha", alpha, low=0, remedy="a number >= 0")
    check_choice("loss", loss, list(NAMES))
    share = 0.5 if cases is None else cases / n_samples
    most = check_real("largest_excess_risk", good_enough(loss, share) if
                      largest_excess_risk is None else largest_excess_risk, low=0, open_low=True,
                      remedy="None, or a number > 0")
    epsilons = np.sort([check_real("epsilon", each, low=0, open_low=True, high=MOST_EPSILON,
                                   remedy=f"numbers > 0 and at most {MOST_EPSILON:g}, such as "
                                   "[0.5, 1.0]")
                        for each in np.ravel(_EPSILONS if epsilon is None else epsilon).tolist()])
    mu = np.array([gaussian_mu(each, delta) for each in epsilons.tolist()])
    # The budget reserves delta for the disclosure of rare categories; no part gets it.
    held = mu if parts is None else np.array([
        accountant.mu_beside(each, delta, DISCLOSURE_SHARE * delta) for each in epsilons.tolist()])
    own = delta if parts is None else part_delta(delta, list(shares))
    # A fit that discloses categories never exceeds this epsilon at `own`.
    given = {name: np.array([gaussian_epsilon(math.sqrt(share) * each, own) for each in held])
             for name, share in shares.items()}
    errors, candidate = {}, None
    if EVALUATION in given and loss != "squared":
        planned = [plan_evaluation(n_samples, cases=cases, epsilon=each, delta=own)
                   for each in given[EVALUATION].tolist()]
        errors = {name: np.array([each[name] for each in planned]) for name in planned[0]}
    if SEARCH in given:
        found = [search_epsilons(n_iter, math.sqrt(shares[SEARCH]) * mu,
                         GaussianFilter(each, delta, DISCLOSURE_SHARE * delta), own)
                 for each, mu in zip(epsilons.tolist(), held.tolist(), strict=True)]
        given[SEARCH], candidate = np.array(found).T
    expanded = np.empty(len(epsilons), dtype=int)
    left, risks = np.empty(len(epsilons)), np.empty(len(epsilons))
    largest = constant_risk(loss, share)
    for place, each in enumerate(given[next(iter(given))].tolist()):
        code = Expansion(n_columns, n_columns, learning_share(
            training(n_samples, n_columns, each, own, loss, alpha))) if table is None else (
                expansion(table, n_samples, each, own, loss))
        expanded[place], left[place] = code.width, 1.0 - code.share
        rest = gaussian_epsilon(math.sqrt(1.0 - code.share) * gaussian_mu(each, own), own)
        risks[place] = excess_risk(
            training(n_samples, code.directions, rest, own, loss, alpha), largest)
    ends = np.minimum(np.outer(risks, [1.0 / RISK_FACTOR, RISK_FACTOR]), largest)
    enough = epsilons[risks <= most]
    return PrivacyPlan(n_samples, n_columns, delta, epsilons, mu, 2.0 / (n_samples * mu), risks,
                       ends, most, float(enough[0]) if len(enough) else None,
                       expanded, left, given if parts else {}, own,
                       None if table is None else has_words(table), candidate, errors)
