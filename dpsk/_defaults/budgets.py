"""Budget allocation of stages, samplers and clusters, and when each is worth its cost.

The pages whitening.md, networks.md, quantiles.md, temperature.md, samplers.md, class_moments.md
and clusters.md in docs/theory say how each number was found.
"""

import math

from dpsk._defaults.losses import loss_defaults
from dpsk._privacy.closed_forms import gaussian_mu

__all__ = [
    "ABOUT_MEAN_REACH",
    "ABOUT_MEAN_SHARES",
    "ABOUT_MEAN_TAIL",
    "AMPLE_SIGNAL",
    "CENTERING_LEFT",
    "CENTERING_ROUNDS",
    "CENTERING_SHARE",
    "CENTER_SHARES",
    "CENTER_SIGNAL",
    "CLASS_CUT",
    "CLEARANCE",
    "CLUSTERS_AT_FIRST",
    "CLUSTER_REACH",
    "CLUSTER_REACH_POWER",
    "CLUSTER_ROUNDS",
    "CLUSTER_SUBSPACE_SHARE",
    "COLUMN_CLEARANCE",
    "COLUMN_OCTAVES",
    "COLUMN_SHARES",
    "COLUMN_TAILS",
    "COUNT_SHARE",
    "CURVATURE_SHARE",
    "DIAGONAL_SIGNAL",
    "DIRECTION_CUT",
    "EDGE_SHARES",
    "FALSE_SHARE",
    "FAR_CENTER",
    "FAR_NOISE",
    "FEW_CLUSTER_ROUNDS",
    "FEW_ROWS_FACTOR",
    "FOREST_SHARE",
    "INDEPENDENCE_SIGNAL",
    "LEAST_FLOOR",
    "LEAST_PLACE",
    "LEAST_SHARE",
    "MEAN_SHARE",
    "MEDIAN_CLEARANCE",
    "MOMENT_CUT",
    "MOMENT_SHARE",
    "MOST_CLUSTER_DIRECTIONS",
    "MOST_COLUMNS",
    "MOST_MEAN_NOISE",
    "MOST_OF_MEDIAN",
    "MOST_OF_PLACE",
    "NARROW_SIGNAL",
    "NETWORK_MOMENT_SHARE",
    "NOISE_DEVIATIONS",
    "NOISE_FLOOR",
    "NORM_OCTAVES",
    "NORM_TAILS",
    "OCTAVES_CLEARANCE",
    "OCTAVES_REACH",
    "PLACE_CLEARANCES",
    "PLACE_SHARES",
    "PURE_OCTAVES",
    "PURE_QUANTILE_SHARES",
    "QUANTILE_SHARES",
    "RANGE_TAILS",
    "RESIDUAL_SHARE",
    "ROW_MEAN_NOISES",
    "ROW_MEAN_SHARES",
    "ROW_NORM_SHARE",
    "SCORE_FLOOR",
    "SHARES_SIGNAL",
    "SLOPES_SHARE",
    "SLOPE_CLIP_SHARE",
    "SPREAD_FILLING",
    "SPREAD_TAILS",
    "SUBSPACE_SHARE",
    "TABLE_SHARES",
    "TARGET_OCTAVES",
    "TARGET_REACH",
    "TARGET_TAILS",
    "USUAL_RESIDUAL",
    "WEIGHT_CLEARANCE",
    "WEIGHT_ROWS",
    "WEIGHT_SHARES",
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
#: Largest share of mu^2 of class shares.
MOST_BALANCE = 0.1
#: Share of mu^2 of the second moment that whitens the rows of a network.
NETWORK_MOMENT_SHARE = 0.2
#: Usual distance of a mean of targets from the middle of the bounds, over half their width.
_USUAL_MEAN = 0.3
#: Least and largest share of mu^2 of the mean of targets of a network, and the ``n mu`` at which
#: the mean would take all.
TARGET_MEAN_SHARES, TARGET_MEAN_SIGNAL = (0.005, 0.1), 40.0
#: Least and largest share of targets beyond the distance from their median that gives the unit of
#: a network, and the number of standard deviations in that unit.
SCALE_TAILS, SCALE_DEVIATIONS = (0.05, 0.25), 4.0
#: Networks on more features use centered rows only: whitening helps less on images.
_MOST_WHITENED = 200
#: With more columns than that, rows are few below this ``n mu``. Scores and predictions of few
#: rows are multiplied by the factor.
_FEW_SIGNAL, FEW_ROWS_FACTOR = 65.0, 0.25
#: Signal from which rows of shares are whitened: the shares of one number vary together.
SHARES_SIGNAL = 1.4
#: With more columns, the second moment takes too much time.
MOST_COLUMNS = 2000
#: False discovery rate of the covariances that are kept.
FALSE_SHARE = 0.1
#: Floor under eigenvalues over the operator norm of the noise, for regression, where directions of
#: noise harm coefficients, and for scores.
NOISE_FLOOR, SCORE_FLOOR = 1.5, 0.6
#: Least floor over the squared norm bound of rows; weaker directions are lost in gradient noise.
LEAST_FLOOR = 0.001
#: From this signal on, the longest row over a usual one grows and the least floor falls, so that
#: the bias of both vanishes as n or epsilon grows.
AMPLE_SIGNAL = 200.0
#: Largest noise on a mean, in units of the bound on rows, at which centering is on by default.
MOST_MEAN_NOISE = 0.5
#: Least share of a group; smaller estimates would be mostly noise.
LEAST_SHARE = 0.01
#: Predicted noise on coefficients: the curvature of a clipped loss of residuals over its supremum,
#: and the number of standard deviations added to the expected energy of noise.
CURVATURE_SHARE, NOISE_DEVIATIONS = 0.5, 1.0
#: Usual standard deviation of residuals, over half the range of targets.
USUAL_RESIDUAL = 0.25
#: Clip norm of a slope over the bound on weighted scores, which few rows come near.
SLOPE_CLIP_SHARE = 0.3
#: Usual and largest share of mu^2 of one quantile; the same of epsilon where delta is 0.
QUANTILE_SHARES, PURE_QUANTILE_SHARES = (0.02, 0.1), (0.05, 0.11)
#: Share of mu^2 of an extreme quantile of residuals.
RESIDUAL_SHARE = 0.1
#: Log of the probability of a point at the quantile over that of one beyond all rows; the grid has
#: some hundred times as many points beyond.
CLEARANCE = 20.0
#: The least such value for empty octaves, with too few rows for a quantile.
OCTAVES_CLEARANCE = 9.0
#: The same for a median at any offset from 0, and the largest share of mu^2 that it costs.
MEDIAN_CLEARANCE, MOST_OF_MEDIAN = 29.0, 0.3
#: Number of octaves chosen to hold most norms or distances of targets from their median, the share
#: of these that they are assumed to hold, and the largest share of mu^2 of the choice.
NORM_OCTAVES, TARGET_OCTAVES = (1, 0.8, 0.3), (2, 0.5, 0.5)
#: Where delta is 0, that largest share times this is a share of epsilon.
PURE_OCTAVES = 0.6
#: Share of targets that an octave of distances from their median is assumed to hold.
SPREAD_FILLING = 1.0 / 3.0
#: Bounds on targets over the end of their octaves; a tenth of a normal distribution is beyond.
OCTAVES_REACH = 2.0
#: The window of few targets: log of the probability of a point that holds all rows over that of an
#: empty one, for width, zone and cell; the least fraction of these with which a window is learnt;
#: least and largest share of mu^2 (of epsilon where delta is 0, times `PURE_OCTAVES`); and the
#: largest that leaves enough budget for more than a constant.
PLACE_CLEARANCES, LEAST_PLACE = (22.0, 12.0, 22.5), 0.45
PLACE_SHARES, MOST_OF_PLACE = (0.22, 0.8), 0.4
#: Shares of mu^2 of the mean of targets clipped to their window, and of a quantile of distances
#: from it; the share of targets beyond the quantile; and the bounds over the quantile.
ABOUT_MEAN_SHARES, ABOUT_MEAN_TAIL, ABOUT_MEAN_REACH = (0.1, 0.08), 0.3, 1.6
#: Least and largest share of rows beyond a bound on norms, and beyond one on targets.
NORM_TAILS, TARGET_TAILS = (0.02, 0.5), (0.015, 0.25)
#: Normal tail to which bounds on targets are extrapolated, as skewed targets have longer tails.
TARGET_REACH = 0.001
#: From this ``n mu`` on, bounds within declared ones are learnt as if nothing was declared. Below:
#: the tail of the quantile of distances, the rank error of the median, the shares of mu^2 of
#: one quantile (usual, largest), and the clearance, low as a point too far out does little harm.
TIGHTER_SIGNAL, TIGHTER_TAILS, TIGHTER_OFF = 400.0, (0.05, 0.15), (0.25, 0.25)
TIGHTER_SHARES, TIGHTER_CLEARANCE = (0.05, 0.2), 8.0
#: Rows of a linear model are centered in rounds: usual number of rounds; the share of a distance
#: from 0 that they leave at most, if they need not cost more for that; their largest share of mu^2
#: together; the least and largest share of the mean of a round; the norm of its noise over the
#: bound on rows, as wanted and at most; and the least share of that bound.
CENTERING_ROUNDS, CENTERING_LEFT, CENTERING_SHARE = 4, 1e-7, 0.03
#: Centered rows are still far off if their bound is less than the first times the noise of the
#: last mean, and the center is longer than the second times the bound.
FAR_NOISE, FAR_CENTER = 1.5, 4.0
ROW_MEAN_SHARES, ROW_MEAN_NOISES, ROW_NORM_SHARE = (0.002, 0.025), (0.25, 0.5), 0.001
#: Columns are scaled by octaves of differences of their entries: the usual and the largest share
#: of mu^2; the least and largest share of pairs in an octave or above; the number of octaves
#: below the largest column to which smaller ones are raised; and the log of the probability of
#: such an octave over that of any without pairs.
COLUMN_SHARES, COLUMN_TAILS = (0.03, 0.1), (0.1, 0.5)
COLUMN_OCTAVES, COLUMN_CLEARANCE = 3, 7.0
#: Share of rows beyond a bound on norms, times the signal, where only scores matter.
NARROW_SIGNAL = 10.0
#: Gaussian samplers: least and largest share of the mean of rows; the ``n mu`` over the square
#: root of the number of columns at which the mean would take all; and the share of the second
#: moment of all rows in the remaining budget.
CENTER_SHARES, CENTER_SIGNAL, SUBSPACE_SHARE = (0.03, 0.3), 20.0, 0.52
#: Least and largest share of centered rows beyond their bound, and that share times the signal:
#: for moments, over the root of the number of classes; to classify, over that number; and where
#: only directions of rows matter, which a narrow bound keeps.
SPREAD_TAILS, MOMENT_CUT, CLASS_CUT, DIRECTION_CUT = (1e-3, 0.7), 10.0, 7.0, 280.0
#: Samplers of tables: the share of the choice of pairs, and the shares of the tables of single
#: columns and of pairs in the remaining budget.
FOREST_SHARE, TABLE_SHARES = 0.1, (0.28, 0.72)
#: Largest shares of one quantile of a column and of all of them, usually and with few rows.
EDGE_SHARES = (0.02, 0.2), (0.1, 0.4)
#: Least and largest share of rows beyond either end of a learnt range, before it is widened. A
#: range is the unit of its column, so a range twice as wide does little harm.
RANGE_TAILS = (0.015, 0.4)
#: Bound on sample weights: least and largest share of mu^2 of the counts of weights; the share of
#: rows at one power of two that is to stand clear of their noise; and how many standard
#: deviations are clear.
WEIGHT_SHARES, WEIGHT_ROWS, WEIGHT_CLEARANCE = (0.005, 0.05), 0.01, 5.0
#: Naive Bayes: the root of the share by which class variances are shrunk to a common one, times
#: the root of the signal.
INDEPENDENCE_SIGNAL = 20.0
#: Discriminants: the signal below which columns count as uncorrelated within classes. Noise then
#: hides their covariances.
DIAGONAL_SIGNAL = 3.0
#: K-means: the rounds that split clusters, the others in the principal directions, and those on
#: all columns; the same where the noise exceeds the counts of usual clusters. Then, while clusters
#: are split, their number over the final one; the bound on distances from a center over their root
#: mean square; and the power of the signal by which it grows after the splits. Below, the share
#: of mu^2 of the principal directions and their largest number.
CLUSTER_ROUNDS, FEW_CLUSTER_ROUNDS = (3, 1, 2), (1, 1, 1)
CLUSTERS_AT_FIRST, CLUSTER_REACH, CLUSTER_REACH_POWER = 2, 1.5, 1.0 / 3.0
#: Largest number of clusters considered where their number is not given.
MOST_CLUSTERS = 20
CLUSTER_SUBSPACE_SHARE, MOST_CLUSTER_DIRECTIONS = 0.12, 16


def mu_of_share(problem, share):
    """Return the mu that a share of mu^2 allows."""
    return math.sqrt(share) * gaussian_mu(problem.epsilon, problem.delta)


def balance_share(n_params):
    """Return the share of mu^2 of class counts for a score with `n_params` parameters.

    Let s be that share and m the number of rows of the rarer class. Noise on counts moves all
    scores by a standard deviation of ``1 / (m mu sqrt(s))``. Noise on p parameters moves a score
    by ``2 sqrt(p) / (m mu sqrt(1 - s))``. The sum of squares is least at
    ``s = 1 / (1 + 2 sqrt(p))``.
    """
    return min(MOST_BALANCE, 1.0 / (1.0 + 2.0 * math.sqrt(n_params)))


def kept_of_mean(noise_std):
    """Return the shrinkage factor of a noisy mean of targets in [-1, 1].

    It gives the posterior mean, with a normal prior about the middle of the bounds.
    """
    return 1.0 / (1.0 + (noise_std / _USUAL_MEAN)**2)


def target_mean_share(problem):
    """Return the share of mu^2 of the mean of targets: less, the more rows there are."""
    least, most = TARGET_MEAN_SHARES
    signal = problem.n_samples * gaussian_mu(problem.epsilon, problem.delta)
    return min(most, max(least, (TARGET_MEAN_SIGNAL / signal)**2))


def are_few(signal, columns):
    """Return whether a fit at this ``n mu`` on that many columns would be mostly noise.

    The limit does not grow with many columns, as few of them matter.
    """
    return signal < (_FEW_SIGNAL if are_many(columns) else columns)


def are_many(columns):
    """Return whether that many columns, constant included, are too many to whiten for networks."""
    return columns > _MOST_WHITENED + 1


def carries_slopes(problem):
    """Return whether there are enough rows for coefficients without whitening."""
    return problem.n_samples * problem.mu >= loss_defaults(problem.loss).slopes_signal


def whitening_pays(problem, of_shares=False):
    """Return whether rows are whitened by default, from public facts.

    They are not with a penalty other than a square, which is on coefficients of the original
    rows; not where the matrix would take more time than the fit; and not where its noise is too
    large.
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
