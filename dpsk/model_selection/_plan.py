"""Privacy cost of a search, computed from public numbers before any row is read."""

import math
from dataclasses import dataclass, field, replace

from dpsk._defaults.evaluation import holdout_shares
from dpsk._privacy import accountant
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.certificate_fields import rounded_up
from dpsk._privacy.closed_forms import gaussian_delta
from dpsk._privacy.domination import is_covered
from dpsk._privacy.events import Composed, Event, Gaussian
from dpsk._privacy.plans import BestRuns
from dpsk._problem import Budget
from dpsk._steps import OTHER_KINDS

__all__ = ["SearchPlan", "search_plan"]

#: Solved values are rounded up, so runs get a slightly smaller mu.
_MARGIN = 1.0 - 1e-9
#: Fraction of delta for the probability of full disclosure in all runs together, and the largest
#: part of a run's share that a run of other than Gaussian mechanisms may use itself.
_CHANCE, _OWN_CHANCE = 0.01, 0.5


@dataclass(frozen=True)
class SearchPlan:
    """Public plan of a search, declared before it starts.

    Attributes
    ----------
    epsilon, delta : float
        Budget of the search, all runs together.
    event : Event
        Event of the best of a secret number of runs, or of the run if there is exactly one.
    mean_runs : float
        Expected number of runs; the actual number stays secret. 1: exactly one run.
    run_epsilon, run_delta : float
        Training budget of every run.
    n_train, n_holdout : int
    choices : int
        Number of candidates that are computed from one training. A run chooses one of them on
        the held-out rows, under noise.
    score_mu, choice_mu, count_mu : float
        mu of the queries of a run on held-out rows: its score, the choice and the count of a
        class; 0 for a query that is not made.
    score_shares : tuple of float
        Fractions of the mu^2 of the score, one for each sum from which scores are computed.
    grouped : bool
        Whether groups of rows are protected; sizes are then numbers of groups.
    """

    epsilon: float
    delta: float
    event: Event
    mean_runs: float
    run_epsilon: float
    run_delta: float
    n_train: int
    n_holdout: int
    choices: int
    score_mu: float
    choice_mu: float
    count_mu: float
    # Not in the text: scoring and groups already key the noise.
    score_shares: tuple[float, ...] = field(default=(1.0,), repr=False)
    grouped: bool = field(default=False, repr=False)

    @property
    def budget(self):
        """Budget : budget of the search on the whole table."""
        return Budget(self.n_train + self.n_holdout, 1, self.epsilon, self.delta, self.grouped)

    @property
    def run_event(self):
        """Event : cost of a run. A row is trained on or scored, never both."""
        return self.event.event if isinstance(self.event, BestOf) else self.event

    @property
    def holdout_event(self):
        """Event : cost of a run for a held-out row."""
        parts = list(self.score_events)
        if self.choices > 1:
            parts.insert(0, self.choice)
        if self.count_mu:
            parts.insert(0, Gaussian(self.count_mu))
        return Composed(tuple(parts))

    @property
    def choice(self):
        """Event : the choice among the candidates of a run."""
        return Gaussian(self.choice_mu)

    @property
    def score_events(self):
        """list of Event : the noisy sums from which scores are computed."""
        return [Gaussian(self.score_mu * math.sqrt(share)) for share in self.score_shares]

    @property
    def score_noise(self):
        """float : noise standard deviation of a run's score, as a mean over [0, 1]."""
        return 1.0 / (self.n_holdout * self.score_mu)

    def covers(self, event):
        """Return whether the budget of a run covers an event."""
        allowed = accountant.merge(self.run_event)
        return is_covered(event, allowed.rest.mu, allowed.chance * (1 + 1e-9))

    def with_less(self, share):
        """Return the plan in which runs train with a fraction of their mu."""
        mu = accountant.merge(self.run_event).rest.mu * _MARGIN * share
        epsilon, delta = _budget(mu, self.run_delta)
        return replace(self, run_epsilon=epsilon, run_delta=delta)

    def __str__(self):
        one = self.mean_runs == 1
        runs = "one run" if one else f"a geometric number of runs, {self.mean_runs:g} on average,"
        among = "" if self.choices == 1 else (
            f", one of its {self.choices} candidates chosen under noise and")
        several = self.count_mu or len(self.score_shares) > 1
        noise = "under noise" if several else (
            f"with noise of {self.score_noise:.3g} of the range of a row's score")
        return (f"{runs}{'' if one else ' each'} trained with ({rounded_up(self.run_epsilon, 6)}, "
                f"{rounded_up(self.run_delta, 3)}) on {self.n_train} "
                f"{'groups of rows' if self.grouped else 'rows'}{among or ' and'} scored on "
                f"{self.n_holdout} others {noise}; all together "
                f"({rounded_up(self.epsilon, 6)}, {rounded_up(self.delta, 3)})")


def search_plan(epsilon, delta, mean_runs, n_train, n_holdout, *, gaussian, disclosed, choices=1,
                counts=False, most_chance=1.0, score_shares=(1.0,)):
    """Return the `SearchPlan` of a budget.

    Training rows and held-out rows are disjoint, so a run costs a row only one of the two. The
    noise on queries to held-out rows is set so that both cost the same.

    Parameters
    ----------
    epsilon, delta : float
    mean_runs : float
    n_train, n_holdout : int
    gaussian : bool
        Whether runs use Gaussian mechanisms only. Otherwise a run is calibrated in its tail, and
        must be covered by its mu plus a failure probability.
    disclosed : float
        Fraction of its delta that a run may use as a probability of showing a row.
    choices : int
        Number of candidates that are computed from one training.
    counts : bool
        Whether the held-out rows of one class are counted.
    most_chance : float
        Largest probability of full disclosure, in all runs together.
    score_shares : tuple of float
        Fractions of the mu^2 of the score, one for each sum from which scores are computed.
    """
    chance, run_delta = 0.0, delta
    if disclosed or not gaussian:
        chance = min(_CHANCE * delta, most_chance) / mean_runs
        # Runs that are not Gaussian need the rest for what exceeds their mu-GDP curve.
        own = 1.0 if gaussian else _OWN_CHANCE
        run_delta = min(delta / mean_runs, own * chance / disclosed) if disclosed else delta
        if not gaussian:
            run_delta = min(run_delta, chance)
    declared = BestRuns(mean_runs, chance)
    scale = calibrate(declared, epsilon, delta)
    event = declared(scale)
    if not accountant.delta(event, epsilon) <= delta:
        raise RuntimeError("The declared runs exceed the budget; nothing was drawn.")
    mu = 1.0 / scale
    run_epsilon, run_delta = _budget(mu * _MARGIN * (1.0 if gaussian else OTHER_KINDS), run_delta)
    shares = holdout_shares(mean_runs > 1, choices > 1, counts)
    if len(shares) > 1 or len(score_shares) > 1:
        # Solving for the range of a choice rounds its mu up, and so does a sum of mu.
        mu *= _MARGIN
    plan = SearchPlan(
        epsilon, delta, event, mean_runs, run_epsilon, run_delta, n_train, n_holdout, choices,
        *(math.sqrt(shares.get(name, 0.0)) * mu for name in ("score", "choice", "count")),
        score_shares=score_shares)
    if not plan.covers(plan.holdout_event):
        raise RuntimeError("What is asked of held-out rows exceeds a run; nothing was drawn.")
    return plan


def _budget(mu, delta):
    """Return the (epsilon, delta) of a mu-GDP run, apart from its failure probability.

    A run may spend all of delta on Gaussian noise, and nothing on failures.
    """
    delta = min(delta, 0.5)
    epsilon = accountant.epsilon(Gaussian(mu), delta)
    # With a large delta, epsilon is too small to determine mu.
    return (epsilon, delta) if epsilon >= mu else (mu, gaussian_delta(mu, mu))
