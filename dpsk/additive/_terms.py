"""The curves of an additive model, without what columns could pass on to one another."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Axis", "Term", "centering", "level_shares", "terms"]


@dataclass(frozen=True, eq=False)
class Axis:
    """Where the values of a term are, of one column.

    Attributes
    ----------
    column : str or int
    knots : ndarray of float64, or None
        Where a curve bends; between them it is straight, beyond the ends constant.
    categories : list or None
        Of a column of categories; one more value follows, that of any other.
    """

    column: object
    knots: np.ndarray | None
    categories: list | None


@dataclass(frozen=True, eq=False)
class Term:
    """What a column, or a pair of columns, adds to the raw prediction.

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
    std : ndarray or None
        Standard deviation of `centered` due to the noise of the fit, as far as it is known: by
        an approximation from released numbers alone, given knots, categories and pairs. None
        where the solver says nothing of it, and without noise.
    """

    axes: tuple
    values: np.ndarray
    centered: np.ndarray
    std: np.ndarray | None


def level_shares(code, means):
    """Return the shares of rows at every level of every column, from noisy ones or from None."""
    shares = []
    for place, part in enumerate(code.parts):
        noisy = np.zeros(part.width) if means is None else np.maximum(means[place], 0.0)
        total = noisy.sum()
        shares.append(noisy / total if total > 0.0 else np.full(part.width, 1.0 / part.width))
    return shares


def centering(code, shares):
    """Return the matrix from coefficients of a `TableCode` to centered values."""
    slices, result = code.slices, np.zeros((code.width, code.width))
    contrasts = [np.eye(len(share)) - share for share in shares]
    for where, contrast in zip(slices, contrasts, strict=False):
        result[where, where] = contrast
    for (one, other), where in zip(code.pairs, slices[len(shares):], strict=True):
        result[slices[one], where] = np.kron(contrasts[one], shares[other])
        result[slices[other], where] = np.kron(shares[one], contrasts[other])
        result[where, where] = np.kron(contrasts[one], contrasts[other])
    return result


def terms(code, columns, coef, centered, std):
    """Return the list of Term of coefficients, shape (width,) or (width, n_outputs)."""
    axes = [Axis(column.name, getattr(part, "knots", None), getattr(part, "categories", None))
            for column, part in zip(columns, code.parts, strict=True)]
    places = [(place,) for place in range(len(axes))] + list(code.pairs)
    result = []
    for own, where in zip(places, code.slices, strict=True):
        shape = *(code.parts[place].width for place in own), *coef.shape[1:]
        result.append(Term(tuple(axes[place] for place in own), *(
            None if each is None else each[where].reshape(shape)
            for each in (coef, centered, std))))
    return result
