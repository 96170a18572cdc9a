"""Warnings of the package."""

__all__ = ["PrivacyWarning"]


class PrivacyWarning(UserWarning):
    """A guarantee that holds, and is weaker than it may look."""
