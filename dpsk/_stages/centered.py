"""Rows less their released mean, within bounds that are declared or learnt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpsk._data.longest import longest
from dpsk._data.source import RowSource
from dpsk._defaults.budgets import (
    CENTER_SHARES,
    CENTER_SIGNAL,
    NORM_TAILS,
    SPREAD_SIGNAL,
    SPREAD_TAILS,
)
from dpsk._mechanism.core import Composite, Mechanism, Priced, Share, Statistic
from dpsk._models import LinearModel
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Composed
from dpsk._problem import Budget
from dpsk._stages.bounds import SHORT, released_norm, row_norm_rule
from dpsk._stages.centering import shrunk
from dpsk._statistics.moments import noisy_mean

if TYPE_CHECKING:
    from typing import Any

    from dpsk._mechanism.session import Session
    from dpsk._models.ranges import RangedRows
    from dpsk._privacy.elementary import Elementary

__all__ = ["Centered", "can_learn_spread", "learnt_norm", "row_rule", "rows_within", "spread_rule"]

#: The square of a smaller one underflows.
_LEAST_SIGNAL = 1e-100
#: What the certificate says of the two bounds.
_WORDS = {
    "row_norm": "l2 norm of one row as it enters the noisy mean; longer rows are scaled down",
    "data_norm": "l2 norm of one row less the released mean; longer ones are scaled down"}


@dataclass(frozen=True)
class Centered(Composite):
    """A mean that is subtracted from rows, and bounds before and after it.

    Bounds that are learnt have a price by rules of the budget, whatever the noise multiplier; the
    mean has its share of what the multiplier stands for.

    Parameters
    ----------
    budget : Budget
    norm, spread : float or None
        Bounds on rows, and on centered ones; None where they are learnt.
    centers : bool
        Whether there is a mean at all; without, `spread` is the bound on rows as they are.
    wide : bool
        Whether a learnt bound on centered rows is as wide as one on rows.
    """

    budget: Budget
    norm: float | None
    spread: float | None
    centers: bool = True
    wide: bool = False

    @property
    def parts(self) -> tuple[Mechanism, ...]:
        """tuple of Mechanism : the bounds that are learnt, and the mean."""
        bounds = (bound for _, bound in self._bounds() if isinstance(bound, Mechanism))
        return (*bounds, self._mean)

    @property
    def mean_share(self) -> float:
        """float : the share of the mean in what the sums may cost; 0 where there is none."""
        if not self.centers:
            return 0.0
        least, most = CENTER_SHARES
        # As much as keeps the noise on the mean a twentieth as long as rows in their ranges.
        signal = max(self.budget.signal_to_noise, _LEAST_SIGNAL)
        return min(most, max(least, CENTER_SIGNAL**2 / (self.budget.n_columns * signal**2)))

    def enforced_bounds(self, origin: str) -> list[Any]:
        """Return what is enforced on rows where it is not learnt; `origin` of the last bound."""
        found = [Enforced(name, bound, "derived", _WORDS[name])
                 for name, bound in self._bounds() if not isinstance(bound, Mechanism)]
        if self.spread is not None:
            found[-1] = replace(found[-1], origin=origin)
        return found

    def run(self, data: tuple[RowSource, RangedRows], session: Session,
            noise_multiplier: float) -> tuple[RangedRows, RowSource, float]:
        """Return the map of rows less their mean, these rows, and their bound.

        `data` are rows, and their map without a center.
        """
        rows, row_map = data
        for name, bound in self._bounds():
            mapped = rows.viewed(row_map)
            if isinstance(bound, Mechanism):
                bound = bound.run((mapped,), session, noise_multiplier)
                if self.budget.is_private:
                    session.enforced.append(Enforced(name, bound, "released", _WORDS[name]))
            if name == "row_norm":
                model = rows_within(bound, rows.n_features)
                mean, noise_std = self._mean.run((model, mapped), session, noise_multiplier)
                row_map = replace(row_map, center=shrunk(mean, noise_std, bound))
        return row_map, mapped, bound

    @property
    def _mean(self):
        return Share(Statistic(noisy_mean), self.mean_share)

    def _bounds(self):
        """Yield name and value of every bound in the order of their use; a mechanism of others."""
        if self.centers:
            yield "row_norm", self.norm or self._learnt(row_rule)
        yield "data_norm", self.spread or self._learnt(
            row_rule if self.wide else spread_rule)

    def _learnt(self, rule):
        return learnt_norm(self.budget, rule)


def learnt_norm(budget: Budget, rule: Any) -> Priced:
    """Return the mechanism of a bound on rows by a rule; without a budget none is needed."""
    if not budget.is_private:
        return Priced(Composed(()), lambda rows, session: 1.001 * longest(rows) or 1.0)
    # Noise on a mean is as large as the bound.
    event, tail = rule(budget)
    return Priced(event, lambda rows, session: released_norm(rows, (event, tail), session, SHORT))


def row_rule(budget: Budget) -> tuple[Elementary, float | None]:
    """Return event and tail of the bound on rows; a ValueError with too few of them."""
    return row_norm_rule(budget, NORM_TAILS)


def spread_rule(budget: Budget) -> tuple[Elementary, float | None]:
    """Return event and tail of the bound on centered rows, as `row_rule`.

    Rows that are scaled down keep their direction, so that a narrow bound costs little while
    noise is what matters; as n or epsilon grows, it leaves none beyond.
    """
    least, most = SPREAD_TAILS
    return row_norm_rule(
        budget, (min(most, max(least, SPREAD_SIGNAL * most / budget.signal_to_noise)), most))


def can_learn_spread(budget: Budget) -> bool:
    """Return whether rows suffice for a bound on centered ones, from public facts."""
    if not budget.is_private:
        return True
    try:
        spread_rule(budget)
    except ValueError:
        return False
    return True


def rows_within(norm: float, width: int) -> LinearModel:
    """Return the model that scales so many features to a norm."""
    return LinearModel(width, None, False, norm)
