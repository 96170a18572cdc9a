"""What a search spends, from public numbers, before it looks at a row."""

import math
from dataclasses import dataclass

from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.closed_forms import gaussian_delta, gaussian_mu
from dpsk._privacy.events import Event, Gaussian, tally
from dpsk._privacy.plans import BestRuns

__all__ = ["SearchPlan", "search_plan"]

#: An epsilon that is solved for is rounded up, so runs are asked for a little less.
_MARGIN = 1.0 - 1e-9
#: The share of delta of runs that are not Gaussian.
_PURE_SHARE = 0.4


@dataclass(frozen=True)
class SearchPlan:
    """What a search declares before it starts; all of it is public.

    Attributes
    ----------
    epsilon, delta : float
        Of the search, all runs together.
    event : Event
        The best of a secret number of runs.
    mean_runs : float
        The number of runs to expect; how many there are stays secret.
    run_epsilon, run_delta : float
        The budget that every run is trained with.
    n_train, n_holdout : int
    score_noise : float
        Standard deviation of the noise on the score of a run, before its unit.
    """

    epsilon: float
    delta: float
    event: Event
    mean_runs: float
    run_epsilon: float
    run_delta: float
    n_train: int
    n_holdout: int
    score_noise: float

    @property
    def run_event(self):
        """Event : what a run costs, training and score together."""
        return self.event.event

    @property
    def score_mu(self):
        """float : what the score of a run costs at most."""
        return 1.0 / (self.n_holdout * self.score_noise)

    def covers(self, event):
        """Return whether a run may cost an event."""
        releases, allowed = accountant.merge(event), accountant.merge(self.run_event)
        if not releases.is_private:
            return False
        if allowed.rest.is_gaussian:
            return (releases.rest.is_gaussian and releases.rest.mu <= allowed.rest.mu
                    and releases.chance <= allowed.chance * (1 + 1e-9))
        return accountant.delta(event, self.run_epsilon) <= self.run_delta

    def __str__(self):
        return (f"a geometric number of runs, {self.mean_runs:g} on average, each trained with "
                f"({self.run_epsilon:.6g}, {self.run_delta:.3g}) on {self.n_train} rows and "
                f"scored on {self.n_holdout} others with noise of {self.score_noise:.3g}; all "
                f"together ({self.epsilon:g}, {self.delta:.3g})")


def search_plan(epsilon, delta, mean_runs, n_train, n_holdout, *, gaussian, disclosed):
    """Return the `SearchPlan` of a budget.

    Training rows and hold-out rows are disjoint, so that a run costs a row either of the two:
    noise on the score is as large as makes them equal.

    Parameters
    ----------
    epsilon, delta : float
    mean_runs : float
    n_train, n_holdout : int
    gaussian : bool
        Whether all that runs release is Gaussian, else of any kind.
    disclosed : float
        Share of their delta that runs may use as a chance to show a row.
    """
    run_delta = delta
    if not gaussian:
        run_delta = _PURE_SHARE * delta / mean_runs
    elif disclosed:
        run_delta = delta / mean_runs
    chance = disclosed * run_delta if gaussian else run_delta
    declared = BestRuns(mean_runs, not gaussian, chance)
    scale = calibrate(declared, epsilon, delta)
    event = declared(scale)
    if not accountant.delta(event, epsilon) <= delta:
        raise RuntimeError("The declared runs exceed the budget; nothing was drawn.")
    if gaussian:
        mu = 1.0 / scale
        run_epsilon, run_delta = _budget(mu * _MARGIN, run_delta)
    else:
        run_epsilon = 1.0 / scale
        # Whatever is (epsilon, delta)-private costs less than randomized response at both.
        mu = gaussian_mu(run_epsilon, run_delta)
    return SearchPlan(epsilon, delta, event, mean_runs, run_epsilon, run_delta, n_train,
                      n_holdout, 1.0 / (n_holdout * mu))


def _budget(mu, delta):
    """Return the (epsilon, delta) at which every run is mu-GDP, but for its chance.

    A run may leave its chance unused, and spend all of delta on Gaussian noise.
    """
    delta = min(delta, 0.5)
    epsilon = accountant.epsilon(Gaussian(mu), delta)
    # Where delta alone would allow that much it says little of the mu.
    return (epsilon, delta) if epsilon >= mu else (mu, gaussian_delta(mu, mu))


def charged(plan):
    """Return the elementary events of a run, as the ledger holds them."""
    return tuple(tally(plan.run_event))


def score_multiplier(plan):
    """Return the scale of the noise on a sum over the radius in which one row moves it."""
    return 2.0 / plan.score_mu if plan.score_mu < math.inf else 0.0
