"""Search among settings that are drawn from distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpsk._docs import documented
from dpsk.model_selection._search import BaseSearch, checked_mean

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPRandomizedSearchCV"]

#: Settings that stand for all of a distribution.
_PROBES = 16


@documented
class DPRandomizedSearchCV(BaseSearch):
    """Randomized hyperparameter search under one privacy budget.

    A run draws a setting, trains it on a part of the rows and scores it on the others, under
    noise. A secret random number of runs is made, each with a budget of its own, and the one with
    the best noisy score is kept. That costs little more than a run does: with ten runs on
    average, each has about .64 of a total epsilon of 1.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of dpsk, or a `DPPipeline` that ends with one. Its `epsilon`,
        `delta` and `verbose` are set by the search.
    param_distributions : dict or list of dicts
        Names of parameters with lists of values, or distributions such as SciPy's, as
        scikit-learn's `RandomizedSearchCV` takes it. It must not follow from the rows.
    %(epsilon)s
        Of the whole search.
    %(delta_gaussian)s
    n_iter : float, default=10
        The number of runs to expect, at least 1.
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
    error_score : "raise", default="raise"
        Must be "raise": settings are drawn in secret, so that none may be left out.
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
        As scikit-learn has it: "params" are the best setting alone, "mean_test_score",
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
        cannot be pickled, or rows that a fit would refuse; always before a row is trained on.

    See Also
    --------
    DPGridSearchCV : Settings from a grid.
    dpsk.accounting.BestOf : What a search costs.

    Notes
    -----
    *Privacy.* As of `DPGridSearchCV`. Released: the setting, the model and the noisy score of the
    best run. The number of runs, the others and their scores stay secret; so must the time that
    a search takes, which tells about how many there were.

    References
    ----------
    Papernot, Steinke (2022), "Hyperparameter tuning with Renyi differential privacy"; Koskela,
    Redberg, Wang (2024). The bound is in ``docs/theory/selection.md``.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPLogisticRegression, DPRandomizedSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = DPRandomizedSearchCV(DPLogisticRegression(solver="gd", data_norm=30.0),
    ...                               {"alpha": loguniform(1e-5, 1.0)}, epsilon=2.0, n_iter=5)
    >>> search = search.fit(X, y)
    >>> bool(1e-5 <= search.best_params_["alpha"] <= 1.0)
    True
    """

    def __init__(self, estimator: Any, param_distributions: dict[str, Any] | list[dict[str, Any]],
                 *, epsilon: float = 1.0, delta: float | None = None, n_iter: float = 10,
                 scoring: Any = None, score_bound: float | tuple[float, float] | None = None,
                 refit: bool | str = True, return_train_score: bool = False,
                 error_score: float | str = "raise", n_jobs: int | None = None, cv: Any = None,
                 post_params: dict[str, Any] | None = None, test_size: float = 0.2,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
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

    def _probes(self):
        # One at a time: several of a finite list would be drawn without replacement.
        drawn = [self._setting(seed) for seed in range(_PROBES)]
        given = self.param_distributions
        return [*drawn, *(probe for each in ([given] if isinstance(given, Mapping) else given)
                          for probe in _every_value(each))]

    def _public_settings(self, best):
        return [best]

    def _drawn(self, session):
        return 0, self._setting(session.index(1 << 32))

    def _setting(self, seed):
        return _sampled(self.param_distributions, seed)

    @property
    def _mean_runs(self):
        return checked_mean("n_iter", self.n_iter)


def _sampled(distributions, seed):
    # Its package imports all metrics, which nobody else needs to wait for.
    from sklearn.model_selection import ParameterSampler

    (setting,) = ParameterSampler(distributions, 1, random_state=seed)
    return setting


def _every_value(distributions):
    """Yield a setting for every value of every list, the others as they are drawn."""
    drawn = _sampled(distributions, 0)
    for name, values in distributions.items():
        if not hasattr(values, "rvs"):
            yield from ({**drawn, name: value} for value in values)
