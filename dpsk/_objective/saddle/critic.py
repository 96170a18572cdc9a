"""Loss of a critic: high scores of rows of the table, low ones of generated rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray

__all__ = ["CriticScore"]


@dataclass(frozen=True)
class CriticScore:
    r"""The score of a row, its sign turned for rows of the table, in the output of its class.

    The saddle problem is ``min over the generator of max over the critic of
    mean D(rows) - mean D(generated rows)``; a generator is no part of the rows' own term.

    Parameters
    ----------
    shares : tuple of float
        Of the classes, public or released; one of 1 where there are none.
    sign : float
        What the score is multiplied by: -1 for rows of the table, 1 for generated ones.
    laws : ClassLaws or None
        What was released of the rows' laws, which the generator starts from.

    References
    ----------
    Arjovsky, Chintala, Bottou (2017), "Wasserstein generative adversarial networks", equation 3.
    """

    shares: tuple = (1.0,)
    sign: float = -1.0
    laws: object = None

    minimax: ClassVar[bool] = True
    vector_output: ClassVar[bool] = False
    convex: ClassVar[bool] = False
    n_extra: ClassVar[int] = 0
    grouped: ClassVar[bool] = False
    #: The clip on a row's gradient is what bounds it.
    lipschitz: ClassVar[float] = np.inf
    smoothness: ClassVar[float] = np.inf

    def value(self, y: AnyArray, z: FloatArray) -> Any:
        """Return the signed score of every row in the output of its class `y`, shape (n,)."""
        return self.sign * (z if z.ndim == 1 else z[np.arange(len(y)), y.astype(np.intp)])

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        """Return the derivatives in the outputs, like `z`, whose entries do not matter."""
        if z.ndim == 1:
            z[:] = self.sign
            return z
        z[:] = 0.0
        z[np.arange(len(y)), y.astype(np.intp)] = self.sign
        return z
