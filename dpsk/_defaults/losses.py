"""Measured constants of each loss: clips, steps and how rows are whitened for it.

See docs/results/defaults.md and docs/results/networks.md; docs/theory/defaults.md says how each
number was found.
"""

from dataclasses import dataclass, replace
from functools import cache

__all__ = ["LINEAR_SADDLE", "LONGEST_COUNTS", "MEASURED", "NETWORK_SADDLE", "LossDefaults",
           "SaddleDefaults", "loss_defaults", "saddle_defaults"]


@dataclass(frozen=True)
class LossDefaults:
    """Numbers of a pointwise loss, those of a loss that nothing was measured of by default.

    Attributes
    ----------
    clip_share : float
        Share of the loss's bound on slopes (of 1 where it has none) at which the gradient of a
        usual whitened row is clipped: about where rows that a model fits begin to differ from
        outliers.
    of_residuals : bool
        Whether that share is of half the range of targets instead.
    clip_signal : float
        The signal, `n mu` over the number of columns, from which on the clip grows with its
        root: what it leaves out vanishes as n or epsilon grows.
    gain, least_gain : float
        How much longer than the inverse smoothness a step on whitened rows is, at that clip,
        and the least. In between it falls as the clip grows.
    steps, most_steps : float, int
        The number of steps on whitened rows over the root of the signal, and the most.
    enough_steps : int or None
        How many of these do where the clip leaves curvatures low, up to an ample signal; longer
        steps make up for the others. None: all are made.
    longest : float
        Longest whitened row over a usual one: shorter cuts bend scores, longer rows need wider
        clips. Below 1 usual rows are shortened too.
    accelerates : bool
        Whether they have Nesterov's momentum.
    plain_gain : float
        How much longer than the inverse smoothness a step on clipped rows is.
    whitening_signal : float
        The signal from which on rows are whitened.
    many_columns : float
        Of fewer columns than these that is less in proportion, and 1 at least.
    slopes_signal : float
        The `n mu` below which rows that are not whitened carry no slope.
    network_step : float
        The step on networks, times the clip norm.
    network_travel, network_growth : float
        The sum of the steps on whitened rows of networks, times the clip norm, at ``n mu`` of
        6000, and the power of ``n mu`` that it grows with.
    """

    clip_share: float = 0.4
    of_residuals: bool = False
    clip_signal: float = 200.0
    gain: float = 1.5
    least_gain: float = 1.0
    steps: float = 2.5
    most_steps: int = 120
    enough_steps: int | None = None
    longest: float = 2.0
    accelerates: bool = True
    plain_gain: float = 2.0
    whitening_signal: float = 1.0
    many_columns: float = 0.0
    slopes_signal: float = 0.0
    network_step: float = 1.0
    network_travel: float = 300.0
    network_growth: float = 1.5


@dataclass(frozen=True)
class SaddleDefaults:
    """Numbers of a saddle loss.

    Attributes
    ----------
    clip_norm, dual_clip_norm : float
    dual_step : float
    dual_share : float
        Of ``1/z^2``, for the dual gradient.
    max_iter : int or None
    gain : float or None
        The first step times the clip norm; with `max_iter` None on networks, where they follow
        from the budget.
    difference_step : float
        The first step of descent by differences over that of descent.
    batch_size : int or None
        None: all rows of linear scores, 2048 of networks.
    """

    clip_norm: float = 1.0
    dual_clip_norm: float = 1.0
    dual_step: float = 0.1
    dual_share: float = 0.1
    max_iter: int | None = None
    gain: float | None = None
    difference_step: float = 0.25
    batch_size: int | None = None


# The curvature of logistic losses is at its supremum only where the prediction is undecided;
# logits grow to about 10, and beyond that their gradients vanish.
_LOGISTIC = LossDefaults(clip_share=0.3, gain=2.0, plain_gain=8.0, network_step=8.0,
                         network_travel=1150.0, network_growth=0.85)
# Residuals of any size: the clip that pays follows the noise.
_RESIDUAL = LossDefaults(clip_share=0.038, of_residuals=True, clip_signal=0.7, gain=5.6,
                         least_gain=0.5, steps=7.0, most_steps=90, accelerates=False,
                         whitening_signal=2.0, slopes_signal=100.0)
# Rows beyond the margin say nothing, so that noise outweighs what a matrix adds for longer.
_HINGE = LossDefaults(whitening_signal=2.0, many_columns=32.0)
#: The longest row in prediction of counts over a learnt bound, as the log link makes much of what
#: is longer: of 1 to 2 the best on four tables, and judged on four more.
LONGEST_COUNTS = 1.1
#: By the name of the loss.
MEASURED = {
    # Longer rows are where weights and pairs make gradients long.
    "AUCSquare": LossDefaults(clip_share=1.0, longest=1.0),
    "GroupRisk": LossDefaults(clip_share=1.0, longest=1.4),
    # Gradients of large means outweigh those of the others, and whitening makes more of them.
    "CappedPoisson": LossDefaults(whitening_signal=20.0, slopes_signal=45.0),
    "Huber": _RESIDUAL,
    "Logistic": replace(_LOGISTIC, enough_steps=20),
    # Of many outputs each learns from few rows; the best of them stays so at any length.
    "Multinomial": replace(_LOGISTIC, gain=1.0, steps=4.25, longest=0.7),
    # No clip flattens it: its curvature is a small share of the supremum on most rows, and rows
    # longer than usual ones would cost noise that no clip keeps out.
    "Pinball": replace(_RESIDUAL, gain=5.0, longest=1.0, plain_gain=20.0),
    "RankingLogistic": replace(_LOGISTIC, gain=1.5),
    "Squared": _RESIDUAL,
    # As of the logistic loss, the curvature is far below its supremum on most rows; with shorter
    # steps the constant does not come to what rows need that are far from 0, as words are.
    "HuberizedHinge": replace(_HINGE, plain_gain=16.0),
    "SquaredHinge": replace(_HINGE, plain_gain=32.0),
    "Sigmoid": replace(_HINGE, plain_gain=16.0),
}
#: Of saddle losses, whose clip is what bounds a row.
_SADDLE = LossDefaults(clip_share=1.0)

LINEAR_SADDLE = {
    "AUCSquare": SaddleDefaults(clip_norm=2.0, dual_clip_norm=2.0, dual_step=1.0, max_iter=40,
                                gain=32.0),
    "GroupRisk": SaddleDefaults(clip_norm=0.7, dual_clip_norm=10.0, dual_step=0.1,
                                dual_share=0.05, max_iter=100, gain=25.0),
    # Where episodes end a difference is as large as the value before it.
    "ProjectedBellman": SaddleDefaults(clip_norm=0.5, dual_clip_norm=4.0, dual_step=1.0,
                                       dual_share=0.6, max_iter=300, gain=32.0,
                                       batch_size=4096, difference_step=2.0),
}
NETWORK_SADDLE = {
    # Rows that are ranked well fall below this clip; a slow dual keeps the targets apart.
    "AUCSquare": SaddleDefaults(clip_norm=4.0, dual_step=0.005, dual_share=0.02),
    "ProjectedBellman": SaddleDefaults(clip_norm=0.5, dual_clip_norm=4.0, dual_step=1.0,
                                       dual_share=0.5, batch_size=4096),
}


def loss_defaults(loss):
    """Return the numbers of a loss, a LossDefaults."""
    return _measured(type(loss).__name__, loss.minimax, getattr(loss, "clip_share", None))


@cache
def _measured(name, minimax, share):
    found = MEASURED.get(name, _SADDLE if minimax else LossDefaults())
    # Order suffers more from a narrow clip than the sign does.
    return found if share is None else replace(found, clip_share=share)


def saddle_defaults(loss, is_linear):
    """Return the numbers of a saddle loss for linear scores or for networks."""
    table = LINEAR_SADDLE if is_linear else NETWORK_SADDLE
    return table.get(type(loss).__name__, SaddleDefaults())
