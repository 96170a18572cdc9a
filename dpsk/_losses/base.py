"""What every loss offers."""

from abc import ABC, abstractmethod


class Loss(ABC):
    """A loss that is pointwise in the raw prediction and sees neither rows nor coefficients.

    Attributes
    ----------
    lipschitz : float
        Supremum over targets and predictions of the norm of the gradient in the raw
        prediction; `inf` where there is none. The subclass proves it.
    smoothness : float
        Supremum of the largest eigenvalue of the Hessian in the raw prediction.
    vector_output : bool
        Whether the raw prediction of one row is a vector.
    """

    lipschitz: float
    smoothness: float
    vector_output = False

    @abstractmethod
    def value(self, y, z):
        """Return the loss of every row, shape (n,)."""

    @abstractmethod
    def gradient(self, y, z):
        """Return the derivative in the raw prediction, like `z`, which it may overwrite."""
