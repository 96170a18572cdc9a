"""Privacy cost of a search, from public numbers, before it looks at a row."""

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

#: What is solved for is rounded up, so runs are asked for a little less.
_MARGIN = 1.0 - 1e-9
#: The share of delta of chances to tell all, in all runs together, and that of a run which it may
#: spend on them at most.
_CHANCE, _OWN_CHANCE = 0.01, 0.5


@dataclass(frozen=True)
class SearchPlan:
    """Declaration of a search before it starts; all of it is public.

    Attributes
    ----------
    epsilon, delta : float
        Of the search, all runs together.
    event : Event
        The best of a secret number of runs; of one that is made for sure, that run.
    mean_runs : float
        The number of runs to expect; how many there are stays secret. 1: one for sure.
    run_epsilon, run_delta : float
        The budget that every run is trained with.
    n_train, n_holdout : int
    choices : int
        How many candidates of a run follow from what its training released; one of them is
        chosen on the held-out rows, under noise.
    score_mu, choice_mu, count_mu : float
        What a run asks of the held-out rows, each as a mu: its score, the choice and the count
        of a class; 0 for what is not asked.
    score_shares : tuple of float
        Of the mu^2 of the score, of all sums that scores follow from.
    grouped : bool
        Whether rows are those of groups, and sizes numbers of these.
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
    # What scores are asked, and who is whose, is in the key of the noise already.
    score_shares: tuple[float, ...] = field(default=(1.0,), repr=False)
    grouped: bool = field(default=False, repr=False)

    @property
    def budget(self):
        """Budget : of the search, on the size of the table."""
        return Budget(self.n_train + self.n_holdout, 1, self.epsilon, self.delta, self.grouped)

    @property
    def run_event(self):
        """Event : what a run costs: a row is trained on or scored, and never both."""
        return self.event.event if isinstance(self.event, BestOf) else self.event

    @property
    def holdout_event(self):
        """Event : what a run costs a row that is held out."""
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
        """list of Event : the sums that scores follow from."""
        return [Gaussian(self.score_mu * math.sqrt(share)) for share in self.score_shares]

    @property
    def score_noise(self):
        """float : standard deviation of the noise on the score of a run, a mean of numbers in
        [0, 1], before its unit.
        """
        return 1.0 / (self.n_holdout * self.score_mu)

    def covers(self, event):
        """Return whether a run may cost an event."""
        allowed = accountant.merge(self.run_event)
        return is_covered(event, allowed.rest.mu, allowed.chance * (1 + 1e-9))

    def with_less(self, share):
        """Return the plan with a part of the mu for the training of runs."""
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
        return (f"{runs}{'' if one else ' each'} trained with ({self.run_epsilon:.6g}, "
                f"{self.run_delta:.3g}) on {self.n_train} "
                f"{'groups of rows' if self.grouped else 'rows'}{among or ' and'} scored on "
                f"{self.n_holdout} others {noise}; all together "
                f"({rounded_up(self.epsilon, 6)}, {rounded_up(self.delta, 3)})")


def search_plan(epsilon, delta, mean_runs, n_train, n_holdout, *, gaussian, disclosed, choices=1,
                counts=False, most_chance=1.0, score_shares=(1.0,)):
    """Return the `SearchPlan` of a budget.

    Training rows and hold-out rows are disjoint, so that a run costs a row either of the two:
    noise on what held-out rows are asked is as large as makes them equal.

    Parameters
    ----------
    epsilon, delta : float
    mean_runs : float
    n_train, n_holdout : int
    gaussian : bool
        Whether all that runs release is Gaussian, else of any kind: a run is then calibrated
        where its tail is, and has to be covered by its mu beside a chance.
    disclosed : float
        Share of their delta that runs may use as a chance to show a row.
    choices : int
        How many candidates follow from what the training of a run released.
    counts : bool
        Whether the rows of a class are counted among those held out.
    most_chance : float
        The largest chance to tell all, of all runs together.
    score_shares : tuple of float
        Of the mu^2 of the score, of all sums that scores follow from.
    """
    chance, run_delta = 0.0, delta
    if disclosed or not gaussian:
        chance = min(_CHANCE * delta, most_chance) / mean_runs
        # What a run spends by chance, and what is beyond the curve of its mu.
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
        # The mu of a choice, of which the range is solved for, is rounded up, and so are sums.
        mu *= _MARGIN
    plan = SearchPlan(
        epsilon, delta, event, mean_runs, run_epsilon, run_delta, n_train, n_holdout, choices,
        *(math.sqrt(shares.get(name, 0.0)) * mu for name in ("score", "choice", "count")),
        score_shares=score_shares)
    if not plan.covers(plan.holdout_event):
        raise RuntimeError("What is asked of held-out rows exceeds a run; nothing was drawn.")
    return plan


def _budget(mu, delta):
    """Return the (epsilon, delta) at which every run is mu-GDP, but for its chance.

    A run may leave its chance unused, and spend all of delta on Gaussian noise.
    """
    delta = min(delta, 0.5)
    epsilon = accountant.epsilon(Gaussian(mu), delta)
    # Where delta alone would allow that much it says little of the mu.
    return (epsilon, delta) if epsilon >= mu else (mu, gaussian_delta(mu, mu))
