"""Regression by a multilayer perceptron with differential privacy."""

from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from dpsk._data.errors import discreetly
from dpsk._data.targets import check_target_bounds
from dpsk._data.weights import check_weights
from dpsk._objective.losses import Huber, Squared
from dpsk._parameters import choice
from dpsk._privacy.certificate import Enforced
from dpsk.neural_network._base import NetworkEstimator

__all__ = ["DPMLPRegressor"]

_DEFAULT_BOUNDS = (-1.0, 1.0)


class DPMLPRegressor(RegressorMixin, NetworkEstimator):
    r"""Multilayer perceptron regressor trained with differential privacy.

    Minimises, under noise,

    .. math:: \frac1n \sum_i \ell(\tilde y_i, f_\theta(x_i)) + \frac{\alpha}{2} \|W\|_2^2

    with targets clipped to public bounds and mapped to [-1, 1]; `f` are fully connected layers
    with weights `W`. Every row's gradient is clipped, so rows need no bound.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee, > 0. None: ``1 / n**2``.
    target_bounds : (float, float), default=(-1.0, 1.0)
        Public; targets outside are clipped. They must not be read from the data.
    hidden_layer_sizes : int or sequence of int, default=(128,)
        Numbers of units of the hidden layers; ``()`` for none.
    activation : {"relu", "tanh"}, default="relu"
        Of the hidden layers.
    loss : {"squared_error", "huber"}, default="squared_error"
    threshold : float, default=0.1
        Of Huber's loss, on mapped targets.
    alpha : float, default=0.0
        Strength of the l2 penalty on the weights beside the **mean** loss.
    solver : {"auto", "sgd", "gd", "rrpsgd"}, default="auto"
        "auto" is "sgd".
    precondition : {"auto", True, False}, default="auto"
        Whether 3 % of ``mu**2`` goes to a noisy mean of the rows, which is then subtracted from
        them. For it alone rows are scaled down to `data_norm`, or to ``sqrt(n_features)``, the
        length of a row of features of size 1. "auto": where its noise is small beside that.
    max_iter, learning_rate, batch_size, clip_norm : number or None, default=None
        None: chosen by a rule of public numbers, see Notes.
    data_norm : float or None, default=None
        Rows of greater l2 norm are scaled down to it, in training and in prediction. None:
        rows enter as they are.
    solver_options : dict or None, default=None
        Further options of the solver, its dataclass fields: for "sgd" ``momentum``, ``decay``,
        ``adaptive`` (Adam on noised gradients) and ``iterate``.
    random_state : int or None, default=None
        None: operating-system entropy, fresh in every fit. An int repeats the same noise for
        the same data and parameters, for tests; the guarantee is void if it can be guessed.
    verbose : int, default=0
        1 prints the plan, which is public.

    Attributes
    ----------
    coefs_ : list of ndarray of float32, shapes (inputs, outputs)
        The weights of every layer, of targets mapped to [-1, 1].
    intercepts_ : list of ndarray of float32, shapes (outputs,)
        The biases of every layer, of targets mapped to [-1, 1].
    center_ : ndarray of float32, shape (n_features_in_,), or None
        The released mean of rows, already part of ``intercepts_[0]``. None where rows were not
        centred.
    offset_ : float
        Middle of `target_bounds`, added to raw predictions times `scale_`.
    scale_ : float
        Half the width of `target_bounds`.
    n_layers_ : int
        Number of layers, that of the rows included.
    n_iter_ : int
        The planned number of steps, with random rounds or a random iterate the drawn one.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    privacy_ : Certificate
        The guarantee, and everything it rests on.

    Raises
    ------
    ValueError
        For a parameter out of range, a solver whose needs are not met, or rows that are not
        finite in float32; always before any noise is drawn.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: a noisy mean of the rows where it
    is subtracted, noisy sums of clipped gradients, and what follows from them. The number of rows
    and features, all parameters and the random weights at the start are public.

    *Defaults.* As for `DPMLPClassifier`, with steps of 1 over the clip norm. Most rows are
    clipped, so that the squared loss acts as one that grows linearly far from the target.

    References
    ----------
    Abadi et al. (2016), Algorithm 1; Goodfellow (2015) for the norms of rows' gradients.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPMLPRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPMLPRegressor(epsilon=8.0, target_bounds=(25, 350), random_state=0)
    >>> model.fit(10 * X, y).predict(10 * X[:3]).shape
    (3,)
    >>> model.privacy_.delta == 1 / len(y)**2
    True
    """

    _target_checks: ClassVar[dict] = {"y_numeric": True}
    _constraints: ClassVar[dict] = {
        **NetworkEstimator._constraints, "loss": choice("squared_error", "huber"),
        "target_bounds": lambda name, value: check_target_bounds(value, _DEFAULT_BOUNDS)}

    def __init__(self, epsilon=1.0, *, delta=None, target_bounds=(-1.0, 1.0),
                 hidden_layer_sizes=(128,), activation="relu", loss="squared_error",
                 threshold=0.1, alpha=0.0, solver="auto", precondition="auto", max_iter=None,
                 learning_rate=None, batch_size=None, clip_norm=None, data_norm=None,
                 solver_options=None, random_state=None, verbose=0):
        self._store(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A few hundred rows at epsilon=1 do not train thousands of weights.
        tags.regressor_tags.poor_score = True
        return tags

    @np.errstate(all="ignore")  # a warning of NumPy's would depend on the rows
    def fit(self, X, y, sample_weight=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Numbers that are finite in float32, which they are converted to.
        y : array-like of shape (n,)
            Finite numbers, clipped to `target_bounds`.
        sample_weight : array-like of shape (n,) or None, default=None
            Factors of the rows' losses, part of the rows: each gradient is clipped after
            weighting, and the sum is divided by n, not by the sum of weights.

        Returns
        -------
        self : object
        """
        self._check_params()
        loss = self._loss()
        low, high = map(float, self.target_bounds)
        X, y = self._check_rows(X, y)
        weights = check_weights(sample_weight, X, np.float64)
        offset, scale = 0.5 * (low + high), 0.5 * (high - low)
        y = (np.clip(discreetly("y", np.asarray, y, np.float64), low, high) - offset) / scale
        given = [] if sample_weight is None else ["that some sample weight is not zero"]
        origin = "default, not declared" if (low, high) == _DEFAULT_BOUNDS else "declared"
        self._fit_layers(
            X, y.astype(np.float32), loss, None, weights=weights,
            weight_bound=1.0 if sample_weight is None else np.inf, public=given,
            enforced=[Enforced("target_bounds", [low, high], origin,
                               "targets outside are clipped")])
        self.offset_, self.scale_, self.out_activation_ = offset, scale, "identity"
        return self

    def predict(self, X):
        """Return predicted targets.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        targets : ndarray of shape (n,)
        """
        return self._predict_raw(X) * self.scale_ + self.offset_

    def _loss(self):
        return Huber(float(self.threshold)) if self.loss == "huber" else Squared()
