"""Fragments of docstrings, as text."""

__all__ = ["TEXT"]

# Entries of numpydoc sections, by the first name in them; "name|kind" is the fragment
# "name_kind", and "|kind" a text without a head, which may name others. Defaults are those of
# the signature.
TEXT = """
epsilon : float
    Privacy budget; smaller is more private. ``inf`` adds no noise, so the fit is not
    private, and a `dpsk.exceptions.PrivacyWarning` says so; see ``docs/epsilon_inf.md``.
delta : float or None
    Roughly the probability that the bound by epsilon fails. None: ``1 / n**2``. A
    `dpsk.exceptions.PrivacyWarning` says if it is weak, above 1e-3 or 1/n. 0: a guarantee by
    epsilon alone (pure DP).
delta|gaussian : float or None
    Roughly the probability that the bound by epsilon fails, > 0. None: ``1 / n**2``. A
    `dpsk.exceptions.PrivacyWarning` says if it is weak, above 1e-3 or 1/n.
fit_prior : bool
    Whether probabilities of the classes come from released counts; False: they are even.
class_prior : array-like of shape (n_classes,) or None
    Public probabilities of the classes, in their sorted order. None: as `fit_prior` says.
class_log_prior_ : ndarray of shape (n_classes,)
    Logarithms of the probabilities of the classes.
class_count_ : ndarray of shape (n_classes,)
    Noisy counts of the classes, none negative.
feature_range : "auto", None or (low, high)
    Ranges of the columns. Entries outside are clipped, and columns enter with their range as the
    unit. A pair, two numbers or two arrays of shape (n_features,), is public and costs nothing.
    "auto": ranges come from two quantiles a column, chosen under noise: a fiftieth of the budget
    each and at most a fifth for all, up to a tenth and two fifths where rows are few; where they
    are too few for that, as None, with a `dpsk.exceptions.PrivacyWarning`. Beyond 64 columns, and
    beside a number as `data_norm`, which is in the unit of the rows, "auto" is None. None: columns
    enter as they are, so they should be of like size.
data_norm|ranged : "auto", None or float
    Rows farther than it from the released mean are brought that near, in half ranges where there
    are ranges; without, rows are scaled down to it for the mean as well. None: a fiftieth of the
    budget each, and up to a tenth, goes to quantiles of the norms; a ValueError where rows are too
    few for that. "auto": so where rows suffice, else ``sqrt(n_features)`` with ranges, or 1, with
    a `dpsk.exceptions.PrivacyWarning`.
target_bounds : "auto", None or (float, float)
    Public bounds of the targets, which are clipped to them, or how to get some. None: a
    fiftieth of the budget each, and up to a tenth, goes to two quantiles chosen under noise,
    where rows are few up to .8 to a window that most targets lie in; a ValueError
    where they are too few for that. "auto": so where rows suffice, else a constant, with a
    `dpsk.exceptions.PrivacyWarning`. Within declared ones closer bounds are learnt for squares
    and Huber's loss where rows suffice, unless penalties or sets are in their unit.
target_bounds|network : "auto", None or (float, float)
    Public bounds of the targets, which are clipped to them, or how to get some, as for
    `DPLinearRegression`. Within them a noisy mean of targets is released, and within declared ones
    their median and unit where rows suffice, so that wide bounds cost little.
columns : dict or None
    Public facts on columns, by name or position: a list of categories, a tuple (low, high) of
    bounds, between which knots are learned, or a longer tuple of knots. Frequent categories of
    other string columns are found under noise. None: only dtypes are public, and the categories
    in a pandas categorical dtype.
columns|numbers : dict or None
    Public bounds of columns, by name or position, such as ``{"age": (0, 120)}``. Numbers beyond
    count as these in what is learnt, which lies within.
n_knots : "auto" or int
    Number of knots of a numeric column: 2, 3, 5, 9 and so on, as private medians halve the
    intervals. "auto": about ``(n mu / (columns * pairs of classes)) ** (1/3)``. A row moves
    results by at most mu deviations of their noise: .19 at epsilon 1 and delta 2.5e-9.
max_categories : int or None
    The largest number of frequent categories of a column to find under noise. None: 24, and the
    others share 32 public buckets, by a hash. All are hashed where n is too small to find a
    category that a fiftieth of the rows have. Regressors leave out buckets that seem empty.
missing_indicator : bool or list
    Columns of numbers with one more feature, 1 where the number is missing; True: all of them.
    Declared, never told by the rows; knots have weight 0 there, so that norms stay as they are.
    What is missing among words counts as any other word.
columns|knots : dict or None
    What is public of columns, by name or position: a tuple of two numbers holds the bounds of
    one, between which knots are found; a longer tuple its knots, which costs nothing.
columns|words : dict or None
    What is public of columns, by name or position: the list of the categories of one, which
    costs nothing. Of others frequent categories are found under noise, or hashed. None: nothing
    is declared but the categories that dtypes of pandas hold.
interactions : "auto", int or list of (column, column)
    Pairs of columns with an interaction: a list of pairs, or the number to choose under noise,
    from the residuals of a first model, for a fifth of the budget. "auto": n mu / 5000,
    rounded, from 1 to 4; none if n mu is below 2000 (regressors) or 10,000 (classifiers).
alpha : float
    Strength of the penalty, which is added to the **mean** loss.
penalty : {"l2", "l1", "elasticnet", "l2_ball", "l1_ball", "box", "simplex"}
    "l1" and "elasticnet" need ``alpha > 0``. The last four are constraints and ignore `alpha`:
    the coefficients' norm, or in a "box" the size of each, is at most `radius`; in a "simplex"
    none is negative and their sum is `radius`. The intercept is neither penalized nor
    constrained, except by "accmd", "frank_wolfe", "last_iterate" and the perturbation solvers.
l1_ratio : float in [0, 1]
    Weight of the l1 part in ``penalty="elasticnet"``.
radius : float or None
    Size of the constraint set; must be None for other penalties.
solver|margin : {"auto", %(offered)s}
    "Solvers" in the documentation describes each. "auto" takes that of the least predicted mean
    loss, by public numbers. That is "gd"
    without a penalty or with a learned `data_norm`. With an l2 penalty and a declared `data_norm`
    it is "last_iterate" or a perturbation solver, under heavy noise "gd". With a constraint it
    is "gd", or "frank_wolfe" on an l1 ball. With ``delta=0`` and no constraint it is
    "objective_perturbation", which classifies two classes only.
solver|squares : {"auto", %(offered)s}
    "auto" takes "gd"; "sufficient_statistics" where a constant is all that is fitted, or n mu is
    below 100, rows are not whitened, the penalty is l2 and there are at most 2000 features; at
    ``delta=0``, "objective_perturbation". Inside a set it takes "gd", or "frank_wolfe" where
    its predicted risk is less and rows are not whitened.
solver|lasso : {"auto", %(offered)s}
    "auto" takes "gd" where rows are whitened, else inside the ball whichever of "frank_wolfe"
    and "gd" has the least predicted risk; without a ball, and outside of sets, "gd", or
    "sufficient_statistics" where a constant is all that is fitted, and else what DPRidge takes.
solver|network : {"auto", %(offered)s}
    "auto" is "sgd".
precondition : {"auto", True, False}
    Whether to whiten features in training: to make them uncorrelated and of equal size by a
    noisy second moment (covariance), for .12 of the budget mu^2. A row moves results by at
    most mu standard deviations of their noise: .19 at epsilon 1 and delta 2.5e-9.
    "auto": if delta > 0, with at most 2000 features and fewer than n mu - 1, and without a
    penalty or with an l2 penalty and "gd" or "sgd".
    The penalty applies to the coefficients of the original features.
precondition|scores : {"auto", True, False, "unit_norm"}
    Whether to whiten features in training: to make them uncorrelated and of equal size by a
    noisy second moment (covariance), for .12 of the budget mu^2. A row moves results by at
    most mu standard deviations of their noise: .19 at epsilon 1 and delta 2.5e-9.
    "auto": if delta > 0, with at most 2000 features and fewer than n mu - 1, and without a
    penalty or with an l2 penalty and "gd" or "sgd".
    The penalty applies to the coefficients of the original features.
    "unit_norm": whitened rows are scaled to one norm, in prediction too; see Notes.
precondition|network : {"auto", "whitening", True, False}
    True: 3 % of ``mu**2`` goes to a noisy mean of the rows, which is then subtracted from
    them. For it alone rows are scaled down to `data_norm`, or to ``sqrt(n_features)``, the
    length of a row of features of size 1. "whitening": a fifth of ``mu**2`` goes to a noisy
    second moment, and up to a tenth to a bound on rows for it where `data_norm` is None;
    centered rows are whitened by it, and beside hidden layers enter the output by a linear
    path as well. "auto": "whitening" for "relu", at most 200 features and where
    ``n_features + 1 < n mu``; else True where the noise on the mean is small beside the bound.
    With ``epsilon=inf`` "auto" standardizes at most 200 features.
hidden_layer_sizes : int or sequence of int
    Numbers of units of the hidden layers; ``()`` for none of them.
activation : {"relu", "tanh"}
    Of the hidden layers.
max_iter, learning_rate, batch_size, clip_norm : number or None
    None: set by a rule that uses public numbers only; see the page of the solver.
data_norm : "auto", None or float
    Largest l2 norm (length) of a row; longer rows are scaled down to it in training. None: it is
    learned, as a noisy quantile of the norms, for a fiftieth to a tenth of the budget, with few
    rows up to .3; a ValueError if rows are too few. "auto": learned if rows suffice and
    either there is no penalty or the solver is "gd", "sgd", "sgda" or
    "sufficient_statistics". Otherwise it is 1, and classifiers scale rows in prediction too;
    regressors with too few rows fit a constant. A `dpsk.exceptions.PrivacyWarning` says so.
data_norm|network : float or None
    Rows of greater l2 norm are scaled down to it, in training and in prediction. None:
    rows enter as they are, but where they are few; see Notes.
data_norm_inf : float or None
    Entries of the scaled rows are clipped to this size in training. "accmd" and "frank_wolfe" gain
    from a small bound. None: `data_norm`.
fit_intercept : bool
    Whether to add a constant to the scores.
class_weight : dict or None
    Public weights of the classes' losses. "balanced" is refused: it corrects log-odds alone.
class_weight|balanced : dict, "balanced" or None
    Public weights of the classes' losses. "balanced": scores are corrected as if all classes
    were equally frequent. Private class counts for that take ``1 / (1 + 2 sqrt(p))`` of the
    budget (mu^2), at most a tenth, with p the number of parameters of a score.
classes : array-like or None
    The label set, public. None: the labels that occur in `y`, which are then *taken as
    public*, as the certificate says.
solver_options : dict or None
    Further options of the solver by name, such as ``{"iterate": "last"}`` for "gd"; see "Solvers"
    in the documentation for the options of each.
solver_options|network : dict or None
    Further options of the solver by name: for "sgd" ``momentum``, ``decay``, ``adaptive`` (Adam on
    noised gradients) and ``iterate``; see "Solvers" in the documentation for those of each.
random_state|sampler : int, NoiseSeed or None
    None or an int: the noise is fresh in every fit, and rows that are drawn are ruled by the seed
    of `sample`. A `dpsk.testing.NoiseSeed` repeats the noise, for tests: not private for anyone
    who knows the seed.
random_state : int, NoiseSeed or None
    None or an int sets public randomness only (initial weights, random rounds, splits); the
    noise is fresh in every fit. A `dpsk.testing.NoiseSeed` repeats the noise too, for tests:
    not private for anyone who knows the seed.
verbose : int or bool
    1 prints the public plan, and the progress of a fit that takes more than a second.
terms_ : list of Term
    The shape function of every column and pair of columns. `axes` have the name of a column and
    its knots or categories; `values` are the function there, and `centered` the values less their
    mean. `std` is their standard error due to noise, NaN where it is unknown; `interval` gives
    confidence bands.
feature_importances_|additive : ndarray of shape (n_features,)
    Share of the variance of predictions that each column explains; pairs count half for either.
term_coef_ : ndarray of shape (1, n_values), (n_classes, n_values), or (n_values,)
    The values of all terms, one after another.
coef_ : ndarray of shape (n_features,)
    Coefficients of the original features.
coef_|classes : ndarray of shape (1, n_features), or (n_classes, n_features) of several
    Coefficients of the original features.
intercept_ : float
    The constant; 0 without one.
intercept_|classes : ndarray of shape (1,), or (n_classes,) of several
    The constants; 0 without one.
data_norm_ : float
    The bound on norms of rows that was used in training, declared or learned.
data_norm_|network : float or None
    The bound that rows are scaled down to, in training and in prediction; None: they enter as
    they are.
target_bounds_ : (float, float)
    The bounds of targets that held in training, as declared or as released.
preconditioner_ : ndarray or None
    The private whitening matrix P of shape (n_features + 1, n_features + 1), its last row for the
    intercept; n_features without intercept. None if rows were not whitened.
preconditioner_scales_ : (float, float) or None
    The usual norm u of a whitened row, and f, which was added for stability. Let S be
    ``u * preconditioner_``, with rows of features times `data_norm_`. Then
    ``inv(S @ S) - f I`` is the released second moment of ``(x / data_norm_, 1)``.
coefs_ : list of ndarray of float32, shapes (inputs, outputs)
    The weights of every layer.
intercepts_ : list of ndarray of float32, shapes (outputs,)
    The biases of every layer.
center_ : ndarray of float32, shape (n_features_in_,), or None
    The released mean of rows, already part of `intercepts_`. None where rows were not
    centered.
preconditioner_|network : ndarray of float32, shape (n_features_in_, n_features_in_), or None
    The released matrix P of rows ``(x - center_) P``, already part of the layers. None where
    rows were not whitened.
linear_coef_ : ndarray of float32, shape (n_features_in_, n_outputs_), or None
    Weights of the linear path: ``X @ linear_coef_`` is added to what the layers predict. None
    where there is none.
n_layers_ : int
    Number of layers, that of the rows included.
n_outputs_ : int
    Number of raw predictions of a row: 1 for regression and for two classes.
out_activation_ : str
    What turns raw predictions into probabilities, "logistic" for two classes and "softmax"
    for more; "identity" for regression.
classes_ : ndarray of shape (n_classes,)
    The labels, sorted.
n_iter_ : int
    Number of optimizer steps: planned, or drawn at random by some solvers.
    At ``epsilon=inf`` with "auto", the number of steps made.
n_features_in_ : int
    Number of features seen in `fit`.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features seen in `fit`, where all are strings.
privacy_ : Certificate
    The guarantee, and everything it rests on.
|raises
    Raises
    ------
    ValueError
        For a parameter out of range, a solver whose needs are not met, or rows that are not
        finite; always before any noise is drawn.
|raises_classes
    Raises
    ------
    ValueError
        For a parameter out of range, a solver whose needs are not met, labels outside
        `classes`, a single class when classes are inferred, more than two classes where the
        solver takes two, or rows that are not finite; always before any noise is drawn.
|raises_numbers
    Raises
    ------
    ValueError
        For a parameter out of range, a column that is not of numbers, or infinite ones; always
        before any noise is drawn.
|raises_columns
    Raises
    ------
    ValueError
        For a parameter out of range, labels outside `classes`, a single class when classes are
        inferred, a category that was not declared, or numbers that are not finite; always before
        any noise is drawn.
|ranged
    center_ : ndarray of shape (n_features_in_,)
        The mean of all rows, as far as noise lets it be told.
    data_norm_ : float
        The bound on rows less it that held, as declared or as released.
    feature_range_ : ndarray of shape (2, n_features_in_), or None
        Lower and upper ends of the ranges, as declared or as released; None without.
|raises_moments
    Raises
    ------
    ValueError
        For a parameter out of range, labels outside `classes`, a single class when classes are
        inferred, or rows that are not finite; always before any noise is drawn.
|privacy_moments
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-differentially private. Released: bounds
    that are learnt, the noisy mean of the rows, and noisy counts, sums and second moments of the
    classes, which together are one release. The number of rows and features, the set of labels and
    all parameters are public.

    Means and variances are those of rows within their bounds. A learnt bound leaves more rows
    beyond it the fewer they are: these keep their direction from the mean, not their distance.
|privacy_counts
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-differentially private. Released: bounds
    that are learnt, and noisy counts of the classes and of what their rows hold, which together
    are one release. The number of rows and features, the set of labels and all parameters are
    public.
|privacy
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, probabilities
    of the fitted attributes differ by at most a factor exp(epsilon), plus delta. Released, as the
    certificate lists: learned bounds, a noisy second moment if rows are whitened, and the
    solver's noisy gradients, differences, moments, coefficients or choices. All else is computed
    from releases. The number of rows and features, the set of labels and all parameters are
    public.
|privacy_network
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: a noisy mean of the rows
    where it is subtracted, or a bound that is learnt and a noisy second moment where rows are
    whitened, noisy sums of clipped gradients, and what follows from them. The number of rows and
    features, the set of labels, all parameters and the random weights at the start are public.
|privacy_additive
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, probabilities
    of the fitted attributes differ by at most a factor exp(epsilon), plus delta. Released: knots
    (noisy quantiles); noisy counts of small whole numbers, of hash buckets and of classes;
    categories with high noisy counts; pairs of columns chosen under noise, and a first model for
    that; learned bounds on targets; a noisy second moment of features, noisy gradients, slopes
    and Hessians. All else is computed from these. With a probability of at most a tenth of delta
    a category of a single row is shown. A row's norm is at most the square root of the number of
    columns and pairs, by construction. The number of rows, names and dtypes of columns, the set of
    labels and all parameters are public.
|linear
    is ``X @ coef_ + intercept_`` within `target_bounds_`: bounds on rows and whitening apply
    in training only.
|linear_score
    ``decision_function(X)`` is ``X @ coef_.T + intercept_``: bounds on rows and whitening apply in
    training only, unless a warning says that rows are scaled in prediction too. With
    ``precondition="unit_norm"`` it is divided by ``||(x, 1) P||``, where P
    is `preconditioner_`: a slightly curved score, which ranks better on some tables.
|regressor
    %(data_norm)s %(data_norm_inf)s %(fit_intercept)s
    %(solver_options)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coef_)s %(intercept_)s %(data_norm_)s %(target_bounds_)s %(preconditioner_)s
    %(preconditioner_scales_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s
|regressor_notes
    %(privacy)s

    ``predict(X)``
    %(linear)s
|least_squares
    %(epsilon)s %(delta)s %(target_bounds)s %(alpha)s
        It is on the scale of targets mapped to [-1, 1].
    %(penalty)s %(l1_ratio)s %(radius)s %(solver_squares)s %(precondition)s %(max_iter)s
        The squared loss does not bound the gradient, so ``clip_norm=inf`` is refused.
    %(regressor)s
|least_squares_notes
    %(regressor_notes)s

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Wang (2018), "Revisiting differentially private linear
    regression", Algorithm 2.
"""
