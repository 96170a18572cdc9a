"""Noise and risk of a fit as functions of epsilon, from public numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsk._defaults.risks import RISKS
from dpsk._models import LinearModel
from dpsk._objective.losses import LOSSES
from dpsk._objective.penalties import PENALTIES
from dpsk._parameters import check_choice, check_integer, check_real
from dpsk._problem import Problem

__all__ = ["PrivacyPlan", "plan_privacy"]

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Losses that are planned for by name; each takes its defaults.
_LOSSES = {"logistic": "logistic", "hinge": "huberized_hinge", "squared": "squared"}


@dataclass(frozen=True)
class PrivacyPlan:
    """A plan, made by `plan_privacy`; one entry an epsilon.

    All of it follows from public numbers; no row was looked at.

    Attributes
    ----------
    n_samples, n_features : int
        Numbers of rows and of features.
    delta : float
        Of the guarantee.
    epsilon : ndarray of shape (n_epsilons,)
        Increasing.
    mu : ndarray of shape (n_epsilons,)
        The budget as Gaussian differential privacy.
    noise : ndarray of shape (n_epsilons,)
        Standard deviation of the noise, a coordinate, on the mean of rows of norm at most 1.
    excess_risk : ndarray of shape (n_epsilons,)
        Predicted mean loss above the least that a linear model can have.
    largest_excess_risk : float
        What was taken as good enough.
    suggested_epsilon : float or None
        The smallest of the epsilons whose excess risk is; None if none is.

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
    largest_excess_risk: float
    suggested_epsilon: float | None

    def __str__(self) -> str:
        lines = [f"Privacy plan: {self.n_samples} rows of {self.n_features} features, "
                 f"delta={self.delta:.3g}",
                 f"  {'epsilon':>8} {'mu':>9} {'noise':>10} {'excess risk':>12}"]
        lines += [f"  {epsilon:>8.3g} {mu:>9.3g} {noise:>10.3g} {risk:>12.3g}"
                  for epsilon, mu, noise, risk in zip(self.epsilon, self.mu, self.noise,
                                                      self.excess_risk, strict=True)]
        found = self.suggested_epsilon
        lines.append(f"  suggested: epsilon={found:g}" if found is not None else
                     f"  no epsilon has an excess risk of {self.largest_excess_risk:g} or less: "
                     "more rows or fewer features would help")
        return "\n".join(lines)


def plan_privacy(n_samples: int, n_features: int, *, epsilon: float | None = None,
                 delta: float | None = None, loss: str = "logistic", alpha: float = 0.0,
                 largest_excess_risk: float = 0.02) -> PrivacyPlan:
    r"""Predict the accuracy that privacy costs, before any row is read.

    The predictions are those by which ``solver="auto"`` chooses, for rows as most tables have
    them. They are rough: risks that were measured lay between a tenth of them and twice them.

    Parameters
    ----------
    n_samples : int
        Number of rows, which is public.
    n_features : int
        Number of features, which is public.
    epsilon : array-like of floats > 0, or None, default=None
        None: .1, .2, .5, 1, 2, 4 and 8.
    delta : float in (0, 1) or None, default=None
        None: ``1 / n_samples**2``.
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        Of targets in (-1, 1), where it is "squared".
    alpha : float, default=0.0
        Of an l2 penalty.
    largest_excess_risk : float > 0, default=0.02
        What is taken as good enough. The logistic loss of a model that knows nothing is .69.

    Returns
    -------
    plan : PrivacyPlan
        With a text; `PrivacyPlanDisplay.from_plan` draws it.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    *Privacy.* Nothing of any row is used, so planning costs nothing. The noise on a mean that is
    released once is :math:`2 / (n \mu)` a coordinate.

    Examples
    --------
    >>> from dpsk import plan_privacy
    >>> print(plan_privacy(20_000, 10, epsilon=[0.1, 0.5, 2.0]))
    Privacy plan: 20000 rows of 10 features, delta=2.5e-09
       epsilon        mu      noise  excess risk
           0.1    0.0206    0.00485       0.0342
           0.5    0.0965    0.00104      0.00729
             2     0.361   0.000277      0.00195
      suggested: epsilon=0.5
    """
    n_samples = check_integer("n_samples", n_samples, low=2, remedy="an int >= 2")
    n_features = check_integer("n_features", n_features, low=1, remedy="an int >= 1")
    delta = check_real("delta", 1.0 / n_samples**2 if delta is None else delta, low=0, high=1,
                       open_low=True, open_high=True, remedy="a number in (0, 1)")
    alpha = check_real("alpha", alpha, low=0, remedy="a number >= 0")
    most = check_real("largest_excess_risk", largest_excess_risk, low=0, open_low=True,
                      remedy="a number > 0")
    check_choice("loss", loss, list(_LOSSES))
    epsilons = np.sort([check_real("epsilon", each, low=0, open_low=True,
                                   remedy="numbers > 0, such as [0.5, 1.0]")
                        for each in np.ravel(_EPSILONS if epsilon is None else epsilon).tolist()])
    problems = [_problem(n_samples, n_features, each, delta, loss, alpha)
                for each in epsilons.tolist()]
    mu = np.array([problem.mu for problem in problems])
    risks = np.array(list(map(_excess_risk, problems)))
    enough = epsilons[risks <= most]
    return PrivacyPlan(n_samples, n_features, delta, epsilons, mu, 2.0 / (n_samples * mu), risks,
                       most, float(enough[0]) if len(enough) else None)


def _problem(n_samples, n_features, epsilon, delta, loss, alpha):
    """Return the problem of a linear model with an intercept on rows of norm at most 1."""
    return Problem(
        n_samples=n_samples, model=LinearModel(n_features, None, True, 1.0),
        loss=LOSSES[_LOSSES[loss]](), epsilon=epsilon, delta=delta,
        penalty=PENALTIES["l2"](alpha=alpha, l1_ratio=0.0, radius=1.0, unpenalized=1))


def _excess_risk(problem):
    """Return the least predicted excess risk, at most that of coefficients of zero."""
    # That of Newton's method is sharp where it runs, and seldom reached.
    found = (risk(problem) for name, risk in RISKS.items() if name != "newton")
    return min(min(found), problem.risk_at_zero if math.isfinite(problem.risk_at_zero) else 1.0)
