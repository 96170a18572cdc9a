"""What every oracle says of itself."""

__all__ = ["Oracle"]


class Oracle:
    """Owns the rows of a fit and answers with noise, through a release.

    Attributes
    ----------
    arithmetic : {"float", "grid", "snapped"}
        How sums are made; every answer is a whole number of public units.
    minimax : bool
        Whether it answers with gradients of both blocks of a saddle problem.
    takes_networks : bool
        Whether a clip is all that its answers need of a model.
    penalizes_intercept : bool
        Whether its price, or the set it moves in, needs the penalty on every coordinate.
    """

    arithmetic = "float"
    minimax = False
    takes_networks = False
    penalizes_intercept = False
