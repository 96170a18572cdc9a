"""Seeds: how ``random_state`` controls public draws and noise."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from typing import Any

__all__ = ["NOT_PRIVATE", "NoiseSeed", "RandomState", "check_random_state", "noise_seed",
           "public_seed"]

NOT_PRIVATE = "not private for anyone who knows the seed"


@dataclass(frozen=True, repr=False)
class NoiseSeed:
    """A seed that repeats a fit, its noise included: for tests and research only.

    An int as ``random_state`` controls public draws only, and the noise stays fresh. Wrappers such
    as bagging set an int on every member and publish it. Repeatable noise must be requested
    explicitly, with ``random_state=NoiseSeed(0)``. The noise is then a function of the seed, the
    parameters and the rows: somebody who knows the seed can test a guess of the whole table.

    Parameters
    ----------
    seed : int
        Integer >= 0, of any size.

    Raises
    ------
    ValueError
        If `seed` is not an int, or is negative.

    See Also
    --------
    dpsk.Certificate : States whether the noise of a fit repeats.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.testing import NoiseSeed
    >>> print(NoiseSeed(0))
    NoiseSeed(0): not private for anyone who knows the seed
    >>> model = DPLogisticRegression(random_state=NoiseSeed(0))
    >>> model
    DPLogisticRegression(random_state=NoiseSeed(0))
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> coef = model.fit(X, y).coef_
    >>> bool((model.fit(X, y).coef_ == coef).all()), model.privacy_.reproducible
    (True, True)
    """

    seed: int

    def __post_init__(self) -> None:
        if not _is_seed(self.seed):
            raise ValueError(f"seed={self.seed!r}: must be an int >= 0.")
        # A NumPy scalar would print its type.
        object.__setattr__(self, "seed", int(self.seed))

    def __repr__(self) -> str:
        return f"NoiseSeed({self.seed})"

    def __str__(self) -> str:
        return f"{self!r}: {NOT_PRIVATE}"


#: Values of ``random_state``: None, an int for public draws only, or a NoiseSeed.
RandomState: TypeAlias = "int | NoiseSeed | None"


def _is_seed(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def check_random_state(value: Any) -> RandomState:
    """Return None, a non-negative int or a NoiseSeed, or raise a ValueError."""
    if value is None or isinstance(value, NoiseSeed) or _is_seed(value):
        return value
    raise ValueError(
        f"random_state of type {type(value).__name__}: must be None, or an int >= 0, which rules "
        "public draws only, or dpsk.testing.NoiseSeed(0), whose noise repeats and is not "
        "private; a generator object is refused because its copies (clone, joblib, pickle) "
        "would repeat the same noise.")


def public_seed(random_state: Any) -> NoiseSeed | None:
    """Return the key of the public draws: a NoiseSeed, also for an int, or None."""
    whole = isinstance(random_state, Integral)
    return NoiseSeed(random_state) if whole else random_state


def noise_seed(random_state: RandomState) -> NoiseSeed | None:
    """Return the key of the noise: a NoiseSeed, or None, as an int does not set it."""
    return random_state if isinstance(random_state, NoiseSeed) else None
