"""Fragments of docstrings of boosted trees, and of parameters of methods."""

__all__ = ["MORE_TEXT"]

# In the form of `dpsk._fragments.TEXT`.
MORE_TEXT = """
init : {"additive", None}
    Start of the trees: an additive model for half of the budget. None: only bins, for a tenth of
    the budget.
max_iter|trees : int or None
    Number of trees. None: n mu / 150, from 20 to 60. If n mu is below 1000 for regression, or 4000
    for classification, there are no trees: the additive model alone is better and gets the whole
    budget, and `n_iter_` is 1.
max_depth : int
    Depth of a tree, at most 8; each level has one question.
learning_rate|trees : float
    Factor on the values of trees, in (0, 1].
interaction_cst : str, list of sets of columns, or None
    Columns that one tree may use together: "pairwise", "no_interactions" or sets, as in
    scikit-learn; the additive model then has no interactions. None: any columns.
monotonic_cst : array-like of int, dict or None
    1 where predictions must not fall as the column rises, -1 where they must not rise, 0 for
    others; or a dict of these by column, as in scikit-learn. With two classes, the prediction is
    the probability of the second one. Fitted functions are replaced by the nearest monotonic
    functions, at no privacy cost. Constrained columns must be numeric, and are in no pair of
    `interactions`.
feature_importances_ : ndarray of shape (n_features_in_,)
    Share of the variance of raw predictions by column; computed from the release.
class_shares_ : ndarray of shape (n_classes,)
    Private estimates of the class frequencies; only with ``class_weight="balanced"``.
n_iter_|trees : int
    Number of stages: an additive model and every tree. It is 1 if the model alone is better.
|boosting_notes
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: the additive model, or bins;
    mean squares of residuals, for clipping; for every tree, two private choices among randomly
    drawn cuts, and noisy sums of gradients and curvatures in its leaves. The number of rows, names
    and dtypes of columns, the set of labels and all parameters are public. There is no
    `warm_start`: more trees need another fit, with its own budget. Dtypes and `columns` say which
    columns are categorical.

    References
    ----------
    Maddock, Cormode, Wang, Maple, Jha (2022), "Federated boosted decision trees with differential
    privacy"; Kohavi, Li (1995), for trees of one question a level.
X : array-like or CSR matrix of shape (n, n_features)
    Finite numbers; float32 stays float32.
X|raw : DataFrame, or array-like of shape (n, n_features)
    Rows as in `fit`.
X|dense : array-like of shape (n, n_features)
    Finite numbers; float32 stays float32.
X|table : DataFrame, or array-like of shape (n, n_features)
    Numbers, with NaN for missing values, and categories. Columns of an array hold numbers unless
    they are declared.
X|network : array-like of shape (n, n_features)
    Numbers, converted to float32, in which they must be finite.
y|labels : array-like of shape (n,)
    Labels, numbers or strings.
y|targets : array-like of shape (n,)
    Finite numbers, clipped to `target_bounds`.
sample_weight : array-like of shape (n,) or None
    Factors of the rows' losses, which are part of the rows, in any unit: they are divided by a
    privately learned bound. Each gradient is clipped after weighting, and the sum is divided by
    n, not by the sum of weights.
groups : array-like of shape (n,) or None
    The person of each row, for user-level privacy: a person adds the average of the clipped
    gradients of all own rows, which linear models clip again (`group_clip_norm` of
    `solver_options`). The public number of people replaces n, also in `delta`. Bounds are learned
    from one row per person, drawn by public randomness. Solvers "gd" and "sgd".
groups|table : array-like of shape (n,) or None
    The person of each row, for user-level privacy: columns are learned from one row per person,
    drawn by public randomness. The number of people replaces n.
groups|trees : array-like of shape (n,) or None
    The person of each row, for user-level privacy: bins are learned from one row per person, and
    all else from averages over each person's rows. The number of people replaces n.
groups|model : array-like of shape (n,) or None
    As in `DPTableVectorizer.fit`; coefficients are learned from averages over each person's rows.
public_X, public_y : array-like or None
    Rows and labels or targets that need no protection, for ``holdout="public"`` of the
    solvers "stgd" and "minibatch_stgd"; no guarantee covers them.
sample_weight|moments : array-like of shape (n,) or None
    Factors of the rows in sums and counts, which are part of the rows, in any unit: they are
    divided by a privately learned bound.
groups|moments : array-like of shape (n,) or None
    The person of each row, strings or numbers, for user-level privacy: a person with any number
    of rows adds the average over them. The public number of people replaces n, also in `delta`.
    Bounds are learned from one row per person, drawn by public randomness.
"""
