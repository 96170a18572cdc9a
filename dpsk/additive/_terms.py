"""The curves of an additive model, without what columns could pass on to one another."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from dpsk._parameters import check_real

__all__ = ["Axis", "Term", "centering", "importances", "level_shares", "terms"]


@dataclass(frozen=True, eq=False)
class Axis:
    """Where the values of a term are, of one column.

    Attributes
    ----------
    column : str or int
    knots : ndarray of float64, or None
        Where a curve bends; between them it is straight on `scale`, beyond the ends constant.
    categories : list or None
        Of a column of categories, buckets of several at the end, which products do not tell
        apart; one more value follows, that of any other.
    n_named : int
        How many of these are categories that buckets follow; all, where none do.
    scale : ShiftedLog or None
        Of a skewed column of numbers: a function, with its `inverse`, that evens it out about its
        median. None: numbers as they are.
    """

    column: object
    knots: np.ndarray | None
    categories: list | None
    n_named: int = 0
    scale: object = None

    def interpolate(self, numbers, values):
        """Return a curve at some numbers, of its values at the knots.

        Parameters
        ----------
        numbers : array-like of shape (n,)
        values : array-like of shape (n_knots,)
            Such as `Term.values` or `Term.centered`.

        Returns
        -------
        found : ndarray of shape (n,)
        """
        scale = np.asarray if self.scale is None else self.scale
        return np.interp(scale(np.clip(numbers, self.knots[0], self.knots[-1])),
                         scale(self.knots), values)


@dataclass(frozen=True, eq=False)
class Term:
    """Contribution of a column, or of a pair of columns, to the raw prediction.

    Attributes
    ----------
    axes : tuple of Axis
    values : ndarray
        One axis a column, and one more with several outputs. With the intercept they add up to
        the raw prediction.
    centered : ndarray
        The same curves, each less its mean over rows, and those of pairs less what is one
        column's, which goes to its curve: what does not depend on how the fit divided a constant
        among columns. Rows are counted by the noisy shares of levels that were released with
        their second moment, or evenly where none was.
    std : ndarray, shaped like `values`
        Standard deviation of `centered` over fits to the same rows, given knots, categories and
        pairs: what the noise of privacy does. It is found when it is first read, by 16 fits to
        synthetic rows that have the released second moment, and costs no budget. Where noise
        explains all that the model predicts, it is that of fits without any signal. NaN where it
        is not known: of levels with so few rows that the noise of the moment may be all of them,
        of columns that may be collinear by it, and wherever `unknown` says why.
    unknown : str or None
        Why the noise is not known of any level, where it is not.
    n_draws : int
        Fits that `std` is found from, 0 where the noise is not known.
    """

    axes: tuple
    values: np.ndarray
    centered: np.ndarray
    _noise: Any = field(repr=False)
    _where: slice = field(repr=False)

    @property
    def std(self):
        return np.broadcast_to(self._noise.std(self._where), (
            self._where.stop - self._where.start, *self._outputs)).reshape(self.values.shape)

    @property
    def unknown(self):
        return self._noise.unknown

    @property
    def n_draws(self):
        return self._noise.n_draws

    def interval(self, confidence=0.95):
        """Return the ends of intervals about the values that fits to these rows have on average.

        By Student's t with ``n_draws - 1`` degrees of freedom, for each value by itself. The bias
        of a fit, and what another sample of rows would change, are not in them.

        Parameters
        ----------
        confidence : float, default=0.95

        Returns
        -------
        low, high : ndarray, shaped like `centered`
            NaN where the noise is not known.

        Raises
        ------
        ValueError
            If `confidence` is not between 0 and 1.
        """
        confidence = check_real("confidence", confidence, low=0, high=1, open_low=True,
                                open_high=True, remedy="a number between 0 and 1")
        reach = self.std
        if self.n_draws:
            reach = reach * stdtrit(self.n_draws - 1, 0.5 + 0.5 * confidence)
        return self.centered - reach, self.centered + reach

    @property
    def _outputs(self):
        return self.values.shape[len(self.axes):]


def level_shares(code, means):
    """Return the shares of rows at every level of every column, from noisy ones or from None."""
    shares = []
    for place, part in enumerate(code.parts):
        noisy = np.zeros(part.width) if means is None else np.maximum(means[place], 0.0)
        total = noisy.sum()
        shares.append(noisy / total if total > 0.0 else np.full(part.width, 1.0 / part.width))
    return shares


def centering(code, shares, columns):
    """Return coefficients of a `TableCode`, shape (width,) or (width, k), as centered values."""
    slices, result = code.slices, np.array(columns, np.float64)
    for share, where in zip(shares, slices, strict=False):
        result[where] = _contrasts(share, result[where])
    narrow = [share @ _spread(part) for share, part in zip(shares, code.parts, strict=True)]
    for (one, other), where in zip(code.pairs, slices[len(shares):], strict=True):
        shape = len(narrow[one]), len(narrow[other]), *result.shape[1:]
        table = result[where].reshape(shape)
        flipped = table.swapaxes(0, 1)
        for place, sides in ((one, np.tensordot(narrow[other], flipped, 1)),
                             (other, np.tensordot(narrow[one], table, 1))):
            result[slices[place]] += _spread(code.parts[place]) @ _contrasts(narrow[place], sides)
        inner = _contrasts(narrow[other], flipped).swapaxes(0, 1)
        result[where] = _contrasts(narrow[one], inner).reshape(result[where].shape)
    return result


def _contrasts(share, values):
    """Return values of levels, the first axis, less their mean over rows."""
    return values - np.tensordot(share, values, 1)


def importances(code, shares, centered):
    """Return the root mean squares over rows of centered values, one a term.

    Of several outputs the root mean square over these; columns count as independent in pairs.
    """
    weights = [np.asarray(share) for share in shares]
    narrow = [share @ _spread(part) for share, part in zip(shares, code.parts, strict=True)]
    weights += [np.kron(narrow[one], narrow[other]) for one, other in code.pairs]
    squares = centered**2 if centered.ndim == 1 else np.mean(centered**2, axis=1)
    return np.sqrt([weight @ squares[where]
                    for weight, where in zip(weights, code.slices, strict=True)])


def _spread(part):
    """Return the matrix from levels that products tell apart to all levels of a column."""
    matrix = np.zeros((part.width, part.narrow))
    places = np.arange(part.width)
    matrix[places, np.minimum(places, part.narrow - 1)] = 1.0
    return matrix


def terms(code, columns, coef, centered, noise):
    """Return the list of Term of coefficients, shape (width,) or (width, n_outputs)."""
    places = [(place,) for place in range(len(code.parts))] + list(code.pairs)
    result = []
    for own, where in zip(places, code.slices, strict=True):
        parts = [code.parts[place] for place in own]
        widths = [part.narrow if len(own) > 1 else part.width for part in parts]
        axes = tuple(_axis(columns[place].name, part, width)
                     for place, part, width in zip(own, parts, widths, strict=True))
        shape = *widths, *coef.shape[1:]
        result.append(Term(axes, coef[where].reshape(shape), centered[where].reshape(shape),
                           noise, where))
    return result


def _axis(name, part, width):
    """Return the axis of a column of which so many levels are told apart."""
    categories = getattr(part, "categories", None)
    if categories is not None:
        categories = categories[:width - 1]
    named = 0 if categories is None else getattr(part, "named", 0) or len(categories)
    return Axis(name, getattr(part, "knots", None), categories, named,
                getattr(part, "scale", None))
