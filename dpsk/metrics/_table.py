"""A noisy table of counts of evaluation rows, and the error of metrics from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.source import Rows
from dpsk._defaults.evaluation import LOSS_WEIGHT
from dpsk._fit import Method, run_private
from dpsk._mechanism.core import Statistic, mu_of
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS
from dpsk._privacy.certificate import Certificate, Enforced
from dpsk._privacy.certificate_fields import rounded_up
from dpsk._privacy.noise.public import public_normals
from dpsk._problem import Budget
from dpsk._statistics.scores import counts_noise, loss_noise, noisy_counts_and_losses
from dpsk._statistics.tables import noisy_tables, table_noise
from dpsk.metrics._curves import projected, ratio
from dpsk.metrics._estimate import REACH, Estimate, between
from dpsk.metrics._html import ShowsMetrics

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["APART", "DISJOINT", "KNOWN", "TableEvaluation", "checked_budget", "normal_draws",
           "of_known_sum", "public_facts", "simulated", "simulated_ratio", "table_method",
           "table_release"]

#: Unverified assumptions that a certificate states about the evaluated rows.
DISJOINT = ("that no row here trained the model that is evaluated, or that its fit is counted "
            "too, in the same budget or by adding the certificates: not checked")
APART = ("that no group here has a row that trained the model that is evaluated, or that its fit "
         "is counted too, in the same budget or by adding the certificates: not checked")
#: A model may hold steps of other packages, or predict from ranks or means of all rows.
_ROW_BY_ROW = ("that the prediction of a row follows from that row and the model, and from no "
               "other row")
#: Note on metrics that noise hides.
HIDDEN = ("noise hides what the metric is a share of, so it is not known, and NaN; evaluate more "
          "rows, or at a larger epsilon")
#: Number of draws of the known noise, for standard errors within 1/40; the least number, for
#: large tables, whose metrics sum many cells; and the most normals. Half of the draws are the
#: negatives of the others, so that linear functions of the noise have mean 0.
_DRAWS, _LEAST_DRAWS, _MOST_NORMALS = 800, 20, 1 << 23
#: Least size of a ratio's denominator, in deviations of its noise: to report the ratio, and to
#: add errors of ratios as if they were normal.
KNOWN, _SURE = 3.0, 5.0


def checked_budget(n_samples, n_columns, epsilon, delta, random_state, groups=None):
    """Check the privacy parameters and return their Budget, with the default delta.

    With `groups`, the Budget counts groups instead of rows.
    """
    PARAMETER_CONSTRAINTS["epsilon"]("epsilon", epsilon)
    GAUSSIAN_DELTA("delta", delta)
    PARAMETER_CONSTRAINTS["random_state"]("random_state", random_state)
    if n_samples < 1:
        raise ValueError("y_true: must hold at least one row.")
    count = n_samples if groups is None else groups.count
    return Budget(count, n_columns, float(epsilon),
                  1.0 / max(count, 2)**2 if delta is None else float(delta), groups is not None)


def table_method(cls, *settings):
    """Return the Method that names an evaluation and its public parameters."""
    return Method(cls.__name__, f"{cls.__module__}.{cls.__qualname__}", repr(settings), None)


def public_facts(budget, *facts):
    """Return the public facts of an evaluation: its size, `facts` and assumptions."""
    if budget.grouped:
        return ["number of groups of rows, and not that of rows", *facts, "all parameters", APART,
                _ROW_BY_ROW]
    return ["number of rows", *facts, "all parameters", DISJOINT, _ROW_BY_ROW]


def table_release(method, name, budget, columns, codes, sizes, *, groups=None, random_state,
                  public, losses=None, most=0.0):
    """Release counts by label and cell; return them, their noise and the certificate.

    With `losses`, also return the noisy sum of ``losses - most / 2``, and its noise.

    Parameters
    ----------
    method : Method
    name : str
    budget : Budget
    columns, codes : ndarray of int, shape (n,)
        The cell of every row, and its label.
    sizes : (int, int)
        The number of labels, and of cells.
    groups : Groups or None
    random_state : None, int or NoiseSeed
    public : list of str
    losses : ndarray of shape (n,) or None
        Loss of every row, clipped to [0, most].
    most : float
    """
    n_labels, n_cells = sizes
    enforced = [Enforced("cells", math.sqrt(2.0), "derived",
                         f"l2 norm by which a replaced {budget.unit} moves the table: one from "
                         "a cell and one to another")]
    if losses is None:
        rows = Rows(columns[:, None], codes, groups=groups)
        statistic, data = Statistic(noisy_tables), (rows, (n_cells,), n_labels, [(0,)])
    else:
        rows, half = Rows(np.column_stack([columns, losses]), codes, groups=groups), most / 2.0
        statistic, data = Statistic(noisy_counts_and_losses), (
            rows, np.arange(n_cells), np.full((1, n_labels, n_cells), half), np.array([half]),
            LOSS_WEIGHT)
        enforced.append(Enforced(
            "weighted log losses", LOSS_WEIGHT, "enforced",
            f"by how much a replaced {budget.unit} moves their sum beside the table, each at "
            f"most {most:g}"))
    (table, *left), certificate = run_private(
        method, name, budget, statistic, rows, data, random_state=random_state, verbose=0,
        enforced=enforced, public=public_facts(budget, *public),
        released=["counts"] + ["log_loss_left"] * len(enforced[1:]))
    mu, table = mu_of(certificate.noise_multiplier), of_known_sum(table, budget.n_samples)
    if losses is None:
        return table, table_noise(1, mu), certificate
    return (table, counts_noise(LOSS_WEIGHT, mu), certificate, float(left[0][0]),
            loss_noise(LOSS_WEIGHT, half, mu))


def of_known_sum(table, n_samples):
    """Return noisy counts shifted to sum to the public number of rows, read-only."""
    # The total noise is subtracted evenly from all cells.
    table = table + (n_samples - table.sum()) / table.size
    table.flags.writeable = False
    return table


@dataclass(frozen=True, eq=False, repr=False)
class TableEvaluation(ShowsMetrics):
    """A noisy table of counts, from which metrics are computed.

    Attributes
    ----------
    counts : ndarray of float64, shape (n_labels, n_cells)
        Noisy, read-only; they sum to the number of rows.
    noise_scale : float
        Standard deviation of the noise on a count, before the sum was corrected.
    n_samples : int
    labels : tuple
        Labels of the first axis.
    privacy_ : Certificate
    of_population : bool
        Whether errors are those of a metric of the population that rows were drawn from.
    """

    counts: np.ndarray
    noise_scale: float
    n_samples: int
    labels: tuple
    privacy_: Certificate
    of_population: bool

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(labels={self.labels!r}, n_samples={self.n_samples}, "
                f"cells={self.counts.shape[1]}, noise_scale={self.noise_scale:.4g}, "
                f"epsilon={rounded_up(self.privacy_.epsilon, 6)})")

    def for_population(self) -> Self:
        """Return this evaluation with sampling error included in its errors.

        Returns
        -------
        evaluation : object
            The same counts; its standard errors include the sampling error of the rows.
        """
        return replace(self, of_population=True)

    def _draws(self):
        """Return draws of the noise around this table, shape (draws, *counts.shape)."""
        return self.counts + self.noise_scale * _centered(self.counts.shape, "noise")

    def _sampling_errors(self, metric):
        """Return the sampling errors of a metric, 0 unless they are included.

        They are those of a multinomial sample of the nearest counts that are not negative.
        """
        if not self.of_population:
            return 0.0
        likely = projected(self.counts)
        moved = np.sqrt(likely) * normal_draws(self.counts.shape, "rows")
        total = moved.sum(axis=(1, 2), keepdims=True)
        samples = likely + moved - likely * (total / max(likely.sum(), 1.0))
        return _doubt(samples) * np.sqrt(np.mean((metric(samples) - metric(likely))**2, axis=0))

    def _sampled_ratio(self, found, parts):
        """Return the Estimate of a ratio with its sampling error, if that is included.

        Noise alone decides whether the ratio is known. Distances from the value to the ends of
        the interval add in squares.
        """
        if not self.of_population:
            return found
        part, whole = parts(projected(self.counts))
        whole = np.maximum(whole, 1.0)

        def linear(counts):
            part_of, whole_of = parts(counts)
            return (part_of - part / whole * whole_of) / whole

        error = REACH * self._sampling_errors(linear)
        low, high = found.interval()
        return between(found.value, found.value - np.hypot(found.value - low, error),
                       found.value + np.hypot(high - found.value, error), found.bounds, found.note)

    def _estimate(self, metric, bounds=(0.0, 1.0), hidden=0.0):
        """Return a metric with its error from draws; `hidden` is the error from binning."""
        return simulated(metric(self.counts), metric(self._draws()), bounds,
                         np.hypot(hidden, self._sampling_errors(metric)))

    def _share(self, parts, bounds=(0.0, 1.0), hidden=0.0):
        """Return a ratio; `parts` maps tables to numerators and denominators."""
        found = simulated_ratio(parts(self.counts), parts(self._draws()), bounds, hidden)
        return self._sampled_ratio(found, parts)

    def _curved_share(self, counts, parts, hidden=0.0):
        """Return a ratio in [0, 1] whose numerator is not linear in counts.

        The ratio is that of the nonnegative `counts`, and draws are centered at them. The error
        also includes the distance to the bias-corrected ratio of the noisy counts.
        """
        (part, whole), (draws, wholes) = parts(counts), parts(
            self._draws() + (counts - self.counts))
        if not whole > KNOWN * np.std(wholes):
            return Estimate(math.nan, math.inf, (0.0, 1.0), note=HIDDEN)
        value, drawn = part / whole, np.clip(draws / np.maximum(wholes, 1.0), -0.5, 1.5)
        shift = drawn.mean() - value
        part, whole = parts(self.counts)
        off = part / max(whole, 1.0) - shift - value
        return self._sampled_ratio(
            simulated(value, drawn - shift, (0.0, 1.0), math.hypot(hidden, off)), parts)

    def _mean_share(self, parts):
        """Return the mean of ratios that each use separate cells.

        Ratios with a known denominator are corrected for bias, and their errors add in squares.
        The others may all be 0 or all be 1. If they are half or more, the mean is NaN, because the
        known denominators are then those that noise made large.
        """
        (part, whole), draws = parts(self.counts), parts(self._draws())
        off_part, off_whole = draws[0] - part, draws[1] - whole
        noise = np.mean(off_whole**2, axis=0)
        sure = whole > _SURE * np.sqrt(noise)
        safe = np.where(sure, whole, 1.0)
        share, second = part / safe, noise / safe**2
        value = _centered_ratio(part, safe, off_part, off_whole)
        square = np.mean((off_part - share * off_whole)**2, axis=0) / safe**2
        square *= 1.0 + 3.0 * second
        value = np.where(sure, value, 0.5).mean()
        sampling = self._sampling_errors(lambda counts: np.mean(np.where(
            sure, ratio(*parts(counts)), 0.0), axis=-1))
        error = (_doubt(off_part) * math.sqrt(square[sure].sum())
                 + 0.5 * (~sure).sum() / REACH) / len(whole)
        if sure.mean() <= 0.5:
            return Estimate(math.nan, math.inf, (0.0, 1.0), note=HIDDEN)
        return Estimate(float(np.clip(value, 0.0, 1.0)), math.hypot(error, sampling), (0.0, 1.0))


def simulated(value, draws, bounds, hidden=0.0):
    """Return the Estimate of a value, with its error from draws of the known noise."""
    # Deviations are from the value, not from the mean of draws, so they include bias.
    error = np.hypot(_doubt(draws) * np.sqrt(np.mean((draws - value)**2, axis=0)), hidden)
    return Estimate(*_scalars(np.clip(value, *bounds), error), bounds)


def _doubt(draws):
    """Return the factor that adds one deviation of a standard error from draws."""
    return 1.0 + 1.0 / math.sqrt(2.0 * len(draws))


def _scalars(*values):
    """Return arrays unchanged, and 0-dimensional values as floats."""
    return [float(value) if np.ndim(value) == 0 else value for value in values]


def simulated_ratio(parts, draws, bounds, hidden=0.0):
    """Return the Estimate of a ratio, with its error from draws of the known noise.

    Its 95 % interval is Fieller's: all ratios r for which ``part - r whole`` is within 1.96 of its
    own standard errors of 0. It is wide, with the same coverage, where noise hides the whole. The
    value is the ratio less its bias under noise, to second order. If the interval holds all of
    `bounds`, the value is NaN.
    """
    (part, whole), (off_part, off_whole) = parts, (draws[0] - parts[0], draws[1] - parts[1])
    low, high = _ratio_ends(part, whole, off_part, off_whole, bounds, hidden)
    unknown = (low <= bounds[0]) & (high >= bounds[1])
    value = _centered_ratio(part, np.where(unknown, np.nan, np.maximum(whole, 1e-300)),
                            off_part, off_whole)
    return between(value, low, high, bounds, HIDDEN if np.any(unknown) else None)


def _centered_ratio(part, whole, off_part, off_whole):
    """Return a ratio less its bias under the known noise, to second order."""
    square = whole**2
    return (part / whole * (1.0 - np.mean(off_whole**2, axis=0) / square)
            + np.mean(off_part * off_whole, axis=0) / square)


def _ratio_ends(part, whole, off_part, off_whole, bounds, hidden):
    """Return the ends of Fieller's interval; beyond both bounds if nothing is known."""
    more = 0.5 * (bounds[1] - bounds[0])
    ends = bounds[0] - more, bounds[1] + more
    if not (np.any(off_part) or np.any(off_whole)):
        value = np.clip(part / np.maximum(whole, 1e-300), *bounds)
        return tuple(np.where(whole > 0.0, value + side * REACH * hidden, end)
                     for side, end in zip((-1.0, 1.0), ends, strict=True))
    # The ratios r of the interval satisfy a r^2 - 2 b r + c <= 0, where a is positive.
    square = (REACH * _doubt(off_part))**2
    noise = np.mean(off_whole**2, axis=0)
    a = whole**2 - square * noise
    b = part * whole - square * np.mean(off_part * off_whole, axis=0)
    c = part**2 - square * np.mean(off_part**2, axis=0) - (REACH * hidden * whole)**2
    known = (a > 0.0) & (whole > KNOWN * np.sqrt(noise))
    a = np.where(known, a, 1.0)
    half = np.sqrt(np.maximum(b**2 - a * c, 0.0)) / a
    return tuple(np.where(known, np.clip(b / a + side * half, *ends), end)
                 for side, end in zip((-1.0, 1.0), ends, strict=True))


@lru_cache(maxsize=4)
def _centered(shape, purpose):
    """Return draws of the noise on a table after its sum was corrected."""
    normals = normal_draws(shape, purpose)
    return normals - normals.mean(axis=(1, 2), keepdims=True)


@lru_cache(maxsize=4)
def normal_draws(shape, purpose):
    """Return the same public normals at every call, so that a metric has one error.

    For small tables their second moments are exact, and so are errors of linear metrics.
    """
    size = math.prod(shape)
    draws = min(_DRAWS, max(_LEAST_DRAWS, _MOST_NORMALS // size)) // 2
    found = public_normals(f"evaluation {purpose}", 0, (draws, size))
    if size <= draws:
        found = np.linalg.qr(found)[0] * math.sqrt(draws)
    return np.concatenate([found, -found]).reshape(-1, *shape)
