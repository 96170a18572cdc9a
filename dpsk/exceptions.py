"""Warnings and errors of the package."""

__all__ = ["BudgetExceededError", "PrivacyWarning"]


class PrivacyWarning(UserWarning):
    """A guarantee that holds, and is weaker than it may look."""


class BudgetExceededError(RuntimeError):
    """A fit that a `PrivacyBudget` did not admit; nothing was drawn and nothing spent."""
