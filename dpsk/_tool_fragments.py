"""Fragments of docstrings of evaluations, audits and pictures, as text."""

__all__ = ["TOOL_TEXT"]

# As in `dpsk._fragments`.
TOOL_TEXT = """
epsilon|release : float
    Of the release; inf: no noise, not private.
delta|release : float or None
    None: ``1 / n**2``.
pos_label|release : label or None
    None: the greater of the two.
labels|release : array-like or None
    The label set, public; None: taken from `y_true`, which makes it so.
score_range|scores : (float, float) or None
    Public bounds on scores; None: scores of any size.
bins|release : "auto", int or sequence of float
    "auto": edges follow the scores. Otherwise the number of public bins, or the public
    edges between bins; intervals then cover every order of rows within a bin.
residual_bound|release : float or None
    Public; larger residuals are clipped to it. None: the width of `target_bounds`,
    which no residual exceeds.
target_bounds|release : (float, float) or None
    Public; targets and predictions are clipped to them.
groups|release : array-like of shape (n,) or None
    Whose row each is, which protects people instead of rows: everybody's rows count for one
    together, by their average.
random_state|release : None, int or NoiseSeed
    Only a NoiseSeed has an effect: noise that repeats.
level|band : float in (0, 1)
    Of the band, at one point.
name|curve : str or None
    Of the line, in the legend, before its metric.
|display
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        That of the axes.
    line_ : matplotlib Line2D
        The curve.
|display_band
    %(display)s
    band_ : matplotlib artist
        What noise leaves open.
    evaluation_ : BinaryEvaluation
        What was released.
    privacy_ : Certificate
        Its guarantee; what else is drawn on the axes is not covered.
hits : int
    How many runs on the data set fell in the event.
runs : int
    Number of runs on the data set, >= 1.
neighbor_hits, neighbor_runs : int
    The same for the neighbor.
level : float
    Error probability of *each* of the two limits, in (0, 0.5): the bound holds with
    probability at least ``1 - 2 * level``.
ax : matplotlib Axes or None
    None: new ones.
name : str or None
    Of the line, in the legend; None: the one that was given before.
"""
