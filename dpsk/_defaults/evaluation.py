"""How finely scores are told apart in a private evaluation, and what held-out rows are asked.

Bins: docs/results/evaluation.md; shares of a choice on held-out rows: docs/results/search.md.
"""

__all__ = ["FLOOR", "GROUPS", "JOINED", "LEAST_BINS", "LOSS_REACH", "LOSS_WEIGHT", "ORDER",
           "POWER", "WIDTHS", "WIDTHS_SHARE", "bins_of", "histogram_bins", "holdout_shares"]

#: Counts of cells that bins are chosen by: so many cells are one of the next width, at so many
#: widths, for that share of mu^2.
JOINED, WIDTHS, WIDTHS_SHARE = 11, 3, 0.05
#: Groups of rows by score whose shares of positives are looked at for that choice.
GROUPS = 8
#: The weight of a sum of losses beside counts, which makes their noise 2 % larger, and how far a
#: squared loss may be off the middle of its bin.
LOSS_WEIGHT, LOSS_REACH = 0.3, 0.2
#: Probabilities below count as it in a log loss, as in scores of searches.
FLOOR = 0.01
#: How much bins tell of the order within them, of labels one deviation apart: .8 to 1.5 is what
#: logistic, crowded and bimodal scores ask for, of areas of .64 to .95 and 3 to 20 bins.
ORDER = 1.1
#: The least and the most bins, and how many at a signal of 1.
BINS, _AT_ONE = (8, 64), 0.65
#: The power of the signal that balances what bins hide, as 1 / bins^2, against the noise that they
#: add, as the root of their number.
POWER = 0.4
#: The fewest bins that follow the scores, where one label is rare.
LEAST_BINS = 6


def histogram_bins(budget):
    """Return the number of bins of a score, a multiple of 4, from public facts.

    About ``0.65 (n mu)^0.4``: 16 for 16,000 rows at epsilon 1. The middle of the range is an edge
    of so many public bins.
    """
    return bins_of(min(budget.signal_to_noise, 1e9))


def bins_of(signal):
    """Return that number for a signal, n mu."""
    least, most = BINS
    wanted = min(_AT_ONE * signal**POWER, most)
    return max(least, 4 * round(wanted / 4))


def holdout_shares(compared, chosen, counted):
    """Return the shares of mu^2 of what held-out rows are asked, by name.

    Parameters
    ----------
    compared : bool
        Whether the score is compared with those of other runs, and not only told.
    chosen, counted : bool
        Whether there is a choice among candidates, and whether the rows of a class are counted.
    """
    shares = {"count": 0.1} if counted else {}
    if chosen:
        shares["choice"] = 0.5 if compared else 0.9 - sum(shares.values())
    return {**shares, "score": 1.0 - sum(shares.values())}
