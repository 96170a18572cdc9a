"""Fragments of docstrings, as text."""

__all__ = ["TEXT"]

# Entries of numpydoc sections, by the first name in them; "name|kind" is the fragment
# "name_kind", and "|kind" a text without a head, which may name others. Defaults are those of
# the signature.
TEXT = """
epsilon : float
    Privacy budget: replacing one row makes no result more than exp(epsilon) times as likely,
    plus delta. Smaller is more private. ``inf`` adds no noise, so the fit is not
    private, and a `dpsk.exceptions.PrivacyWarning` says so; see ``docs/epsilon_inf.md``.
delta : float or None
    How far a probability may exceed epsilon's bound. None: ``1 / n**2``. A
    `dpsk.exceptions.PrivacyWarning` says if it is weak, above 1e-3 or 1/n. 0: a guarantee by
    epsilon alone (pure DP).
delta|gaussian : float or None
    How far a probability may exceed epsilon's bound, > 0. None: ``1 / n**2``. A
    `dpsk.exceptions.PrivacyWarning` says if it is weak, above 1e-3 or 1/n.
fit_prior : bool
    Whether to learn class probabilities from released counts. False: all are equal.
class_prior : array-like of shape (n_classes,) or None
    Public class probabilities, in sorted order of the classes. None: as `fit_prior` says.
class_log_prior_ : ndarray of shape (n_classes,)
    Logarithms of the class probabilities.
class_count_ : ndarray of shape (n_classes,)
    Noisy, nonnegative counts of the classes.
temperature_ : float
    Log-likelihoods are divided by it in prediction, for the noise in them; 1 without noise.
feature_range : "auto", None or (low, high)
    Ranges of the columns. Entries outside are clipped, and columns are scaled by their ranges. A
    pair of numbers, or of arrays of shape (n_features,), is public and costs nothing. "auto":
    ranges come from two private quantiles per column. Each costs a fiftieth of the budget, all
    together at most a fifth; with few rows, a tenth and two fifths. If rows are too few for that,
    "auto" is None, with a `dpsk.exceptions.PrivacyWarning`. It is also None with more than 64
    columns, or if `data_norm` is a number, which is in the unit of the rows. None: columns are not
    scaled, so they should be of similar size.
data_norm|ranged : "auto", None or float
    Largest distance of a row from the released mean, in half ranges if there are ranges; farther
    rows are moved closer. Without ranges, rows are also scaled down to this norm for the mean.
    None: it is learned from quantiles of the norms, each for a fiftieth to a tenth of the budget;
    a ValueError if rows are too few. "auto": learned if rows suffice, otherwise
    ``sqrt(n_features)`` with ranges and 1 without, with a `dpsk.exceptions.PrivacyWarning`.
target_bounds : "auto", None or (float, float)
    Public bounds of the targets, which are clipped to them. None: bounds are learned from two
    private quantiles, each for a fiftieth to a tenth of the budget. With few rows, up to .8 of the
    budget goes to a window that holds most targets. A ValueError if rows are too few. "auto":
    learned if rows suffice, otherwise a constant, with a `dpsk.exceptions.PrivacyWarning`. Within
    declared bounds, the squared and Huber losses learn closer ones if rows suffice, unless a
    penalty or set is in the unit of the bounds.
target_bounds|network : "auto", None or (float, float)
    Public bounds of the targets, which are clipped to them; None and "auto" are those of
    `DPLinearRegression`. The fit releases a noisy mean of targets within the bounds. If they are
    declared and rows suffice, it releases a median and a unit, too, so wide bounds cost little.
columns : dict or None
    Public facts on columns, by name or position: a list of categories, a tuple (low, high) of
    bounds, between which knots are learned, or a longer tuple of knots. Frequent categories of
    other string columns are found under noise. None: only dtypes are public, and the categories
    in a pandas categorical dtype.
columns|numbers : dict or None
    Public bounds of columns, by name or position, such as ``{"age": (0, 120)}``. Learning clips
    numbers to them, and results lie within them.
n_knots : "auto" or int
    Number of knots of a numeric column: 2, 3, 5, 9 and so on, because private medians halve the
    intervals. "auto": about ``(n mu / (columns * pairs of classes)) ** (1/3)``. A row moves
    results by at most mu deviations of their noise: .19 at epsilon 1 and delta 2.5e-9.
max_categories : int or None
    Largest number of frequent categories of a column to find privately. None: 24, and the others
    share 32 public hash buckets. All are hashed if n is too small to find a category that a
    fiftieth of the rows have. Regressors leave out buckets that seem empty.
missing_indicator : bool or list
    Numeric columns with an additional feature that is 1 where the number is missing. True: all
    numeric columns. This is declared, and not learned from the rows. Knots have weight 0 there, so
    norms do not change. A missing category counts like any other category.
columns|knots : dict or None
    Public facts on columns, by name or position: a tuple (low, high) of bounds, between which
    knots are learned, or a longer tuple of knots, which costs nothing.
columns|words : dict or None
    Public categories of columns, by name or position: a list, which costs nothing. In other
    columns, frequent categories are found privately, or hashed. None: only the categories in
    pandas dtypes are declared.
interactions : "auto", int or list of (column, column)
    Pairs of columns with an interaction: a list of pairs, or the number of pairs to choose
    privately from the residuals of a first model, for a fifth of the budget. "auto": n mu / 5000,
    rounded, from 1 to 4; none if n mu is below 2000 (regressors) or 10,000 (classifiers).
alpha : float
    Strength of the penalty, which is added to the **mean** loss.
penalty : {"l2", "l1", "elasticnet", "l2_ball", "l1_ball", "box", "simplex"}
    "l1" and "elasticnet" need ``alpha > 0``. The last four are constraints and have no `alpha`:
    the norm of the coefficients is at most `radius`; in a "box", the size of each one; in a
    "simplex", they are nonnegative with sum `radius`. The intercept is neither penalized nor
    constrained, except by "accmd", "frank_wolfe", "last_iterate" and the perturbation solvers.
l1_ratio : float in [0, 1]
    Weight of the l1 part in ``penalty="elasticnet"``.
radius : float or None
    Size of the constraint set; must be None for other penalties.
solver|margin : {"auto", %(offered)s}
    "Solvers" in the documentation describes each. "auto" takes the solver with the least predicted
    mean loss, by public numbers. It is "gd"
    without a penalty or with a learned `data_norm`. With an l2 penalty and a declared `data_norm`
    it is "last_iterate" or a perturbation solver, and "gd" under heavy noise. With a constraint
    it is "gd", or "frank_wolfe" on an l1 ball. With ``delta=0`` it is
    "frank_wolfe" on an l1 ball, "stgd" for the sigmoid loss of `dpsk.DPLinearSVC`,
    "objective_perturbation" for two classes, or regression, with an l2 penalty or none, and
    "output_perturbation" otherwise.
solver|squares : {"auto", %(offered)s}
    "auto" takes "gd", and "objective_perturbation" at ``delta=0``. It takes
    "sufficient_statistics" if only a constant is fitted, or if n mu is below 100, rows are not
    whitened, the penalty is l2 and there are at most 2000 features. With a constraint it takes
    "gd", or "frank_wolfe" if its predicted risk is less and rows are not whitened.
solver|lasso : {"auto", %(offered)s}
    "auto" takes "gd" where rows are whitened, else inside the ball whichever of "frank_wolfe"
    and "gd" has the least predicted risk; without a ball, and outside of sets, "gd", or
    "sufficient_statistics" where a constant is all that is fitted, and else what DPRidge takes.
solver|network : {"auto", %(offered)s}
    "auto" is "sgd".
precondition : {"auto", True, False}
    Whether to whiten features in training: to make them uncorrelated and of equal size by a
    noisy second moment (uncentered covariance), for .12 of the budget mu^2. A row moves results
    by at most mu standard deviations of their noise: .19 at epsilon 1 and delta 2.5e-9.
    "auto": True if delta > 0, if features are at most 2000 and fewer than n mu / 2 - 1 (for
    counts n mu / 20 - 1), and if the penalty is none, or l2 with "gd" or "sgd".
    The penalty applies to the coefficients of the original features.
precondition|scores : {"auto", True, False, "unit_norm"}
    Whether to whiten features in training: to make them uncorrelated and of equal size by a
    noisy second moment (uncentered covariance), for .12 of the budget mu^2. A row moves results
    by at most mu standard deviations of their noise: .19 at epsilon 1 and delta 2.5e-9.
    "auto": True if delta > 0, if features are at most 2000 and fewer than n mu - 1 (half of that
    with many features in `DPLinearSVC`), and if the penalty is none, or l2 with "gd" or "sgd".
    The penalty applies to the coefficients of the original features.
    "unit_norm": whitened rows are scaled to one norm, in prediction too; see Notes.
precondition|network : {"auto", "whitening", True, False}
    True: rows are centered by a noisy mean, for 3 % of ``mu**2``. For this mean only, rows are
    scaled down to `data_norm`, or to ``sqrt(n_features)``, the length of a row of features of
    size 1. "whitening": centered rows are whitened by a noisy second moment, for a fifth of
    ``mu**2``, and up to a tenth for a bound on rows if `data_norm` is None. Besides the hidden
    layers, a linear path then leads to the output. "auto": "whitening" for "relu" with at most 200
    features and ``n_features + 1 < n mu``; otherwise True if the noise on the mean is small
    compared with the bound. With ``epsilon=inf``, "auto" standardizes at most 200 features.
hidden_layer_sizes : int or sequence of int
    Numbers of units of the hidden layers; ``()`` for none of them.
activation : {"relu", "tanh"}
    Activation of the hidden layers.
max_iter, learning_rate, batch_size, clip_norm : number or None
    None: a rule sets it from public numbers; see the page of the solver.
data_norm : "auto", None or float
    Largest l2 norm (length) of a row; longer rows are scaled down to it in training. None: it is
    learned, as a noisy quantile of the norms, for .02 to .1 of the budget, or up to .3 if rows
    are few. A ValueError if they are too few. First, if rows suffice, small features
    of dense rows are multiplied by private factors, for .03 to .1 of the budget. With an
    intercept, rows are then centered at a noisy mean, for at most .03. "auto": learned if rows
    suffice; with a penalty, only by solvers that allow it, as "gd" and "sgd" do.
    Otherwise regressors with an intercept fit a constant, and all other models scale rows to norm
    1, in prediction too; a `dpsk.exceptions.PrivacyWarning` says so. A given `data_norm_inf`
    makes it that times the root of the number of features.
data_norm|network : float or None
    Largest l2 norm of a row; longer rows are scaled down to it, in training and in prediction.
    None: rows are not scaled, unless they are few; see Notes.
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
    Public label set. None: the labels that occur in `y`, which are then *taken as public*, as
    the certificate says.
solver_options : dict or None
    Further options of the solver by name, such as ``{"iterate": "last"}`` for "gd"; see "Solvers"
    in the documentation for the options of each.
solver_options|network : dict or None
    Further options of the solver by name: for "sgd" ``momentum``, ``decay``, ``adaptive`` (Adam on
    noised gradients) and ``iterate``; see "Solvers" in the documentation for those of each.
random_state|sampler : int, NoiseSeed or None
    None or an int: the noise is fresh in every fit, and the seed of `sample` fixes the synthetic
    rows. A `dpsk.testing.NoiseSeed` repeats the noise, for tests: not private for anyone
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
    Share of the variance of predictions that each column explains. A pair counts half for each of
    its columns.
term_coef_ : ndarray of shape (1, n_values), (n_classes, n_values), or (n_values,)
    Values of all terms, one after another.
coef_ : ndarray of shape (n_features,)
    Coefficients of the original features.
coef_|classes : ndarray of shape (1, n_features), or (n_classes, n_features) of several
    Coefficients of the original features.
intercept_ : float
    Intercept; 0 without one.
intercept_|classes : ndarray of shape (1,), or (n_classes,) of several
    Intercepts; 0 without one.
data_norm_ : float
    Bound on norms of rows in training, declared or learned, after `center_` was subtracted and
    features were divided by `feature_scales_`, if these are given.
feature_scales_ : ndarray of shape (n_features,) or None
    Released powers of two, at most 1, by which small features were divided in training. They are
    already part of the coefficients or layers. None if features were not scaled.
center_|linear : ndarray of shape (n_features,) or None
    Released mean of rows, already part of `intercept_`. None if rows were not centered.
data_norm_|network : float or None
    Norm that rows are scaled down to, in training and in prediction. None: rows are not scaled.
target_bounds_ : (float, float)
    Bounds of targets that were used in training, declared or learned.
preconditioner_ : ndarray or None
    The private whitening matrix P of shape (n_features + 1, n_features + 1), its last row for the
    intercept; n_features without intercept. None if rows were not whitened.
preconditioner_scales_ : (float, float) or None
    Numbers (u, f). Let M be the released second moment of ``(x / data_norm_, 1)``, with x a row
    minus `center_`, divided by `feature_scales_` if given. Then `preconditioner_` is
    ``sqrtm(inv(M + f I)) / u``, its first n_features rows divided by `data_norm_` and by
    `feature_scales_`. f is for stability, u the usual norm of a whitened row.
coefs_ : list of ndarray of float32, shapes (inputs, outputs)
    Weights of every layer.
intercepts_ : list of ndarray of float32, shapes (outputs,)
    Biases of every layer.
center_ : ndarray of float32, shape (n_features_in_,), or None
    Released mean of rows, already part of `intercepts_`. None if rows were not centered.
preconditioner_|network : ndarray of float32, shape (n_features_in_, n_features_in_), or None
    Released matrix P of whitened rows ``(x - center_) P``, already part of the layers. None if
    rows were not whitened.
linear_coef_ : ndarray of float32, shape (n_features_in_, n_outputs_), or None
    Weights of the linear path: ``X @ linear_coef_`` is added to the output of the layers. None
    without such a path.
n_layers_ : int
    Number of layers, including the input layer.
n_outputs_ : int
    Number of raw predictions per row: 1 for regression and for two classes.
out_activation_ : str
    Function that maps raw predictions to probabilities: "logistic" for two classes, "softmax" for
    more, "identity" for regression.
classes_ : ndarray of shape (n_classes,)
    Sorted labels.
n_iter_ : int
    Number of optimizer steps: planned by public numbers, or drawn at random by some solvers. At
    ``epsilon=inf``, those that were made.
n_features_in_ : int
    Number of features seen in `fit`.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features seen in `fit`, if all are strings.
privacy_ : Certificate
    The guarantee, and all that it rests on.
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
        For a parameter out of range, a column that is not numeric, or infinite numbers; always
        before any noise is drawn.
|raises_columns
    Raises
    ------
    ValueError
        For a parameter out of range, labels outside `classes`, a single class when classes are
        inferred, a category that was not declared, infinite numbers, or missing ones where these
        are not accepted; always before any noise is drawn.
|ranged
    center_ : ndarray of shape (n_features_in_,)
        Noisy mean of all rows.
    data_norm_ : float
        Bound on centered rows that was used, declared or learned.
    feature_range_ : ndarray of shape (2, n_features_in_), or None
        Lower and upper ends of the ranges, declared or learned; None without ranges.
|raises_moments
    Raises
    ------
    ValueError
        For a parameter out of range, labels outside `classes`, a single class when classes are
        inferred, or rows that are not finite; always before any noise is drawn.
|privacy_moments
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-differentially private. Released: learned
    bounds, noisy means of the rows, and noisy counts, sums and second moments of the
    classes, which together are one release. The number of rows and features, the set of labels and
    all parameters are public.

    Means and variances are those of rows within their bounds. With fewer rows, more of them lie
    beyond a learned bound: these keep their direction from the mean, but not their distance.
|privacy_counts
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, its label
    included, the fitted attributes are (epsilon, delta)-differentially private. Released: learned
    bounds, and noisy counts of the classes and of the entries of their rows, which together are
    one release. The number of rows and features, the set of labels and all parameters are
    public.
|privacy
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, probabilities
    of the fitted attributes differ by at most a factor exp(epsilon), plus delta. Released, as the
    certificate lists: learned bounds and scales, noisy means if rows are centered, noisy sums of
    the products of features if rows are whitened, and noisy results of the solver, such as
    directions of its steps (gradients). All else is computed from releases. The number of rows and
    features, the set of labels and all parameters are public.
|privacy_network
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: a noisy mean if rows are
    centered; a learned bound and a noisy second moment if rows are whitened; noisy sums of clipped
    gradients, and whatever is computed from them. The number of rows and
    features, the set of labels, all parameters and the initial random weights are public.
|privacy_additive
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, probabilities
    of the fitted attributes differ by at most a factor exp(epsilon), plus delta. Released: knots
    (noisy quantiles); noisy counts of small whole numbers, of groups of categories and of classes;
    categories with high noisy counts; pairs of columns chosen under noise, and a first model for
    that; learned bounds on targets of regressions; noisy sums of the products of features; noisy
    gradients and slopes of the loss. All else is computed from these. With a probability of at
    most a tenth of delta a category of a single row is shown. The norm (length) of a row's
    features is at most the square root of the number of columns and pairs. The number of rows,
    names and types of columns, the set of labels and all parameters are public.
|linear
    is ``X @ coef_ + intercept_`` within `target_bounds_`: bounds on rows and whitening apply
    in training only.
|linear_score
    ``decision_function(X)`` is ``X @ coef_.T + intercept_``: bounds on rows and whitening apply in
    training only, unless a warning says that rows are scaled in prediction too. With
    ``precondition="unit_norm"`` it is divided by ``||(z, 1) P||``, with z the row less `center_`
    and P `preconditioner_`: a slightly curved score, which ranks better on some tables.
|regressor
    %(data_norm)s %(data_norm_inf)s %(fit_intercept)s
    %(solver_options)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coef_)s %(intercept_)s %(center__linear)s %(feature_scales_)s %(data_norm_)s
    %(target_bounds_)s
    %(preconditioner_)s %(preconditioner_scales_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s
|regressor_notes
    %(privacy)s

    ``predict(X)``
    %(linear)s
|least_squares
    %(epsilon)s %(delta)s %(target_bounds)s %(alpha)s
        It applies to targets scaled to [-1, 1].
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
