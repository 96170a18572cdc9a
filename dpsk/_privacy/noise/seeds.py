"""Seeds: what an estimator's ``random_state`` rules of the public draws, and of the noise."""

from dataclasses import dataclass
from numbers import Integral

__all__ = ["NOT_PRIVATE", "NoiseSeed", "check_random_state", "noise_seed", "public_seed"]

NOT_PRIVATE = "not private for anyone who knows the seed"


@dataclass(frozen=True, repr=False)
class NoiseSeed:
    """A seed that repeats a fit, its noise included: for tests and research only.

    An int as ``random_state`` rules public draws, and wrappers such as bagging set one on
    every member and publish it; the noise stays fresh. Repeatable noise must be asked for in
    so many words, with ``random_state=NoiseSeed(0)``. It is then a function of the seed, the
    parameters and the rows: somebody who knows the seed can test a guess of the whole table.

    Parameters
    ----------
    seed : int
        At least 0, of any size.

    Raises
    ------
    ValueError
        If `seed` is not an int, or is negative.

    See Also
    --------
    dpsk.Certificate : Says of a fit whether its noise repeats.

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

    def __post_init__(self):
        if not _is_seed(self.seed):
            raise ValueError(f"seed={self.seed!r}: must be an int >= 0.")
        # A scalar of NumPy's would print its type.
        object.__setattr__(self, "seed", int(self.seed))

    def __repr__(self):
        return f"NoiseSeed({self.seed})"

    def __str__(self):
        return f"{self!r}: {NOT_PRIVATE}"


def _is_seed(value):
    return isinstance(value, Integral) and not isinstance(value, bool) and value >= 0


def check_random_state(value):
    """Return None, a non-negative int or a NoiseSeed, or raise a ValueError."""
    if value is None or isinstance(value, NoiseSeed) or _is_seed(value):
        return value
    raise ValueError(
        f"random_state of type {type(value).__name__}: must be None, or an int >= 0, which rules "
        "public draws only, or dpsk.testing.NoiseSeed(0), whose noise repeats and is not "
        "private; a generator object is refused because its copies (clone, joblib, pickle) "
        "would repeat the same noise.")


def public_seed(random_state):
    """Return what keys the public draws: an int as a NoiseSeed of it, or None."""
    return NoiseSeed(random_state) if isinstance(random_state, Integral) else random_state


def noise_seed(random_state):
    """Return what keys the noise: a NoiseSeed, or None, as an int says nothing of it."""
    return random_state if isinstance(random_state, NoiseSeed) else None
