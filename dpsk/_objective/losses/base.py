"""Base class of losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsk._typing import AnyArray, FloatArray


class Loss(ABC):
    """A loss that is pointwise in the raw prediction and sees neither rows nor coefficients.

    Attributes
    ----------
    lipschitz : float
        Supremum over targets and predictions of the norm of the gradient in the raw
        prediction; `inf` where there is none. The subclass proves it.
    smoothness : float
        Supremum of the largest magnitude of an eigenvalue of the Hessian in the raw prediction.
    convex : bool
        Whether the loss is convex in the raw prediction, for every target.
    piecewise : bool
        Whether parts of it are straight or flat, so that a second derivative at one point does
        not say how far a step may go.
    vector_output : bool
        Whether the raw prediction of one row is a vector.
    gradient_diameter : float
        Largest distance between the clipped gradients of one row at two predictions, over the
        clip norm: 2 where they can be opposite. A bound on what differences are clipped to.
    clippable : bool
        Whether default clips may be narrower than the loss's own bound: not where slopes of one
        sign are longer than those of the other, so that a clip would shorten the one alone.
    minimax : bool
        Whether it has a dual variable.
    of_transitions : bool
        Whether a row is a transition between two states.
    grouped : bool
        Whether what one neighbor changes is a group of rows, not a row.
    is_likelihood : bool
        Whether the size of raw predictions says how sure they are, as in log-likelihoods.
    n_extra : int
        Number of trained numbers beside the model's.
    first_score : float
        The raw prediction from which descent starts, of every output.
    usual_share : float
        What the norm of a usual gradient near the start is over `lipschitz`, for default clips.
    """

    if TYPE_CHECKING:
        # Fields, constants or properties.
        @property
        def lipschitz(self) -> float: ...
        @property
        def smoothness(self) -> float: ...
        @property
        def convex(self) -> bool: ...
        @property
        def piecewise(self) -> bool: ...
        @property
        def gradient_diameter(self) -> float: ...
    else:
        lipschitz: float
        smoothness: float
        convex = True
        piecewise = False
        gradient_diameter = 2.0
    vector_output = False
    clippable = True
    minimax = False
    of_transitions = False
    grouped = False
    is_likelihood = False
    n_extra = 0
    first_score = 0.0
    usual_share = 1.0

    def at_zero(self, n_outputs: int | None) -> float:
        """Return the largest loss of the prediction 0, over targets as estimators map them.

        A public bound on the objective at the start. Besides defaults, the allowance for
        rounding in objective perturbation rests on it, and on losses that are not negative.
        """
        return 1.0

    @abstractmethod
    def value(self, y: AnyArray, z: FloatArray) -> FloatArray:
        """Return the loss of every row, shape (n,)."""

    @abstractmethod
    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        """Return the second derivative in the raw prediction, (n,) or (n, k, k)."""

    @abstractmethod
    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        """Return the derivative in the raw prediction, like `z`, which it may overwrite."""
