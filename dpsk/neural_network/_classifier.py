"""Classification by a multilayer perceptron with differential privacy."""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from dpsk._data.labels import encode_labels, labels_fact
from dpsk._data.weights import check_weights, class_weighted
from dpsk._models.scores import best_class, log_probabilities, probabilities
from dpsk._objective.losses import Logistic, Multinomial
from dpsk.neural_network._base import NetworkEstimator

__all__ = ["DPMLPClassifier"]


class DPMLPClassifier(ClassifierMixin, NetworkEstimator):
    r"""Multilayer perceptron classifier trained with differential privacy.

    Minimises, under noise,

    .. math:: \frac1n \sum_i \ell(y_i, f_\theta(x_i)) + \frac{\alpha}{2} \|W\|_2^2

    with the logistic loss for two classes and the multinomial one for more; `f` are fully
    connected layers with weights `W`. Every row's gradient is clipped, so rows need no bound.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee, > 0. None: ``1 / n**2``.
    hidden_layer_sizes : int or sequence of int, default=(128,)
        Numbers of units of the hidden layers; ``()`` for none.
    activation : {"relu", "tanh"}, default="relu"
        Of the hidden layers.
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
    class_weight : dict or None, default=None
        Public weights of the classes' losses. "balanced" is refused: class counts are data.
    classes : array-like or None, default=None
        The label set, public. None: the labels that occur in `y`, which are then *taken as
        public*, as the certificate says.
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
        The weights of every layer.
    intercepts_ : list of ndarray of float32, shapes (outputs,)
        The biases of every layer.
    center_ : ndarray of float32, shape (n_features_in_,), or None
        The released mean of rows, already part of ``intercepts_[0]``. None where rows were not
        centred.
    classes_ : ndarray of shape (n_classes,)
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
        For a parameter out of range, a solver whose needs are not met, a single class when
        classes are inferred, or rows that are not finite in float32; always before any noise
        is drawn.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: a noisy mean of the rows where it
    is subtracted, noisy sums of clipped gradients, and what follows from them. The number of rows
    and features, the labels, all parameters and the random weights at the start are public.

    *Defaults.* With d the number of weights and mu the budget: a clip norm of 1, or the largest
    class weight, and ``6 n mu / sqrt(d)`` steps within [30, 2000] of length 8 over the clip norm,
    less where more steps are made than that rule asks for and beside a strong `alpha`. For "sgd"
    batches of n / 15 rows within [256, 8192], momentum 0.7 and steps that shrink linearly; "gd"
    makes steps of half that length and "rrpsgd" of a quarter. Training is in single precision,
    prediction in double.

    *Layers.* From 16 units on rectified layers enter the next one less the mean of their units,
    so that the columns of its weights have mean 0.

    References
    ----------
    Abadi et al. (2016), Algorithm 1; Goodfellow (2015) for the norms of rows' gradients.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPMLPClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPMLPClassifier(epsilon=8.0, classes=range(10), random_state=0)
    >>> model.fit(X / 16, y).predict_proba(X[:2] / 16).shape
    (2, 10)
    >>> model.privacy_.epsilon
    8.0
    """

    _target_checks: ClassVar[dict] = {}

    def __init__(self, epsilon=1.0, *, delta=None, hidden_layer_sizes=(128,), activation="relu",
                 alpha=0.0, solver="auto", precondition="auto", max_iter=None,
                 learning_rate=None, batch_size=None, clip_norm=None, data_norm=None,
                 class_weight=None, classes=None, solver_options=None, random_state=None,
                 verbose=0):
        self._store(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A few hundred rows at epsilon=1 do not train thousands of weights.
        tags.classifier_tags.poor_score = True
        return tags

    @np.errstate(all="ignore")  # a warning of NumPy's would depend on the rows
    def fit(self, X, y, sample_weight=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Numbers that are finite in float32, which they are converted to.
        y : array-like of shape (n,)
            Labels, numbers or strings.
        sample_weight : array-like of shape (n,) or None, default=None
            Factors of the rows' losses, part of the rows: each gradient is clipped after
            weighting, and the sum is divided by n, not by the sum of weights.

        Returns
        -------
        self : object
        """
        self._check_params()
        X, y = self._check_rows(X, y)
        weights = check_weights(sample_weight, X, np.float64)
        classes, codes = encode_labels(y, self.classes, type(self).__name__)
        weights, bound = class_weighted(weights, self.class_weight, classes, codes, np.float64)
        several = len(classes) > 2
        given = [] if sample_weight is None else ["that some sample weight is not zero"]
        self._fit_layers(
            X, codes.astype(np.min_scalar_type(-len(classes))),
            Multinomial() if several else Logistic(), len(classes) if several else None,
            weights=weights, weight_bound=bound if sample_weight is None else np.inf,
            public=[labels_fact(classes, self.classes), *given])
        self.classes_, self.out_activation_ = classes, "softmax" if several else "logistic"
        return self

    def decision_function(self, X):
        """Return raw predictions of samples.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        scores : ndarray of shape (n,) for two classes, else (n, n_classes)
        """
        return self._predict_raw(X)

    def predict(self, X):
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        # First, as it says so where nothing was fitted.
        codes = best_class(self.decision_function(X))
        return self.classes_[codes]

    def predict_proba(self, X):
        """Return class probabilities of samples, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
        """
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X):
        """Return the logarithm of the class probabilities of samples.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n, n_classes)
        """
        return log_probabilities(self.decision_function(X))
