"""Warnings and errors of the package."""

__all__ = ["BudgetExceededError", "PrivacyWarning"]


class PrivacyWarning(UserWarning):
    """Warning about a guarantee that holds but is weaker than it may look.

    For example, delta is large for the number of rows, or an infinite epsilon bounds nothing.
    Turn it into an error with ``warnings.filterwarnings``.

    See Also
    --------
    BudgetExceededError : Error for a refused fit.

    Examples
    --------
    >>> import warnings
    >>> from dpsk.exceptions import PrivacyWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", PrivacyWarning)
    """


class BudgetExceededError(RuntimeError):
    """Error for a fit that a `PrivacyBudget` refuses.

    It is raised before noise is drawn or budget consumed. Its message gives the consumed and
    remaining budget, and the cost of the fit.

    See Also
    --------
    dpsk.PrivacyBudget : The limit.
    PrivacyWarning : Warning about a guarantee that is weaker than it may look.

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
