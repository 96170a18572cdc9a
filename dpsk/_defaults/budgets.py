"""Budget allocation of stages, samplers and clusters, and when it pays: docs/theory/whitening.md,
networks.md, quantiles.md, temperature.md, samplers.md, class_moments.md and clusters.md say on
what each number was found."""

import math

from dpsk._defaults.losses import loss_defaults
from dpsk._privacy.closed_forms import gaussian_mu

__all__ = [
    "ABOUT_MEAN_MOST",
    "ABOUT_MEAN_REACH",
    "ABOUT_MEAN_SHARES",
    "ABOUT_MEAN_TAIL",
    "AMPLE_SIGNAL",
    "CENTER_SHARES",
    "CENTER_SIGNAL",
    "CLEARANCE",
    "CLUSTERS_AT_FIRST",
    "CLUSTER_REACH",
    "CLUSTER_REACH_POWER",
    "CLUSTER_ROUNDS",
    "CLUSTER_SUBSPACE_SHARE",
    "COUNT_SHARE",
    "CURVATURE_SHARE",
    "EDGE_SHARES",
    "FALSE_SHARE",
    "FEW_CLUSTER_ROUNDS",
    "FEW_ROWS_FACTOR",
    "FOREST_SHARE",
    "INDEPENDENCE_SIGNAL",
    "LEAST_FLOOR",
    "LEAST_SHARE",
    "MEAN_SHARE",
    "MEDIAN_CLEARANCE",
    "MOMENT_SHARE",
    "MOST_CLUSTER_DIRECTIONS",
    "MOST_COLUMNS",
    "MOST_MEAN_NOISE",
    "MOST_OF_MEDIAN",
    "NARROW_SIGNAL",
    "NETWORK_MOMENT_SHARE",
    "NOISE_DEVIATIONS",
    "NOISE_FLOOR",
    "NORM_OCTAVES",
    "NORM_TAILS",
    "OCTAVES_CLEARANCE",
    "OCTAVES_REACH",
    "PURE_OCTAVES",
    "PURE_QUANTILE_SHARES",
    "QUANTILE_SHARES",
    "RANGE_TAILS",
    "SCORE_FLOOR",
    "SHARES_SIGNAL",
    "SLOPES_SHARE",
    "SLOPE_CLIP_SHARE",
    "SPREAD_FILLING",
    "SPREAD_SIGNAL",
    "SPREAD_TAILS",
    "SUBSPACE_SHARE",
    "TABLE_SHARES",
    "TARGET_OCTAVES",
    "TARGET_REACH",
    "TARGET_TAILS",
    "USUAL_RESIDUAL",
    "are_few",
    "are_many",
    "balance_share",
    "carries_slopes",
    "kept_of_mean",
    "mu_of_share",
    "target_mean_share",
    "whitening_pays",
]

#: Shares of mu^2: of the second moment, of the mean of rows, of counts, of slopes.
MOMENT_SHARE, MEAN_SHARE, COUNT_SHARE, SLOPES_SHARE = 0.12, 0.03, 0.01, 0.02
#: Of the shares of classes, at most.
MOST_BALANCE = 0.1
#: Of the second moment before a network.
NETWORK_MOMENT_SHARE = 0.2
#: How far from the middle of their bounds means of targets usually are, over half the width.
_USUAL_MEAN = 0.3
#: Of the mean of targets before one: the least and the largest, and the ``n mu`` that noise on it
#: is that small at.
TARGET_MEAN_SHARES, TARGET_MEAN_SIGNAL = (0.005, 0.1), 40.0
#: The least and the largest share of targets beyond a distance from their median, and how many
#: standard deviations by it a network's unit is.
SCALE_TAILS, SCALE_DEVIATIONS = (0.05, 0.25), 4.0
#: Networks on more features than these see centered rows: of images whitening says less.
_MOST_WHITENED = 200
#: The ``n mu`` below which rows are few of more columns than that, and what scores and predictions
#: of few rows are multiplied by.
_FEW_SIGNAL, FEW_ROWS_FACTOR = 65.0, 0.25
#: The signal from which on rows of shares are whitened: those of one number vary together.
SHARES_SIGNAL = 1.4
#: Beyond this many columns the second moment is too large to be worth its time.
MOST_COLUMNS = 2000
#: Of the covariances that are kept, the share that may be noise.
FALSE_SHARE = 0.1
#: The floor under eigenvalues over the size of the noise in operator norm: of regressions, whose
#: coefficients suffer from directions of noise, and of scores.
NOISE_FLOOR, SCORE_FLOOR = 1.5, 0.6
#: The least floor, over the squared norm bound of rows: finer directions drown in gradient noise.
LEAST_FLOOR = 0.001
#: The signal from which on the longest row over a usual one grows and the least floor falls, so
#: that neither is left of what is fitted as n or epsilon grows.
AMPLE_SIGNAL = 200.0
#: The most noise on a mean, in units of the bound on rows, that is worth having by default.
MOST_MEAN_NOISE = 0.5
#: Smaller shares of a group than this would be mostly noise.
LEAST_SHARE = 0.01
#: Curvature of a clipped loss of residuals over its supremum, where noise on coefficients is
#: predicted, and by how many standard deviations above its mean its energy is left out.
CURVATURE_SHARE, NOISE_DEVIATIONS = 0.5, 1.0
#: The standard deviation of residuals that is usual, over half the range of targets.
USUAL_RESIDUAL = 0.25
#: Clip norm of a slope over the bound on weighted scores, which few rows come near.
SLOPE_CLIP_SHARE = 0.3
#: The usual and the largest share of mu^2 of one quantile, and of epsilon where delta is 0.
QUANTILE_SHARES, PURE_QUANTILE_SHARES = (0.02, 0.1), (0.05, 0.11)
#: The logarithm of how much less likely a point beyond all rows is than one at the quantile; the
#: grid has some hundred times as many of the former.
CLEARANCE = 20.0
#: The least of the same of empty octaves, where rows are too few for a quantile.
OCTAVES_CLEARANCE = 9.0
#: The same of a median of any offset from 0, and the largest share of mu^2 that it costs.
MEDIAN_CLEARANCE, MOST_OF_MEDIAN = 29.0, 0.3
#: How many octaves are chosen that hold most norms or targets, the share of these that they are
#: taken to hold, and the largest share of mu^2 that they cost, and of epsilon where delta is 0.
NORM_OCTAVES, TARGET_OCTAVES = (1, 0.8, 0.3), (2, 0.5, 0.5)
#: That share of epsilon is this much of it.
PURE_OCTAVES = 0.6
#: The share of targets that an octave of distances from their median is taken to hold.
SPREAD_FILLING = 1.0 / 3.0
#: Bounds on targets over the end of their octaves: of a normal law a tenth is beyond that.
OCTAVES_REACH = 2.0
#: Where those bounds are about 0: shares of mu^2 of the mean of targets within the end of their
#: octaves, and of a quantile of distances from it; the share of targets beyond that, and bounds
#: over it.
ABOUT_MEAN_SHARES, ABOUT_MEAN_TAIL, ABOUT_MEAN_REACH = (0.15, 0.08), 0.3, 1.5
#: The largest share of mu^2 of octaves beside which those leave enough to a network's releases.
ABOUT_MEAN_MOST = 0.3
#: The least and the largest share of rows beyond a bound on norms, and beyond one on targets.
NORM_TAILS, TARGET_TAILS = (0.02, 0.5), (0.015, 0.25)
#: The tail of a normal law that bounds on targets reach, as targets on one side have more.
TARGET_REACH = 0.001
#: The ``n mu`` from which on bounds on targets within declared ones are as those of targets of
#: which nothing is declared. Below: the share of rows beyond the quantile of distances, and that
#: by which a median is off; shares of mu^2 of the one and of the other; and the clearance, as a
#: point too far out does little harm among few.
TIGHTER_SIGNAL, TIGHTER_TAILS, TIGHTER_OFF = 400.0, (0.05, 0.15), (0.25, 0.25)
TIGHTER_SHARES, TIGHTER_CLEARANCE = (0.05, 0.2), 8.0
#: Rows of scores beyond a bound on norms, times the signal.
NARROW_SIGNAL = 10.0
#: Of a Gaussian sampler: the least and the largest share of the mean of rows, the root of the
#: number of columns over ``n mu`` at which it would be all, and the share of the second moment of
#: all rows in what is left.
CENTER_SHARES, CENTER_SIGNAL, SUBSPACE_SHARE = (0.03, 0.3), 20.0, 0.52
#: The least and the largest share of centered rows beyond their bound, and the signal below which
#: it is the largest: rows that are scaled down keep their direction, and narrow bounds cost less.
SPREAD_TAILS, SPREAD_SIGNAL = (1e-3, 0.7), 400.0
#: Of a sampler of tables: the share of the choice of pairs, and of what is left the shares of the
#: tables of single columns and of pairs.
FOREST_SHARE, TABLE_SHARES = 0.1, (0.28, 0.72)
#: The largest shares of one quantile of a column and of all of them, usually and where rows are
#: few.
EDGE_SHARES = (0.02, 0.2), (0.1, 0.4)
#: The least and the largest share of rows beyond either end of a learnt range, which is moved out:
#: of a column that enters with it as its unit, twice as wide a range is no loss to speak of.
RANGE_TAILS = (0.015, 0.4)
#: Of naive Bayes: the root of the share by which variances of classes are drawn to a common one,
#: times the root of the signal.
INDEPENDENCE_SIGNAL = 20.0
#: Of k-means: the rounds that split clusters, others in the main directions, and those of all
#: columns; the same where counts of usual clusters are below their noise; clusters over their
#: number while they are split; the bound on differences from a center over their root mean
#: square, and the power of the signal that it grows by once none are split; and the share, and
#: the most, of the main directions.
CLUSTER_ROUNDS, FEW_CLUSTER_ROUNDS = (3, 1, 2), (1, 1, 1)
CLUSTERS_AT_FIRST, CLUSTER_REACH, CLUSTER_REACH_POWER = 2, 1.5, 1.0 / 3.0
#: The most clusters that are looked for where their number is not given.
MOST_CLUSTERS = 20
CLUSTER_SUBSPACE_SHARE, MOST_CLUSTER_DIRECTIONS = 0.12, 16


def mu_of_share(problem, share):
    """Return the mu that a share of mu^2 allows."""
    return math.sqrt(share) * gaussian_mu(problem.epsilon, problem.delta)


def balance_share(n_params):
    """Return the share of mu^2 of the shares of classes beside so many parameters of a score.

    Noise moves all scores by a deviation of ``1 / (m mu sqrt(s))``, m rows of the rarer class,
    where a share s counts classes, and a score of p parameters by
    ``2 sqrt(p) / (m mu sqrt(1 - s))``. The sum of squares is least at ``s = 1 / (1 + 2 sqrt(p))``.
    """
    return min(MOST_BALANCE, 1.0 / (1.0 + 2.0 * math.sqrt(n_params)))


def kept_of_mean(noise_std):
    """Return the share of a noisy mean of targets in [-1, 1] that is taken for the mean.

    The posterior mean where means of targets are normal about the middle of their bounds.
    """
    return 1.0 / (1.0 + (noise_std / _USUAL_MEAN)**2)


def target_mean_share(problem):
    """Return the share of mu^2 of the mean of targets: less, the more rows there are."""
    least, most = TARGET_MEAN_SHARES
    signal = problem.n_samples * gaussian_mu(problem.epsilon, problem.delta)
    return min(most, max(least, (TARGET_MEAN_SIGNAL / signal)**2))


def are_few(signal, columns):
    """Return whether noise is most of what rows of an ``n mu`` tell of so many columns.

    Of many columns it is not, as few of them matter.
    """
    return signal < (_FEW_SIGNAL if are_many(columns) else columns)


def are_many(columns):
    """Return whether networks leave so many columns unwhitened, the constant among them."""
    return columns > _MOST_WHITENED + 1


def carries_slopes(problem):
    """Return whether rows that are not whitened are enough for slopes, from public facts."""
    return problem.n_samples * problem.mu >= loss_defaults(problem.loss).slopes_signal


def whitening_pays(problem, of_shares=False):
    """Return whether rows are whitened by default, from public facts.

    Not where a penalty that is no square speaks of the coefficients of the rows as they are, not
    where the matrix would cost more than the fit, and not where its noise outweighs it.
    """
    columns = problem.model.shape[0]
    if not problem.penalty.is_smooth or columns > MOST_COLUMNS + 1 or problem.delta == 0:
        return False
    measured = loss_defaults(problem.loss)
    least = measured.whitening_signal
    if columns < measured.many_columns:
        least = max(1.0, least * columns / measured.many_columns)
    if of_shares:
        least = min(least, SHARES_SIGNAL)
    return least * columns < problem.n_samples * problem.mu
