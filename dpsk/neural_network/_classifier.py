"""Classification by a multilayer perceptron with differential privacy."""

from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from dpsk._data.errors import quietly
from dpsk._data.labels import encode_labels, labels_fact
from dpsk._data.weights import check_weights, class_weighted
from dpsk._docs import documented
from dpsk._models.scores import best_class, log_probabilities, probabilities
from dpsk._objective.losses import Logistic, Multinomial
from dpsk.neural_network._base import NetworkEstimator

__all__ = ["DPMLPClassifier"]


@documented
class DPMLPClassifier(ClassifierMixin, NetworkEstimator):
    r"""Multilayer perceptron classifier trained with differential privacy.

    Minimises, under noise,

    .. math:: \frac1n \sum_i \ell(y_i, f_\theta(x_i)) + \frac{\alpha}{2} \|W\|_2^2

    with the logistic loss for two classes and the multinomial one for more; `f` are fully
    connected layers with weights `W`. Every row's gradient is clipped, so rows need no bound.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s %(hidden_layer_sizes)s %(activation)s %(alpha)s
        It is an l2 penalty on the weights.
    %(solver_network)s %(precondition_network)s %(max_iter)s
        See Notes.
    %(data_norm_network)s %(class_weight)s %(classes)s
    %(solver_options_network)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coefs_)s %(intercepts_)s %(center_)s
    %(classes_)s %(n_layers_)s %(n_outputs_)s %(out_activation_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    %(raises_classes)s

    Notes
    -----
    %(privacy_network)s

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

    @quietly
    def fit(self, X, y, sample_weight=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_network)s %(y_labels)s %(sample_weight)s

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

    @quietly
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

    @quietly
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
