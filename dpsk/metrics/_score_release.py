"""Release of scores by label: bins chosen from noisy counts, counts, and sums of losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsk._data.source import Rows
from dpsk._defaults.evaluation import JOINED, LOSS_REACH, LOSS_WEIGHT, WIDTHS, WIDTHS_SHARE
from dpsk._fit import run_private
from dpsk._mechanism.core import Composite, Share, Statistic, mu_of
from dpsk._privacy.certificate import Enforced
from dpsk._statistics.scores import (
    counts_noise,
    noisy_counts_and_losses,
    noisy_widths,
    widths_noise,
)
from dpsk.metrics._score_cells import ScoreCells
from dpsk.metrics._score_plan import lone, planned_bins
from dpsk.metrics._scores import (
    ScoreBins,
    codes_of,
    expected_log_losses,
    expected_losses,
    log_losses,
)
from dpsk.metrics._table import of_known_sum, public_facts

if TYPE_CHECKING:
    from dpsk._mechanism.session import Session

__all__ = ["ReleasedScores", "ScoreRelease", "score_release"]


@dataclass(frozen=True)
class ReleasedScores:
    """Released statistics of scores, and the standard deviations of their noise.

    Parameters
    ----------
    bins : ScoreBins
    counts : ndarray of shape (2, n_bins)
    noise : float
    losses, losses_noise : ndarray of shape (n_losses,)
        Sums of squared losses, and of log losses if requested, each minus the losses expected
        from the bins; and their noise.
    """

    bins: ScoreBins
    counts: np.ndarray
    noise: float
    losses: np.ndarray
    losses_noise: np.ndarray


@dataclass(frozen=True)
class ScoreRelease(Composite):
    """Counts of cells at several widths, if bins follow scores; then counts by label and bin.

    Parameters
    ----------
    bins : ScoreBins
        Public bins. Bins that follow the scores have about the same number and the same range.
    follows : bool
        Whether bins follow the scores.
    n_samples : int
    floor : float or None
        Lower bound on probabilities in the log loss; None: no log loss is released.
    """

    bins: ScoreBins
    follows: bool
    n_samples: int
    floor: float | None = None

    @property
    def with_loss(self) -> bool:
        """bool : whether scores are probabilities, so that squared losses are summed."""
        return self.bins.of_probabilities

    @property
    def n_losses(self) -> int:
        """int : number of summed losses, all with the same weight."""
        return self.with_loss + (self.floor is not None)

    @property
    def share(self) -> float:
        """float : fraction of mu^2 allocated to the choice of bins."""
        return WIDTHS_SHARE if self.follows else 0.0

    @property
    def parts(self) -> tuple[Share, ...]:
        """tuple of Share : counts of cells, and counts of bins."""
        return (Share(Statistic(noisy_widths), self.share),
                Share(Statistic(noisy_counts_and_losses), 1.0 - self.share))

    def _too_wide(self, cells):
        """Return a function that says which bins are so wide that losses may be clipped."""
        if not self.with_loss:
            return lambda ends, many: np.zeros_like(many)
        edges = np.concatenate([[0.0], cells.edges, [1.0]])

        def too_wide(ends, many):
            places = edges[ends]
            below, above = places[:, None], places
            return (above - below) * np.maximum(above + below, 2.0 - above - below) > (
                2.0 * LOSS_REACH)

        return too_wide

    def noises(self, noise_multiplier: float) -> tuple[float, float]:
        """Return the standard deviations of the noise on counts of cells, and of bins."""
        widths, counts = self.parts
        return (widths_noise(WIDTHS, mu_of(widths.own(noise_multiplier))) if self.follows else 0.0,
                counts_noise(LOSS_WEIGHT, mu_of(counts.own(noise_multiplier)), self.n_losses))

    def following(self, levels: list[np.ndarray],
                  noise_multiplier: float) -> tuple[ScoreBins, np.ndarray]:
        """Return bins chosen from noisy counts at all widths, and the bin of each cell."""
        cells = ScoreCells.of(self.bins)
        first, rows = planned_bins(levels, self.n_samples, self.noises(noise_multiplier),
                                   len(self.bins), cells.likely,
                                   cells.kept * self.bins.keeps, self._too_wide(cells))
        return (self.bins.following(first, rows, cells, cells.exact.all() | lone(rows)),
                np.searchsorted(first, np.arange(len(rows)), "right"))

    def losses(self, bins: ScoreBins, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return expected losses in bins, and the clipping bound and noise of the remainders.

        The first axis is the loss; `noise` is the noise on counts.
        """
        expected, reaches = np.zeros((self.n_losses, 2, len(bins))), np.zeros(self.n_losses)
        if self.with_loss:
            expected[0], off = expected_losses(bins)
            reaches[0] = min(float(off.max()), LOSS_REACH if self.follows else 1.0)
        if self.floor is not None:
            expected[-1], reaches[-1] = expected_log_losses(bins, self.floor, LOSS_WEIGHT)
        return expected, reaches, 2.0 * reaches / LOSS_WEIGHT * noise

    def features(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the cell and the losses of rows, shape (n, 1 + n_losses)."""
        found = np.empty((len(codes), 1 + self.n_losses))
        found[:, 0] = codes_of(scores, ScoreCells.of(self.bins).edges if self.follows
                               else self.bins.inner)
        if self.with_loss:
            # NaN counts as the lowest score, as in the bins.
            own = np.nan_to_num(np.clip(scores, 0.0, 1.0), nan=0.0)
            found[:, 1] = (own - codes)**2
            if self.floor is not None:
                found[:, 2] = log_losses(np.where(codes == 1, own, 1.0 - own), self.floor)
        return found

    def run(self, data: Any, session: Session, noise_multiplier: float) -> ReleasedScores:
        """Release bins, counts and losses; `data` are rows of `features`."""
        widths, counts = self.parts
        bins, joined = self.bins, np.arange(len(self.bins))
        if self.follows:
            levels = widths.run((data, JOINED, WIDTHS), session, noise_multiplier)
            bins, joined = self.following(levels, noise_multiplier)
        noise = self.noises(noise_multiplier)[1]
        expected, reaches, of_losses = self.losses(bins, noise)
        table, losses = counts.run((data, joined, expected, reaches, LOSS_WEIGHT), session,
                                   noise_multiplier)
        return ReleasedScores(bins, of_known_sum(table, self.n_samples), noise, losses,
                              of_losses)


def score_release(method, name, budget, mechanism, scores, codes, *, groups=None, random_state,
                  public):
    """Return the ReleasedScores of rows, and the certificate of the release.

    Parameters
    ----------
    method : Method
    name : str
    budget : Budget
    mechanism : ScoreRelease
    scores, codes : ndarray of shape (n,)
        The score of every row, and its label, 0 or 1.
    groups : Groups or None
    random_state : None, int or NoiseSeed
    public : list of str
    """
    rows, unit = Rows(mechanism.features(scores, codes), codes, groups=groups), budget.unit
    enforced = [Enforced("cells", math.sqrt(2.0), "derived",
                         f"l2 norm by which a replaced {unit} moves the table: one from a cell "
                         "and one to another")]
    if mechanism.follows:
        enforced.append(Enforced(
            "widths", math.sqrt(2.0 * WIDTHS), "derived",
            f"l2 norm by which a replaced {unit} moves counts of cells at all widths"))
    if mechanism.with_loss:
        enforced.append(Enforced(
            "weighted losses", LOSS_WEIGHT, "enforced",
            f"by how much a replaced {unit} moves their clipped sum, released with the table"))
    if mechanism.floor is not None:
        enforced.append(Enforced(
            "weighted log losses", LOSS_WEIGHT, "enforced",
            f"by how much a replaced {unit} moves their sum, released with the table; "
            f"probabilities below {mechanism.floor:g} count as that"))
    released, certificate = run_private(
        method, name, budget, mechanism, rows, rows, random_state=random_state, verbose=0,
        enforced=enforced, public=public_facts(budget, *public),
        released=["bins"] * mechanism.follows + ["counts"]
        + ["squared_loss", "log_loss_left"][:mechanism.n_losses])
    return released, certificate
