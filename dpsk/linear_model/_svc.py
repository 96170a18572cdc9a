"""Support vector classification with differential privacy."""

from typing import ClassVar

from dpsk._objective.losses import HuberisedHinge, OneVsRest, Sigmoid, SquaredHinge
from dpsk._parameters import choice
from dpsk.linear_model._classifier import LinearClassifier

__all__ = ["DPLinearSVC"]

_LOSSES = {"huberised_hinge": HuberisedHinge, "sigmoid": Sigmoid, "squared_hinge": SquaredHinge}


class DPLinearSVC(LinearClassifier):
    r"""Linear support vector classification trained with differential privacy.

    Minimises a smooth hinge loss of the margin under noise, on rows scaled to `data_norm`. With
    several classes each is set against the rest, all in one release whose gradients are
    clipped jointly.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee. None: ``1 / n**2``. 0 asks for pure epsilon.
    loss : {"huberised_hinge", "squared_hinge", "sigmoid"}, default="huberised_hinge"
        The hinge with its corner rounded over a width of 1, or squared; the square has
        unbounded gradients: `clip_norm` bounds them. "sigmoid" is ``1 / (1 + exp(margin))``, a
        smooth error rate: bounded, so that outliers and flipped labels pull little, and not
        convex, so that "output_perturbation" and "last_iterate" refuse it.
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
    noisy coefficients, or choices made under noise; and what follows from them. The
    number of rows and features, the labels and all parameters are public.

    ``decision_function(X)`` is linear in the rows *after* they are scaled to `data_norm`: with
    ``r`` the scaled row, its value is ``r' coef_ + intercept_``, divided by ``||P (r, 1)||`` where
    ``preconditioner_`` is a matrix P.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Zhang, Zheng, Mou, Wang (2017), Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DPLinearSVC(epsilon=1.0, random_state=0).fit(X / 1000.0, y)
    >>> model.decision_function(X[:2] / 1000.0).shape
    (2,)
    """

    _constraints: ClassVar[dict] = {**LinearClassifier._constraints, "loss": choice(*_LOSSES)}

    def __init__(self, epsilon=1.0, *, delta=None, loss="huberised_hinge",
                 alpha=0.0, penalty="l2", l1_ratio=0.5, radius=None,
                 solver="auto", precondition="auto", max_iter=None,
                 learning_rate=None, batch_size=None, clip_norm=None, data_norm=1.0,
                 data_norm_inf=None, fit_intercept=True, class_weight=None, classes=None,
                 solver_options=None, random_state=None, verbose=0):
        self._store(locals())

    def _binary_loss(self):
        return _LOSSES[self.loss]()

    def _binary_targets(self, codes):
        return 2 * codes - 1

    def _several_loss(self, n_classes):
        return OneVsRest(self._binary_loss(), n_classes)
