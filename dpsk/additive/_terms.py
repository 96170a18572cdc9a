"""Shape functions of an additive model, centered so that they are unique."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from dpsk._parameters import check_real

__all__ = ["Axis", "Term", "centering", "importances", "terms"]


@dataclass(frozen=True, eq=False)
class Axis:
    """The levels of one column at which a term has its values.

    Attributes
    ----------
    column : str or int
    knots : ndarray of float64, or None
        Knots of the shape function, which is linear on `scale` between them and constant beyond.
    categories : list or None
        Categories of a column, then hash buckets of several categories, which pairs treat as one.
        One more value follows, that of any other category.
    n_named : int
        Number of `categories` before the buckets; all, without buckets.
    scale : ShiftedLog or None
        A function, with its `inverse`, that makes a skewed numeric column symmetric about its
        median. None: the column is not transformed.
    """

    column: object
    knots: np.ndarray | None
    categories: list | None
    n_named: int = 0
    scale: object = None

    def interpolate(self, numbers, values):
        """Interpolate a shape function between its values at the knots.

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
        One axis per column, and one more with several outputs. With the intercept they add up to
        the raw prediction.
    centered : ndarray
        The same shape functions, each less its mean over rows. The part of a pair that depends on
        one column only is moved to the function of that column. The result does not depend on how
        the fit divided constants among columns. Means use the noisy shares of levels that were
        released with the second moment, or equal shares where none was. A hash bucket or missing
        value counts only as far as its share stands out from the noise.
    std : ndarray, shaped like `values`
        Standard deviation of `centered` due to privacy noise, over fits to the same rows with the
        same knots, categories and pairs. It is computed when first read, from 16 fits to
        synthetic data with the released second moment, at no privacy cost. Where noise explains
        all that the model predicts, it is that of fits without any signal. It is NaN where
        unknown: for levels whose rows may all be noise of the moment, for columns that may be
        collinear, and wherever `unknown` gives a reason.
    unknown : str or None
        Reason why the noise is unknown at all levels, or None.
    n_draws : int
        Number of fits that `std` is computed from; 0 if the noise is unknown.
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


def centering(code, shares, columns):
    """Return centered values of `TableCode` coefficients, shape (width,) or (width, k)."""
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
    """Return the root mean square over rows of the centered values of each term.

    With several outputs, the mean is also over outputs. The columns of a pair count as
    independent.
    """
    weights = [np.asarray(share) for share in shares]
    narrow = [share @ _spread(part) for share, part in zip(shares, code.parts, strict=True)]
    weights += [np.kron(narrow[one], narrow[other]) for one, other in code.pairs]
    squares = centered**2 if centered.ndim == 1 else np.mean(centered**2, axis=1)
    return np.sqrt([weight @ squares[where]
                    for weight, where in zip(weights, code.slices, strict=True)])


def _spread(part):
    """Return the matrix that maps the levels of a column in pairs to all its levels."""
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
    """Return the axis of a column with `width` levels."""
    categories = getattr(part, "categories", None)
    if categories is not None:
        categories = categories[:width - 1]
    named = 0 if categories is None else part.n_named or len(categories)
    return Axis(name, getattr(part, "knots", None), categories, named,
                getattr(part, "scale", None))
