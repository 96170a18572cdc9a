"""Warnings and errors of the package."""

__all__ = ["BudgetExceededError", "PrivacyWarning"]


class PrivacyWarning(UserWarning):
    """A guarantee that holds, and is weaker than it may look.

    Such as one with a delta that is large for so many rows, or without any bound on what was
    fitted: at an infinite epsilon. Turn it into an error by ``warnings.filterwarnings``.

    See Also
    --------
    BudgetExceededError : A fit that is refused.

    Examples
    --------
    >>> import warnings
    >>> from dpsk.exceptions import PrivacyWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", PrivacyWarning)
    """


class BudgetExceededError(RuntimeError):
    """A fit that a `PrivacyBudget` did not admit; nothing was drawn and nothing spent.

    Its message says what is spent and left, and what the fit would have cost.

    See Also
    --------
    dpsk.PrivacyBudget : The limit.
    PrivacyWarning : A guarantee that is weaker than it may look.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression, PrivacyBudget
    >>> from dpsk.exceptions import BudgetExceededError
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with PrivacyBudget(epsilon=1.0, delta=1e-5):
    ...     try:
    ...         _ = DPLogisticRegression(epsilon=2.0, delta=1e-6).fit(X, y)
    ...     except BudgetExceededError:
    ...         print("refused")
    refused
    """
