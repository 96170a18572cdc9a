"""Least squares over an l1 ball with differential privacy."""

from dpsk.linear_model._least_squares import LeastSquares

__all__ = ["DPLasso"]


class DPLasso(LeastSquares):
    r"""Least squares under a bound on the l1 norm, trained with differential privacy.

    Targets are clipped to public bounds and mapped to [-1, 1]; on that scale it minimises

    .. math:: \frac{1}{2n} \sum_i (\bar x_i^\top w + b - y_i)^2
              \quad \text{over} \quad \|(w, b)\|_1 \le \text{radius}

    under noise, with rows scaled to `data_norm` and their entries clipped to `data_norm_inf`:
    the lasso in its constrained form. Solvers "gd" and "sgd" leave the intercept b free.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget; smaller is more private.
    delta : float or None, default=None
        Probability in the guarantee. None: ``1 / n**2``. 0 asks for pure epsilon, which
        "frank_wolfe" alone offers.
    target_bounds : (float, float), default=(-1.0, 1.0)
        Public bounds of the targets, which are clipped to them. A constant by default,
        never read from the data.
    radius : float, default=1.0
        Public bound on the l1 norm of coefficients and intercept, on the scale of [-1, 1]; size
        of the set where `penalty` names another.
    alpha : float, default=0.0
        Strength of penalties that are no sets, beside the **mean** loss.
    penalty : {"l1_ball", "l2_ball", "box", "simplex", "l2", "l1", "elasticnet"}, \
            default="l1_ball"
        The l1 ball makes it the lasso. "l1" adds `alpha` times the norm instead.
    l1_ratio : float in [0, 1], default=0.5
        Share of l1 in ``penalty="elasticnet"``.
    solver : {"auto", "gd", "sgd", "svrg", "svrgpp", "accmd", "frank_wolfe", "rrpsgd", "stgd",
            "minibatch_stgd"}, default="auto"
        "auto" takes whichever of "frank_wolfe" and "gd" has the least predicted risk; outside
        of sets what DPRidge takes.
    precondition : {"auto", True, False}, default="auto"
        Whether a fifth of the budget goes to a noisy second moment of the rows, which then
        whitens them. "auto": for dense rows of at most 2000 features, delta > 0, and no
        penalty, as `alpha` and sets speak of the coefficients of the rows as they are; and
        where ``n_features + 1 < n mu``.
    max_iter, learning_rate, batch_size, clip_norm : number or None, default=None
        None: chosen by a rule that looks at public numbers only, given with each solver.
        The squared loss does not bound the gradient, so ``clip_norm=inf`` is refused.
    data_norm : float, default=1.0
        Rows of greater l2 norm are scaled down to it, in training and in prediction.
    data_norm_inf : float or None, default=None
        Entries of the scaled rows beyond +- it are clipped, in training and in prediction.
        Solvers "accmd" and "frank_wolfe" gain from a small bound. None: `data_norm`.
    fit_intercept : bool, default=True
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
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    offset_ : float
        Middle of `target_bounds` where rows were whitened, added last; else 0, as the
        intercept holds it.
    preconditioner_ : ndarray or None
        The released matrix P of shape (n_features + 1, n_features + 1), the last row for the
        constant; one less without intercept. None where rows were not whitened.
    n_iter_ : int
        The planned number of steps.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
    privacy_ : Certificate
        The guarantee, and everything it rests on.

    Raises
    ------
    ValueError
        For a parameter out of range, a solver whose needs are not met, or rows that are not
        finite; always before any noise is drawn.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: a noisy second moment where
    rows are whitened, then what the solver's plan holds: noisy gradients, differences or moments,
    noisy coefficients, or choices made under noise; and what follows from them. The
    number of rows and features and all parameters are public.

    ``predict(X)`` is linear in the rows *after* they are scaled to `data_norm`: with ``r`` the
    scaled row, its value is ``r' coef_ + intercept_``, divided by
    ``max(1, ||P (r, 1)||)`` where ``preconditioner_`` is a matrix P, plus ``offset_``.

    The intercept enters as a coordinate of 1, so it stands in the way of a `data_norm_inf` below
    1: the solvers inside the ball then know no better bound than 1. Where targets are centred
    between their bounds, ``fit_intercept=False`` is better.

    References
    ----------
    Talwar, Thakurta, Zhang (2015), "Nearly optimal private lasso", Algorithm 2; Wang, Ye, Xu
    (2017), Algorithm 3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPLasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DPLasso(epsilon=2.0, target_bounds=(25, 350), random_state=0)
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _default_radius = 1.0

    def __init__(self, epsilon=1.0, *, delta=None, target_bounds=(-1.0, 1.0),
                 radius=1.0, alpha=0.0, penalty="l1_ball", l1_ratio=0.5, solver="auto",
                 precondition="auto", max_iter=None, learning_rate=None, batch_size=None,
                 clip_norm=None, data_norm=1.0, data_norm_inf=None, fit_intercept=True,
                 solver_options=None, random_state=None, verbose=0):
        self._store(locals())
