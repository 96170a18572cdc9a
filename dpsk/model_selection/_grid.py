"""Search among the settings of a grid."""

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

    A run draws a setting of the grid uniformly, trains it on a part of the rows and scores it on
    the others, under noise. A secret random number of runs is made, each with a budget of its
    own, and the one with the best noisy score is kept. That costs little more than a run does:
    with ten runs on average, each has about .64 of a total epsilon of 1.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of dpsk, or a `DPPipeline` that ends with one. Its `epsilon`,
        `delta` and `verbose` are set by the search.
    param_grid : dict or list of dicts
        Names of parameters with lists of values, as scikit-learn's `GridSearchCV` takes it.
    %(epsilon)s
        Of the whole search.
    %(delta_gaussian)s
    n_iter : float or None, default=None
        The number of runs to expect, at least 1; some settings may be drawn twice, and others
        not. None: the number of settings.
    scoring : str, callable, list, dict or None, default=None
        "accuracy", "balanced_accuracy", "f1", "roc_auc", "neg_brier_score" or
        "neg_log_loss" of classes; "neg_mean_squared_error", "neg_mean_absolute_error" or "r2"
        of numbers; the first by default. scikit-learn's scorers of these names are taken, and
        other scorers with ``score_bound=(low, high)``, which are called row by row. Several, as a
        list or a dict from names: `refit` names the one that chooses.
    score_bound : float, (float, float) or None, default=None
        Where the loss of a row is cut off. None: 4.6 for "neg_log_loss", and for numbers what
        declared `target_bounds` of the estimator imply. A pair: bounds on what a callable says.
    refit : bool or str, default=True
        True: `best_estimator_` is kept; it is trained on the training part. False: it is not. The
        name of a score where there are several.
    return_train_score : bool, default=False
        Must be False: each such score would be another release.
    error_score : "raise" or nan, default="raise"
        NaN leaves out settings that are refused by their values, with a warning. Runs that rows
        make fail end the search, as which ones those are is data.
    n_jobs : int or None, default=None
        Number of processes that train runs; the result is the same for any. Budgets are charged
        once, here. Nobody who is not trusted may see how busy they are.
    cv : splitter, iterable of one (train, test) or None, default=None
        None: `test_size` of the rows are held out. Else one split by index, such as
        ``ShuffleSplit(1)``, of groups if there are any; indices that are handed over are taken on
        trust, with a `PrivacyWarning`. K folds would be K trainings a run.
    post_params : dict or None, default=None
        A parameter that is set after the training, with a list of values, all of which a run
        tries for the price of one: "threshold" of the probability of the second of two classes,
        with scoring="accuracy"; "temperature" of probabilities, with the other scores of classes;
        "alpha" of ``solver="sufficient_statistics"``. A run chooses among them on the held-out
        rows, under noise.
    test_size : float, default=0.2
        Share of rows that are held out to score runs, never trained on.
    random_state : int, NoiseSeed or None, default=None
        None or an int rules the split of rows only. Of a `dpsk.testing.NoiseSeed` all of it
        repeats, for tests: not private for anyone who knows the seed.
    verbose : int or bool, default=0
        1 prints the plan, which is public; how far a search is stays secret.

    Attributes
    ----------
    best_estimator_ : estimator
        The model of the best run, trained on the training part, and not refitted. Its `privacy_`
        is that of the search.
    best_params_ : dict
    best_score_ : float
        Its noisy score on the held-out part, within the range of scores; as the best of several
        it is rather high. NaN, with a `PrivacyWarning`, where its noise is larger.
    best_score_standard_error_ : float
        Of that noise.
    best_index_ : int
        Place of the setting in `cv_results_`.
    cv_results_ : dict
        As scikit-learn has it: "params" are all settings, "mean_test_score",
        "std_test_score" (the standard error) and "rank_test_score" are NaN but for the best,
        as the others stay secret.
    n_splits_ : int
        1: a split into two parts.
    classes_ : ndarray of shape (n_classes,)
    plan_ : SearchPlan
        What was declared beforehand, see `plan`.
    scorer_ : Scorer
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    ValueError
        For a parameter out of range, an estimator whose price is not known, settings of a
        budget, a score whose sensitivity is not known, a `NoiseSeed` beside a parameter that
        cannot be pickled, or rows that a fit would refuse; always before any noise is drawn.

    See Also
    --------
    DPRandomizedSearchCV : Settings drawn from distributions.
    dpsk.accounting.BestOf : What a search costs.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: the setting, the model and the
    noisy score of the best run. Secret, and kept nowhere: how many runs there were, the others,
    and their scores. There is no progress, and warnings of runs are dropped.
    **How long a search takes** is about the number of runs, which the guarantee takes as secret:
    do not publish the time. The number of rows, all parameters and the split by index are public.

    A refit on all rows is another release: fit ``clone(best_estimator_)`` at a budget of its own.

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
        # Its package imports all metrics, which nobody else needs to wait for.
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
        """Return the places of the settings that are drawn from."""
        settings = self._settings()
        if self.error_score == "raise":
            return range(len(settings))
        return [place for place, params in enumerate(settings)
                if self._fitting(params) is not None]

    @property
    def _mean_runs(self):
        count = len(self._places()) if self.n_iter is None else self.n_iter
        return checked_mean("n_iter", count)
