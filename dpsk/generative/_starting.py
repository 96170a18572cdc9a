"""Normal distributions of the classes, released as the start of a generator."""

from dataclasses import replace

import numpy as np

from dpsk._defaults.adversarial import START_SHARE
from dpsk._defaults.budgets import MOST_COLUMNS, mu_of_share
from dpsk._models.class_laws import ClassLaws
from dpsk._objective.saddle.critic import CriticScore
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.base import Stage
from dpsk._stages.centered import can_learn_spread
from dpsk._stages.class_models import roots
from dpsk._stages.class_plan import FEW_COLUMNS, GaussianPlan
from dpsk._stages.counting import shares

__all__ = ["Starting", "starting_pays"]


class Starting(Stage):
    """Release a Gaussian sampler's statistics of rows in [-1, 1], and pass them to the loss.

    They include class proportions. Later stages get the rows unchanged.
    """

    without_noise = True

    def __init__(self, n_classes):
        self._n_classes, self._bounds = n_classes, []
        if n_classes > 1:
            self.attribute = "class_prior_"

    def event(self, problem):
        """Return the event of the release."""
        return self._plan(problem).event(self._multiplier(problem))

    def enforced_bounds(self, problem):
        plan = self._plan(problem)
        return [Enforced("row_norm", plan.norm, "derived", "l2 norm of one row as it enters the "
                         "noisy mean"),
                *self._bounds,
                *[Enforced("data_norm", plan.spread, "derived", "l2 norm of one row less the "
                           "released mean; longer ones are scaled down")] * bool(plan.spread)]

    def release(self, problem, rows, session):
        """Return the problem, with the released distributions in its loss, and the rows."""
        plan = self._plan(problem)
        found = plan.run((rows, (), None, None), session, self._multiplier(problem))
        self._bounds = session.enforced
        class_shares, means, covariances, _ = found.laws
        given = shares(class_shares * problem.n_samples, problem.n_samples)
        self.value = np.array(given)
        laws = ClassLaws(found.row_map.center, found.basis, means, roots(covariances))
        return replace(problem, loss=CriticScore(given, laws=laws)), rows

    def _plan(self, problem):
        """Return the mechanism; it learns a bound on centered rows if rows suffice."""
        width = problem.model.n_features
        budget = Budget(problem.n_samples, width, problem.epsilon, problem.delta)
        longest = float(np.sqrt(width))
        return GaussianPlan(budget, self._n_classes, None, width > FEW_COLUMNS, False,
                            longest, None if can_learn_spread(budget) else longest)

    def _multiplier(self, problem):
        return 1.0 / mu_of_share(problem, START_SHARE) if problem.is_private else 0.0


def starting_pays(width):
    """Return whether second moments of `width` network columns are worth their time."""
    return width <= MOST_COLUMNS
