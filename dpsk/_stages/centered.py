"""Centering of rows at their released mean, within declared or learnt bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.longest import beyond_longest
from dpsk._data.source import RowSource
from dpsk._defaults.budgets import (
    CENTER_SHARES,
    CENTER_SIGNAL,
    MOMENT_CUT,
    NORM_TAILS,
    SPREAD_TAILS,
)
from dpsk._mechanism.core import Composite, Mechanism, Priced, Share, Statistic
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Composed
from dpsk._problem import Budget
from dpsk._stages.bounds import SHORT, released_norm, row_norm_rule
from dpsk._stages.center_rounds import released_center, rounds_event, rounds_pay, rows_within
from dpsk._stages.centering import shrunk
from dpsk._statistics.moments import noisy_mean

if TYPE_CHECKING:
    from typing import Any

    from dpsk._mechanism.session import Session
    from dpsk._models.ranges import RangedRows
    from dpsk._privacy.elementary import Elementary

__all__ = ["Centered", "can_learn_spread", "learnt_norm", "row_rule", "spread_rule"]

#: The square of a smaller signal-to-noise ratio underflows.
_LEAST_SIGNAL = 1e-100
#: Descriptions of the two bounds in the certificate.
_WORDS = {
    "center_norms": "l2 norms of one row as it enters the means of rounds, which are subtracted",
    "row_norm": "l2 norm of one row as it enters the noisy mean; longer rows are scaled down",
    "data_norm": "l2 norm of one row less the released mean; longer ones are scaled down"}


@dataclass(frozen=True)
class Centered(Composite):
    """A mechanism that subtracts a mean from rows, with norm bounds before and after.

    The privacy cost of learnt bounds follows from the budget alone, whatever the noise
    multiplier. The mean gets a share of the budget that the multiplier stands for.

    Parameters
    ----------
    budget : Budget
    norm, spread : float or None
        Norm bounds on rows and on centered rows; None where they are learnt.
    centers : bool
        Whether a mean is subtracted; if not, `spread` bounds the rows as they are.
    cut : float or None
        Argument of `spread_rule` for a learnt bound on centered rows; None: `row_rule`.
    """

    budget: Budget
    norm: float | None
    spread: float | None
    centers: bool = True
    cut: float | None = MOMENT_CUT

    @property
    def parts(self) -> tuple[Mechanism, ...]:
        """tuple of Mechanism : rounds of centering, the learnt bounds, and the mean."""
        bounds = (bound for _, bound in self._bounds() if isinstance(bound, Mechanism))
        return (*self._rounds, *bounds, self._mean)

    @property
    def mean_share(self) -> float:
        """float : the mean's share of the budget of all sums; 0 without a mean."""
        if not self.centers:
            return 0.0
        least, most = CENTER_SHARES
        # Enough to keep the noise on the mean a twentieth as long as rows in their ranges.
        signal = max(self.budget.signal_to_noise, _LEAST_SIGNAL)
        return min(most, max(least, CENTER_SIGNAL**2 / (self.budget.n_columns * signal**2)))

    def enforced_bounds(self, origin: str) -> list[Any]:
        """Return the declared bounds on rows; `origin` is that of a given `spread`."""
        found = [Enforced(name, bound, "derived", _WORDS[name])
                 for name, bound in self._bounds() if not isinstance(bound, Mechanism)]
        if self.spread is not None:
            found[-1] = replace(found[-1], origin=origin)
        return found

    def run(self, data: tuple[RowSource, RangedRows], session: Session,
            noise_multiplier: float) -> tuple[RangedRows, RowSource, float]:
        """Return the map that centers rows, the centered rows, and their norm bound.

        `data` holds the rows, and their map without a center.
        """
        rows, row_map = data
        for rounds in self._rounds:
            row_map = rounds.run((rows, row_map), session, noise_multiplier)
        for name, bound in self._bounds():
            mapped = rows.viewed(row_map)
            if isinstance(bound, Mechanism):
                bound = bound.run((mapped,), session, noise_multiplier)
                if self.budget.is_private:
                    session.enforced.append(Enforced(name, bound, "released", _WORDS[name]))
            if name == "row_norm":
                model = rows_within(bound, rows.n_features)
                mean, noise_std = self._mean.run((model, mapped), session, noise_multiplier)
                row_map = replace(row_map, center=row_map.center + shrunk(mean, noise_std, bound))
        return row_map, mapped, bound

    @property
    def _rounds(self):
        """Yield the mechanism that centers rows which may be far from 0, if it pays."""
        if self.centers and self.norm is None and rounds_pay(self.budget):
            yield Priced(rounds_event(self.budget), self._near)

    def _near(self, rows, row_map, session):
        """Return the map less a center released in rounds."""
        center, norms = released_center(
            rows.viewed(row_map), self.budget, session,
            lambda center: rows.viewed(replace(row_map, center=center)))
        session.enforced.append(
            Enforced("center_norms", norms, "released", _WORDS["center_norms"]))
        return replace(row_map, center=center.astype(np.float64))

    @property
    def _mean(self):
        return Share(Statistic(noisy_mean), self.mean_share)

    def _bounds(self):
        """Yield name and value of each bound in order of use; a learnt one is a mechanism."""
        if self.centers:
            yield "row_norm", self.norm or self._learnt(row_rule)
        yield "data_norm", self.spread or self._learnt(
            row_rule if self.cut is None else partial(spread_rule, cut=self.cut))

    def _learnt(self, rule):
        return learnt_norm(self.budget, rule)


def learnt_norm(budget: Budget, rule: Any) -> Priced:
    """Return the mechanism that learns a norm bound by `rule`; exact without a budget."""
    if not budget.is_private:
        return Priced(Composed(()), lambda rows, session: beyond_longest(rows) or 1.0)
    # The noise on a mean grows with the bound, so zero rows count as short.
    event, tail = rule(budget)
    return Priced(event, lambda rows, session: released_norm(rows, (event, tail), session, SHORT))


def row_rule(budget: Budget) -> tuple[Elementary, float | None]:
    """Return event and tail of the bound on rows; raise ValueError with too few rows."""
    return row_norm_rule(budget, NORM_TAILS)


def spread_rule(budget: Budget,
                cut: float = MOMENT_CUT) -> tuple[Elementary, float | None]:
    """Return event and tail of the bound on centered rows, like `row_rule`.

    If squared lengths are exponential, a bound that cuts a share q of rows lowers variances by
    that share. The noise on variances, over a usual one, is k log(1/q), with k in proportion to
    ``d / (n mu)``. The sum is least at q = k. `cut` is the factor of that proportion.
    """
    least, most = SPREAD_TAILS
    return row_norm_rule(budget, (min(most, max(least, cut / budget.signal_to_noise)), most))


def can_learn_spread(budget: Budget) -> bool:
    """Return whether there are enough rows to learn `spread`, from public facts."""
    if not budget.is_private:
        return True
    try:
        spread_rule(budget)
    except ValueError:
        return False
    return True
