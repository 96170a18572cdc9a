"""Hyperparameter search over a grid of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpsk._docs import documented
from dpsk.model_selection._search import BaseSearch, checked_mean

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPGridSearchCV"]


@documented
class DPGridSearchCV(BaseSearch):
    """Grid search of hyperparameters under one privacy budget.

    A secret random number of candidates is drawn uniformly from the grid. Each is trained on a
    part of the rows and scored under noise on the others, and the one with the best noisy score
    is kept. The search costs little more than one candidate: at a total epsilon of 1, with ten
    candidates on average, each has about .64.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of dpsk, or a `DPPipeline` that ends with one. Its `epsilon`,
        `delta` and `verbose` are set by the search.
    param_grid : dict or list of dicts
        Names of parameters with lists of values, as scikit-learn's `GridSearchCV` takes it.
    %(epsilon)s
        The budget covers the whole search.
    %(delta_gaussian)s
    n_iter : float or None, default=None
        Expected number of candidates, at least 1; some points of the grid may be drawn twice, and
        others not at all. None: the size of the grid.
    scoring : str, callable, list, dict or None, default=None
        "accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision", "neg_brier_score"
        or "neg_log_loss" for classifiers; "neg_mean_squared_error", "neg_mean_absolute_error" or
        "r2" for regressors; the first by default. Also scikit-learn's scorers of these names.
        Other scorers need ``score_bound=(low, high)``, and are called on one row at a time. With a
        list or a dict of several scores, `refit` names the one that chooses.
    score_bound : float, (float, float) or None, default=None
        The value at which the loss of a row is clipped. None: 4.6 for "neg_log_loss", and for
        regressors as the declared `target_bounds` imply. A pair: bounds on a callable's scores.
    refit : bool or str, default=True
        True keeps `best_estimator_`, which was trained on the training part; False does not. The
        name of the score that chooses, if there are several.
    return_train_score : bool, default=False
        Must be False: each training score would have a privacy cost.
    error_score : "raise" or nan, default="raise"
        NaN skips candidates with invalid parameter values, with a warning. A candidate that fails
        because of the rows ends the search, because which one fails depends on data.
    n_jobs : int or None, default=None
        Number of processes that train candidates; it does not change the result. A search
        in another one uses 1. Budgets are charged once, in this process. Let only trusted people
        see how busy the processes are.
    cv : splitter, iterable of one (train, test) or None, default=None
        None: `test_size` of the rows are held out. Else one split by index, such as
        ``ShuffleSplit(1)``, of groups if there are any. Indices are an unverified assumption, as
        a `PrivacyWarning` says. K folds are refused.
    post_params : dict or None, default=None
        A parameter that is set after the training, with a list of values. Each candidate chooses
        one on the held-out rows, under noise, for the privacy cost of one value. It is "threshold"
        of the second of two classes, with scoring="accuracy"; "temperature" of probabilities, with
        other scores of classifiers; or "alpha" of ``solver="sufficient_statistics"``.
    test_size : float, default=0.2
        Fraction of the rows that are held out to score candidates.
    random_state : int, NoiseSeed or None, default=None
        None or an int sets the split of rows only. A `dpsk.testing.NoiseSeed` repeats the whole
        search, for tests: not private for anyone who knows the seed.
    verbose : int or bool, default=0
        1 prints the public plan before the first candidate, and nothing else: progress, by
        `n_jobs` or a callback too, would reveal the secret number of candidates.

    Attributes
    ----------
    best_estimator_ : estimator
        The best model, trained on the training part and not refitted. Its `privacy_` is the
        certificate of the search.
    best_params_ : dict
    best_score_ : float
        The noisy score of the best model on the held-out part, within the range of scores. As the
        best of several it is biased upward. NaN, with a `PrivacyWarning`, if its error exceeds it
        or a quarter of the range.
    best_score_standard_error_ : float
        Standard error of `best_score_` due to noise.
    best_index_ : int
        Index of the best candidate in `cv_results_`.
    cv_results_ : dict
        As in scikit-learn: "params" are all points of the grid. "mean_test_score",
        "std_test_score" (the standard error) and "rank_test_score" are NaN except for the best,
        because the others stay secret.
    multimetric_ : bool
    n_splits_ : int
        1: a split into two parts.
    classes_ : ndarray of shape (n_classes,)
    plan_ : SearchPlan
        The plan that was declared before the search, see `plan`.
    scorer_ : Scorer
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    ValueError
        For a parameter out of range, an estimator whose privacy cost is unknown, candidates that
        set a budget, a score with unknown sensitivity, a `NoiseSeed` with a parameter that
        cannot be pickled, or rows that a fit would refuse; always before any noise is drawn.

    See Also
    --------
    DPRandomizedSearchCV : Candidates drawn from distributions.
    dpsk.accounting.BestOf : The privacy cost of a search.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: the parameters, the model and
    the noisy score of the best candidate. The number of candidates, the other candidates and their
    scores are secret and not stored. Progress and warnings of candidates are not shown. **The time
    of a search** reveals the number of candidates, which must stay secret: do not publish it. The
    number of rows, all parameters and the split by index are public.

    A refit on all rows has a privacy cost of its own: fit ``clone(best_estimator_)`` with another
    budget.

    References
    ----------
    Papernot, Steinke (2022), "Hyperparameter tuning with Renyi differential privacy"; Koskela,
    Redberg, Wang (2024). The bound is in ``docs/theory/selection.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPGridSearchCV, DPLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = DPGridSearchCV(DPLogisticRegression(solver="gd", data_norm=30.0),
    ...                         {"alpha": [1e-4, 1e-2, 1.0]}, epsilon=2.0)
    >>> round(search.plan(len(X)).run_epsilon, 2)
    1.62
    >>> search = search.fit(X, y)
    >>> search.privacy_.delta_at(2.0) <= search.privacy_.delta
    True
    >>> search.best_params_["alpha"] in (1e-4, 1e-2, 1.0)
    True
    """

    def __init__(self, estimator: Any, param_grid: dict[str, Any] | list[dict[str, Any]], *,
                 epsilon: float = 1.0, delta: float | None = None, n_iter: float | None = None,
                 scoring: Any = None, score_bound: float | tuple[float, float] | None = None,
                 refit: bool | str = True, return_train_score: bool = False,
                 error_score: float | str = "raise", n_jobs: int | None = None, cv: Any = None,
                 post_params: dict[str, Any] | None = None, test_size: float = 0.2,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.n_iter = n_iter
        self.scoring = scoring
        self.score_bound = score_bound
        self.refit = refit
        self.return_train_score = return_train_score
        self.error_score = error_score
        self.n_jobs = n_jobs
        self.cv = cv
        self.post_params = post_params
        self.test_size = test_size
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self):
        grid = self.param_grid
        if not isinstance(grid, Mapping) and not (isinstance(grid, (list, tuple)) and grid):
            raise ValueError(f"param_grid of type {type(grid).__name__}: must be a dict from "
                             "names to lists of values, or a list of such.")
        # Imported late, because the package imports all metrics.
        from sklearn.model_selection import ParameterGrid

        return ParameterGrid(grid)

    _may_leave_out = True

    def _probes(self):
        return self._settings()

    def _public_settings(self, best):
        return list(self._settings())

    def _drawn(self, session):
        settings, places = self._settings(), self._places()
        place = places[session.index(len(places))]
        return place, settings[place]

    def _places(self):
        """Return the indices of the settings from which candidates are drawn."""
        settings = self._settings()
        if self.error_score == "raise":
            return range(len(settings))
        return [place for place, params in enumerate(settings)
                if self._fitting(params) is not None]

    @property
    def _mean_runs(self):
        count = len(self._places()) if self.n_iter is None else self.n_iter
        return checked_mean("n_iter", count)
