"""Measured constants of each loss: clip norms, steps and whitening.

See docs/results/defaults.md and docs/results/networks.md; docs/theory/defaults.md says how each
number was found.
"""

from dataclasses import dataclass, replace
from functools import cache

__all__ = ["LINEAR_SADDLE", "LONGEST_COUNTS", "MEASURED", "NETWORK_SADDLE", "LossDefaults",
           "SaddleDefaults", "loss_defaults", "saddle_defaults"]


@dataclass(frozen=True)
class LossDefaults:
    """Constants of a pointwise loss; the defaults are for losses without measurements.

    Attributes
    ----------
    clip_share : float
        Share of the loss's bound on slopes (or of 1, without a bound) at which the gradient of a
        usual whitened row is clipped. Well-fitted rows and outliers separate about there.
    of_residuals : bool
        Whether that share is of half the range of targets instead.
    clip_signal : float
        The signal, `n mu` over the number of columns, from which the clip norm grows with the
        square root of the signal, so that clipping bias vanishes as n or epsilon grows.
    gain, least_gain : float
        The step on whitened rows over the inverse smoothness, at that clip norm, and its least
        value. In between it falls as the clip norm grows.
    steps, most_steps : float, int
        The number of steps on whitened rows over the square root of the signal, and the most.
    enough_steps : int or None
        The number of steps that suffices, up to an ample signal, where clipping keeps curvatures
        low; steps are then longer. None: all steps are made.
    longest : float
        Longest whitened row over a usual one. Shortening rows more makes scores less linear;
        longer rows need larger clip norms. Below 1, usual rows are shortened too.
    accelerates : bool
        Whether steps on whitened rows have Nesterov's momentum.
    plain_gain : float
        The step with clipped gradients over the inverse smoothness, without whitening.
    whitening_signal : float
        The signal from which rows are whitened.
    many_columns : float
        With fewer columns, `whitening_signal` is reduced in proportion, to at least 1.
    slopes_signal : float
        The `n mu` below which no coefficients are fitted without whitening.
    network_step : float
        The step on networks, times the clip norm.
    network_travel, network_growth : float
        The sum of the steps on whitened rows of networks, times the clip norm, at ``n mu`` of
        6000, and the power of ``n mu`` by which it grows.
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
    """Constants of a saddle loss.

    Attributes
    ----------
    clip_norm, dual_clip_norm : float
    dual_step : float
    dual_share : float
        Share of ``1/z^2`` of the dual gradient.
    max_iter : int or None
    gain : float or None
        The first step times the clip norm. On networks, `gain` and `max_iter` are None and follow
        from the budget.
    difference_step : float
        The first step of descent by differences, over that of plain descent.
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


# The curvature of logistic losses reaches its supremum only at logits near 0; logits grow to about
# 10, beyond which gradients vanish.
_LOGISTIC = LossDefaults(clip_share=0.3, gain=2.0, plain_gain=8.0, network_step=8.0,
                         network_travel=1150.0, network_growth=0.85)
# Residuals have any size, so the best clip norm depends on the noise.
_RESIDUAL = LossDefaults(clip_share=0.038, of_residuals=True, clip_signal=0.7, gain=5.6,
                         least_gain=0.5, steps=7.0, most_steps=90, accelerates=False,
                         whitening_signal=2.0, slopes_signal=100.0)
# Rows beyond the margin have no gradient, so whitening needs a larger signal to help.
_HINGE = LossDefaults(whitening_signal=2.0, many_columns=32.0)
#: The longest row in prediction of counts over a learnt bound, as the log link amplifies longer
#: rows; the best from 1 to 2 on four tables, and confirmed on four more.
LONGEST_COUNTS = 1.1
#: Constants by the name of the loss.
MEASURED = {
    # Rows are cut shorter, because weights and pairs already make gradients long.
    "AUCSquare": LossDefaults(clip_share=1.0, longest=1.0),
    "GroupRisk": LossDefaults(clip_share=1.0, longest=1.4),
    # Gradients of large means dominate the others, and whitening amplifies them.
    "CappedPoisson": LossDefaults(whitening_signal=20.0, slopes_signal=45.0),
    "Huber": _RESIDUAL,
    "Logistic": replace(_LOGISTIC, enough_steps=20),
    # Each of many outputs learns from few rows; shortening rows does not change the best output.
    "Multinomial": replace(_LOGISTIC, gain=1.0, steps=4.25, longest=0.7),
    # It is not clipped: longer rows would add noise, and on most rows its curvature is a small
    # share of the supremum.
    "Pinball": replace(_RESIDUAL, gain=5.0, longest=1.0, plain_gain=20.0),
    "RankingLogistic": replace(_LOGISTIC, gain=1.5),
    "Squared": _RESIDUAL,
    # As with the logistic loss, the curvature is far below its supremum on most rows. Shorter
    # steps would not reach the intercept that rows far from 0 need, such as text features.
    "HuberizedHinge": replace(_HINGE, plain_gain=16.0),
    "SquaredHinge": replace(_HINGE, plain_gain=32.0),
    "Sigmoid": replace(_HINGE, plain_gain=16.0),
}
#: Saddle losses, for which only the clip norm bounds a row.
_SADDLE = LossDefaults(clip_share=1.0)

LINEAR_SADDLE = {
    "AUCSquare": SaddleDefaults(clip_norm=2.0, dual_clip_norm=2.0, dual_step=1.0, max_iter=40,
                                gain=32.0),
    # The first three are those of a low signal, in the units of `_bounded_settings`.
    "GroupRisk": SaddleDefaults(clip_norm=0.3, dual_clip_norm=1.0, gain=0.1, dual_step=0.03,
                                dual_share=0.05, max_iter=100),
    # At the end of an episode, a difference is as large as the value before it.
    "ProjectedBellman": SaddleDefaults(clip_norm=0.5, dual_clip_norm=4.0, dual_step=1.0,
                                       dual_share=0.6, max_iter=300, gain=32.0,
                                       batch_size=4096, difference_step=2.0),
}
NETWORK_SADDLE = {
    # Gradients of well-ranked rows are below this clip norm; a slow dual keeps targets separate.
    "AUCSquare": SaddleDefaults(clip_norm=4.0, dual_step=0.005, dual_share=0.02),
    "ProjectedBellman": SaddleDefaults(clip_norm=0.5, dual_clip_norm=4.0, dual_step=1.0,
                                       dual_share=0.5, batch_size=4096),
}


def loss_defaults(loss):
    """Return the constants of a loss, a LossDefaults."""
    return _measured(type(loss).__name__, loss.minimax, getattr(loss, "clip_share", None))


@cache
def _measured(name, minimax, share):
    found = MEASURED.get(name, _SADDLE if minimax else LossDefaults())
    # A small clip norm harms the order of scores more than their signs.
    return found if share is None else replace(found, clip_share=share)


def saddle_defaults(loss, is_linear):
    """Return the constants of a saddle loss, for linear scores or for networks."""
    table = LINEAR_SADDLE if is_linear else NETWORK_SADDLE
    return table.get(type(loss).__name__, SaddleDefaults())
