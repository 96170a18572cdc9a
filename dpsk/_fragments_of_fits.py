"""Fragments of docstrings of boosted trees, and of what methods take."""

__all__ = ["MORE_TEXT"]

# In the form of `dpsk._fragments.TEXT`.
MORE_TEXT = """
init : {"additive", None}
    Start of the trees: an additive model at half the budget, or nothing but bins, which a
    tenth of it is spent on.
max_iter|trees : int or None
    Number of trees. None: one for every 150 of n mu, 20 to 60; none where n mu is below
    1000 for regression, or 4000 for classes: there the additive model alone is better, gets
    the whole budget, and `n_iter_` is 1.
max_depth : int
    Questions that a tree asks, at most 8.
learning_rate|trees : float
    Factor of the trees' values, in (0, 1].
interaction_cst : str, list of sets of columns, or None
    Columns that a tree may ask for together: "pairwise", "no_interactions" or sets, as in
    scikit-learn; the additive model then has no products. None: any.
monotonic_cst : array-like of int, dict or None
    1 where predictions must not fall as the column rises, -1 where they must not rise, 0 for
    others; or a dict of these by column, as in scikit-learn. With classes, predictions are the
    probability of the second of two. What is fitted is replaced by the nearest monotonic
    functions, at no privacy cost. Constrained columns must be numeric, and are in no pair of
    `interactions`.
feature_importances_ : ndarray of shape (n_features_in_,)
    Share of the variance of raw predictions by column; follows from what was released.
class_shares_ : ndarray of shape (n_classes,)
    Private estimates of the class frequencies; only with ``class_weight="balanced"``.
n_iter_|trees : int
    Number of stages: an additive model and every tree; 1 where that model is better alone.
|boosting_notes
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: the additive model, or bins;
    mean squares of what is left, for clipping; for every tree two choices of cuts under noise,
    among some that public randomness draws, and noisy sums of slopes and curvatures over its
    leaves. The number of rows, names and dtypes of columns, the set of labels and all parameters
    are public. There is no `warm_start`: more trees are another fit, with a budget of its own.
    Categories are told by dtypes and `columns`.

    References
    ----------
    Maddock, Cormode, Wang, Maple, Jha (2022), "Federated boosted decision trees with differential
    privacy"; Kohavi, Li (1995), for trees of one question a level.
X : array-like or CSR matrix of shape (n, n_features)
    Finite numbers; float32 stays float32.
X|dense : array-like of shape (n, n_features)
    Finite numbers; float32 stays float32.
X|table : DataFrame, or array-like of shape (n, n_features)
    Numbers, NaN where they are missing, and words; columns of an array hold numbers, or are
    declared.
X|network : array-like of shape (n, n_features)
    Numbers that are finite in float32, which they are converted to.
y|labels : array-like of shape (n,)
    Labels, numbers or strings.
y|targets : array-like of shape (n,)
    Finite numbers, clipped to `target_bounds`.
sample_weight : array-like of shape (n,) or None
    Factors of the rows' losses, part of the rows: each gradient is clipped after
    weighting, and the sum is divided by n, not by the sum of weights.
groups : array-like of shape (n,) or None, default=None
    The person of each row, to protect people instead of rows: people add the average of their
    rows' clipped gradients, clipped again by linear models (`group_clip_norm` of
    `solver_options`). Their public number stands for n, in `delta` too. Bounds are learnt from
    one row of each, drawn by public randomness. Solvers "gd" and "sgd".
groups|table : array-like of shape (n,) or None, default=None
    Whose row each is, to protect people instead of rows: columns are learnt from one row of
    each, drawn by public randomness. Their number stands for n.
groups|trees : array-like of shape (n,) or None, default=None
    Whose row each is, to protect people instead of rows: bins are learnt from one row of each,
    all else from the averages of all rows of each. Their number stands for n.
groups|model : array-like of shape (n,) or None, default=None
    As in `DPTableVectorizer.fit`; coefficients are learnt from averages over each person's rows.
public_X, public_y : array-like or None
    Rows and labels or targets that need no protection, for ``holdout="public"`` of the
    solvers "stgd" and "minibatch_stgd"; no guarantee covers them.
sample_weight|moments : array-like of shape (n,) or None, default=None
    Factors of what rows add to sums and counts, part of the rows; those above 1 count as 1.
groups|moments : array-like of shape (n,) or None, default=None
    Whose row each is: words or numbers. The guarantee is then that of whole groups, of any number
    of rows: each adds the average of what its rows add. Their number G, which is public, stands
    where n does, in `delta` too. Bounds are learnt from one row of each, drawn by public
    randomness.
"""
