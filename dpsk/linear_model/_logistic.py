"""Logistic regression with differential privacy."""

from dpsk._models.scores import log_probabilities, probabilities
from dpsk._objective.losses import Logistic, Multinomial
from dpsk._stages import Tempering
from dpsk.linear_model._classifier import LinearClassifier

__all__ = ["DPLogisticRegression"]


class DPLogisticRegression(LinearClassifier):
    r"""Logistic regression trained with differential privacy.

    Minimises, under noise,

    .. math:: \frac1n \sum_i \ell(y_i, \bar x_i^\top w + b) + \alpha\, r(w),
              \qquad \bar x = x \min(1, R / \|x\|_2)

    with the logistic loss for two classes and the multinomial one for more, and `R` the
    public `data_norm`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee. None: ``1 / n**2``. 0 asks for pure epsilon.
    alpha : float, default=0.0
        Strength of the penalty beside the **mean** loss.
    penalty : {"l2", "l1", "elasticnet", "l2_ball", "l1_ball", "box", "simplex"}, default="l2"
        The last four are sets and ignore `alpha`: coefficients have norm, or size each, at most
        `radius`, or are not negative and sum to it.
    l1_ratio : float in [0, 1], default=0.5
        Share of l1 in ``penalty="elasticnet"``.
    radius : float or None, default=None
        Radius of a ball; needed exactly there.
    solver : {"auto", "gd", "sgd", "svrg", "svrgpp", "accmd", "frank_wolfe", "rrpsgd", "stgd",
            "minibatch_stgd", "last_iterate", "output_perturbation", "objective_perturbation"},
            default="auto"
        "auto" takes the one whose excess risk, predicted from public numbers, is least: "gd"
        without a penalty; with an l2 penalty one of "last_iterate" and the perturbations, or
        "gd" under heavy noise; inside a set "gd", or "frank_wolfe" on an l1 ball; and at
        ``delta=0`` outside of sets "objective_perturbation" for two classes.
    precondition : {"auto", True, False}, default="auto"
        Whether a fifth of the budget goes to a noisy second moment of the rows, which then
        whitens them. "auto": for dense rows of at most 2000 features, delta > 0, and no
        penalty, as `alpha` and sets speak of the coefficients of the rows as they are; and
        where ``n_features + 1 < n mu``.
    temperature : {"auto", True, False}, default="auto"
        Whether a fiftieth of the budget finds a factor for coefficients and intercept, which
        gradients clipped below the loss's slope leave too long: probabilities become less sure,
        and no decision changes. "auto": on whitened rows, where `clip_norm` is left at its default
        and there are no more classes than columns. True: after "gd" and "sgd" with an l2
        penalty or none and delta > 0.
    max_iter, learning_rate, batch_size, clip_norm : number or None, default=None
        None: chosen by a rule that looks at public numbers only, given with each solver.
        ``clip_norm=inf`` clips nothing, as the loss itself bounds the gradient.
    data_norm : float, default=1.0
        Rows of greater l2 norm are scaled down to it, in training and in prediction.
    data_norm_inf : float or None, default=None
        Entries of the scaled rows beyond +- it are clipped, in training and in prediction.
        Solvers "accmd" and "frank_wolfe" gain from a small bound. None: `data_norm`.
    fit_intercept : bool, default=True
    class_weight : dict or None, default=None
        Public weights of the classes' losses. "balanced" is refused: class counts are data.
    classes : array-like or None, default=None
        The label set, public. None: the labels that occur in `y`, which are then *taken as
        public*, as the certificate says.
    solver_options : dict or None, default=None
        Further options of the solver, its dataclass fields: for "gd" ``accelerate`` and
        ``iterate``.
    random_state : int or None, default=None
        None: operating-system entropy, fresh in every fit. An int repeats the same noise for
        the same data and parameters, for tests; the guarantee is void if it can be guessed.
    verbose : int, default=0
        1 prints the plan, which is public.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    preconditioner_ : ndarray or None
        The released matrix P of shape (n_features + 1, n_features + 1), the last row for the
        constant; one less without intercept. None where rows were not whitened.
    temperature_ : float or None
        What scores were divided by, released. None where no share of the budget went to it.
    classes_ : ndarray of shape (n_classes,)
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
        classes are inferred, or rows that are not finite; always before any noise is drawn.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: a noisy second moment where
    rows are whitened, then what the solver's plan holds: noisy gradients, differences or moments,
    noisy coefficients, or choices made under noise; then noisy slopes in the temperature where
    one is found; and what follows from them. The number of rows and features, the labels and all
    parameters are public.

    ``decision_function(X)`` is linear in the rows *after* they are scaled to `data_norm`: with
    ``r`` the scaled row, its value is ``r' coef_ + intercept_``, divided by ``||P (r, 1)||`` where
    ``preconditioner_`` is a matrix P.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Zhang, Zheng, Mou, Wang (2017), Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DPLogisticRegression(epsilon=1.0, random_state=0).fit(X / 1000.0, y)
    >>> model.predict_proba(X[:2] / 1000.0).shape
    (2, 2)
    >>> model.privacy_.epsilon
    1.0
    """

    def __init__(self, epsilon=1.0, *, delta=None, alpha=0.0, penalty="l2", l1_ratio=0.5,
                 radius=None, solver="auto", precondition="auto", temperature="auto",
                 max_iter=None, learning_rate=None, batch_size=None, clip_norm=None, data_norm=1.0,
                 data_norm_inf=None, fit_intercept=True, class_weight=None, classes=None,
                 solver_options=None, random_state=None, verbose=0):
        self._store(locals())

    def _solve(self, problem, name, X, y, **settings):
        tempering = Tempering(None if self.temperature == "auto" else bool(self.temperature))
        theta = super()._solve(problem, name, X, y, finishing=[tempering], **settings)
        self.temperature_ = tempering.temperature
        return theta

    def _binary_loss(self):
        return Logistic()

    def _binary_targets(self, codes):
        return codes

    def _several_loss(self, n_classes):
        return Multinomial()

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
