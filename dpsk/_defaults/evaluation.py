"""How finely scores are told apart in a private evaluation; docs/results/evaluation.md."""

__all__ = ["histogram_bins"]

#: The least and the most bins, and how many at a signal of 1.
BINS, _AT_ONE = (8, 64), 0.65
#: The power of the signal that balances what bins hide, as 1 / bins^2, against the noise that they
#: add, as the root of their number.
_POWER = 0.4


def histogram_bins(budget):
    """Return the number of bins of a score, a multiple of 4, from public facts.

    About ``0.65 (n mu)^0.4``: 16 for 16,000 rows at epsilon 1. Pairs of bins are joined to see
    what bins hide, and the middle of the range stays an edge then.
    """
    least, most = BINS
    wanted = min(_AT_ONE * min(budget.signal, 1e9)**_POWER, most)
    return max(least, 4 * round(wanted / 4))
