"""Findings of a report in a fitted object, and the members of wrappers."""

from dataclasses import dataclass

from dpsk._privacy.certificate import Certificate

__all__ = ["COUNTED", "LEARNT", "UNKEPT", "UNKNOWN", "Exposed", "Fitted", "Member", "Note",
           "Private"]

#: A value was learnt from rows without noise.
LEARNT = "learnt"
#: Private fits were made that the fitted object does not keep.
UNKEPT = "unkept"
#: The use of rows is unknown.
UNKNOWN = "unknown"
#: The number of rows shows, which guarantees for groups of rows alone do not cover.
COUNTED = "counted"


@dataclass(frozen=True)
class Private:
    """Private fits on the rows.

    Attributes
    ----------
    path : str
        Place of the fits in the reported object.
    certificate : Certificate
        Certificate of one fit, or an upper bound on it.
    count : int
        Maximum number of these fits that use one row.
    fits : int
        Number of fits that the certificate covers, which may depend on each other.
    """

    path: str
    certificate: Certificate
    count: int = 1
    fits: int = 1


@dataclass(frozen=True)
class Exposed:
    """A part without a guarantee: it holds exact values of rows, or is unknown.

    Attributes
    ----------
    path, sentence : str
    why : {"learnt", "unkept", "unknown", "counted"}
        "learnt" without noise; two may hide private fits that are not counted.
    """

    path: str
    sentence: str
    why: str = LEARNT


@dataclass(frozen=True)
class Note:
    """An unverified assumption of the guarantee.

    Attributes
    ----------
    path, sentence : str
    """

    path: str
    sentence: str


@dataclass(frozen=True)
class Fitted:
    """A private estimator, recorded to detect duplicates; not a finding by itself.

    Attributes
    ----------
    path : str
    fitted : object
    frozen : object or None
        The outermost FrozenEstimator around it, which several members may share.
    """

    path: str
    fitted: object
    frozen: object = None


@dataclass(frozen=True)
class Member:
    """An object inside a wrapper, which is reported separately.

    Attributes
    ----------
    path : str
    fitted : object
    silent : bool
        Whether a sentence of the wrapper already covers the object.
    """

    path: str
    fitted: object
    silent: bool = False
