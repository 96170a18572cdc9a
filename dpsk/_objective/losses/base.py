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
        Supremum of the largest magnitude of an eigenvalue of the Hessian in the raw prediction.
    convex : bool
        Whether the loss is convex in the raw prediction, for every target.
    vector_output : bool
        Whether the raw prediction of one row is a vector.
    clip_share : float
        Share of `lipschitz` (of 1 where that is infinite) at which gradients are clipped by
        default: about where the rows that a model fits begin to differ from outliers.
    plain_gain, whitened_gain : float
        How much longer than the inverse smoothness a step on clipped rows is by default.
    keeps_length : bool
        Whether whitened rows keep their length up to 1, as a regression wants, or are brought
        to norm 1, as suits a score whose sign matters.
    reversal : float
        Largest distance between the clipped gradients of one row at two predictions, over the
        clip norm: 2 where they can be opposite. A bound on what differences are clipped to.
    minimax : bool
        Whether it has a dual variable.
    is_likelihood : bool
        Whether the size of raw predictions says how sure they are, as in log-likelihoods.
    n_extra : int
        Number of trained numbers beside the model's.
    network_step : float
        The default step on networks, times the clip norm.
    most_steps : int
        The most steps on whitened rows by default.
    """

    lipschitz: float
    smoothness: float
    convex = True
    vector_output = False
    minimax = False
    is_likelihood = False
    n_extra = 0
    clip_share = 0.3
    plain_gain = 2.0
    whitened_gain = 1.0
    keeps_length = False
    reversal = 2.0
    network_step = 1.0
    most_steps = 40

    def at_zero(self, n_outputs):
        """Return the largest loss of the prediction 0, over targets as estimators map them.

        A public bound on the objective at the start. Besides defaults, the allowance for
        rounding in objective perturbation rests on it, and on losses that are not negative.
        """
        return 1.0

    @abstractmethod
    def value(self, y, z):
        """Return the loss of every row, shape (n,)."""

    @abstractmethod
    def gradient(self, y, z):
        """Return the derivative in the raw prediction, like `z`, which it may overwrite."""
