"""Sums of clipped per-row gradients of a network: sensitive, and for oracles only."""

import numpy as np

__all__ = ["SINGLE_HEADROOM", "NetworkSums", "clip_factors", "short_blocks"]

#: Rows of one pass: float32 sums over more would lose more than the head-room.
_BLOCK = 512
#: Margin for the rounding of single-precision norms and sums, and for how a row can change it.
SINGLE_HEADROOM = 1.0 - 2.0**-8
#: Longer gradients could overflow a float32 sum of a block; smaller factors lose bits in it.
_LONGEST, _LEAST_FACTOR = 2.0**100, float(np.finfo(np.float32).tiny)


class NetworkSums:
    """Rows, targets and the clipped gradient sums over them.

    No (n, dimension) array is made: a row's norm follows from its activations and errors, and
    the clip scales its errors before they meet the activations in one product.

    Parameters
    ----------
    model : MLP
    loss : Loss
    rows : Rows
        Dense.
    clip_norm : float
        Finite; a row whose gradient is not finite enters as zero.
    """

    resolution = None
    arithmetic = "float"

    def __init__(self, model, loss, rows, clip_norm):
        self.model = model
        self.loss = loss
        self.n_samples = len(rows)
        self._X, self._y, self._weights = rows.X, rows.y, rows.bounded_weights
        self._clip_norm = clip_norm

    @property
    def clip_norm(self):
        """float : bound on the norm of one row's gradient."""
        return self._clip_norm

    def gradient(self, theta, rows=None):
        """Return the sum of clipped gradients at `theta`, float64, shape of theta.

        Parameters
        ----------
        theta : ndarray
        rows : ndarray of int or None
            Indices of the rows to sum over; None for all.
        """
        total = np.zeros(self.model.shape)
        theta = theta.astype(np.float32)
        for part in short_blocks(self.n_samples, rows):
            self._add(theta, part, total)
        return total

    def _add(self, theta, rows, total):
        """Add the clipped gradients of a block of rows."""
        forward = self.model.forward(theta, self._X[rows])
        dz = self.loss.gradient(self._y[rows], forward.raw.copy())
        if self._weights is not None:
            weights = self._weights[rows]
            dz *= weights if dz.ndim == 1 else weights[:, None]
        forward.backward(dz)
        factors = clip_factors(forward.square_norms(), self._clip_norm)
        forward.drop(factors == 0.0)
        forward.add_gradient(factors, total)


def short_blocks(n_samples, rows, length=_BLOCK):
    """Yield indices of rows in blocks, by default such as single-precision sums can bear.

    Parameters
    ----------
    n_samples : int
    rows : ndarray of int or None
        The rows to walk over; None for all.
    length : int
        Of a block.

    Yields
    ------
    part : slice or ndarray of int
    """
    count = n_samples if rows is None else len(rows)
    for start in range(0, count, length):
        part = slice(start, min(count, start + length))
        yield part if rows is None else rows[part]


def clip_factors(square_norms, clip_norm, headroom=SINGLE_HEADROOM):
    """Return what scales gradients to norm at most `clip_norm`, and at most 2^100.

    It is zero for those that are not finite, or too long for a factor of full precision.
    """
    bound = min(clip_norm, _LONGEST) * headroom
    with np.errstate(all="ignore"):
        factors = np.minimum(1.0, bound / np.sqrt(square_norms))
        kept = np.isfinite(square_norms) & (factors >= _LEAST_FACTOR)
    return np.where(kept, factors, 0.0)
