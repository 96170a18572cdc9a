"""Defaults of private evaluation: bins of scores, and budget allocation on held-out rows.

docs/results/evaluation.md measured the bins, and docs/results/search.md the budget allocation.
"""

__all__ = ["FLOOR", "GROUPS", "JOINED", "LEAST_BINS", "LOSS_REACH", "LOSS_WEIGHT", "ORDER",
           "POWER", "WIDTHS", "WIDTHS_SHARE", "bins_at", "histogram_bins", "holdout_shares"]

#: Cell counts for the choice of bins: cells joined into one of the next width, the number of
#: widths, and the share of mu^2.
JOINED, WIDTHS, WIDTHS_SHARE = 11, 3, 0.05
#: Groups of rows by score whose shares of positives that choice uses.
GROUPS = 8
#: The weight of a sum of losses released with counts, which makes their noise 2 % larger, and the
#: largest distance of a squared loss from the middle of its bin.
LOSS_WEIGHT, LOSS_REACH = 0.3, 0.2
#: Probabilities are raised to at least this in a log loss, as in scores of searches.
FLOOR = 0.01
#: How much bins say about the order within them, for labels one deviation apart. The best value
#: is 0.8 to 1.5 for logistic, crowded and bimodal scores, with AUC 0.64 to 0.95 and 3 to 20 bins.
ORDER = 1.1
#: The least and the largest number of bins, and the number at a signal of 1.
BINS, _AT_ONE = (8, 64), 0.65
#: The power of the signal that balances the bias of bins, as 1 / bins^2, against the noise that
#: they add, as the square root of their number.
POWER = 0.4
#: The fewest bins that follow the scores, where one label is rare.
LEAST_BINS = 6


def histogram_bins(budget):
    """Return the number of bins of a score, a multiple of 4, from public facts.

    It is about ``0.65 (n mu)^0.4``: 16 for 16,000 rows at epsilon 1. As the number is even, the
    middle of the range is an edge of public bins.
    """
    return bins_at(budget.signal_to_noise)


def bins_at(signal):
    """Return the number of bins at a signal, which is ``n mu``."""
    least, most = BINS
    wanted = min(_AT_ONE * min(signal, 1e9)**POWER, most)
    return max(least, 4 * round(wanted / 4))


def holdout_shares(compared, chosen, counted):
    """Return the shares of mu^2 of the queries on held-out rows, by name.

    Parameters
    ----------
    compared : bool
        Whether the score is compared with those of other candidates, and not only reported.
    chosen, counted : bool
        Whether a candidate is chosen, and whether the rows of a class are counted.
    """
    shares = {"count": 0.1} if counted else {}
    if chosen:
        shares["choice"] = 0.5 if compared else 0.9 - sum(shares.values())
    return {**shares, "score": 1.0 - sum(shares.values())}
