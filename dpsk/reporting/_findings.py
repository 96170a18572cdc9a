"""Findings of a report in a fitted object, and the parts of wrappers."""

from dataclasses import dataclass

from dpsk._privacy.certificate import Certificate

__all__ = ["LEARNT", "UNKEPT", "UNKNOWN", "Exposed", "Fitted", "Member", "Note", "Private"]

#: Something was learnt from rows without noise.
LEARNT = "learnt"
#: Private fits were made, and are not in the fitted object.
UNKEPT = "unkept"
#: Nothing is known of what it does with rows.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Private:
    """Private fits that a row is in.

    Attributes
    ----------
    path : str
        Where they are in what was reported on.
    certificate : Certificate
        Of one of them, or what bounds it.
    count : int
        How many of them one row is in at most.
    fits : int
        How many fits it states the guarantee of, which may have followed from one another.
    """

    path: str
    certificate: Certificate
    count: int = 1
    fits: int = 1


@dataclass(frozen=True)
class Exposed:
    """Something of rows that leaves without noise, or of which nothing is known.

    Attributes
    ----------
    path, sentence : str
    why : {"learnt", "unkept", "unknown"}
        Whether it was learnt without noise, or may stand for private fits that are not counted.
    """

    path: str
    sentence: str
    why: str = LEARNT


@dataclass(frozen=True)
class Note:
    """Something that the guarantee rests on, and that cannot be checked here.

    Attributes
    ----------
    path, sentence : str
    """

    path: str
    sentence: str


@dataclass(frozen=True)
class Fitted:
    """A private estimator, for telling whether it is met again; no finding by itself.

    Attributes
    ----------
    path : str
    fitted : object
    frozen : object or None
        The outermost FrozenEstimator that it is in, which may be in several members.
    """

    path: str
    fitted: object
    frozen: object = None


@dataclass(frozen=True)
class Member:
    """An object inside of a wrapper, which is reported on for itself.

    Attributes
    ----------
    path : str
    fitted : object
    silent : bool
        Whether a sentence of the wrapper already says all of it.
    """

    path: str
    fitted: object
    silent: bool = False
