"""Hyperparameter search over settings drawn from distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dpsk._docs import documented
from dpsk.model_selection._search import BaseSearch, checked_mean

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPRandomizedSearchCV"]

#: Number of drawn settings that represent a distribution.
_PROBES = 16


@documented
class DPRandomizedSearchCV(BaseSearch):
    """Randomized hyperparameter search under one privacy budget.

    A secret random number of candidates is drawn. Each is trained on a part of the rows and
    scored under noise on the others, and the one with the best noisy score is kept. The search
    costs little more than one candidate: at a total epsilon of 1, with ten candidates on average,
    each has about .64.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of dpsk, or a `DPPipeline` that ends with one. Its `epsilon`,
        `delta` and `verbose` are set by the search.
    param_distributions : dict or list of dicts
        Names of parameters with lists of values, or distributions such as SciPy's, as
        scikit-learn's `RandomizedSearchCV` takes it. It must not depend on the rows.
    %(epsilon)s
        The budget covers the whole search.
    %(delta_gaussian)s
    n_iter : float, default=10
        Expected number of candidates, at least 1.
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
    error_score : "raise", default="raise"
        Must be "raise": candidates are drawn in secret, so none may be left out.
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
        As in scikit-learn, but only for the best candidate: "params", "mean_test_score",
        "std_test_score" (the standard error) and "rank_test_score". The others stay secret.
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
        cannot be pickled, or rows that a fit would refuse; always before a row is trained on.

    See Also
    --------
    DPGridSearchCV : Candidates drawn from a grid.
    dpsk.accounting.BestOf : The privacy cost of a search.

    Notes
    -----
    *Privacy.* The guarantee is that of `DPGridSearchCV`. Released: the parameters, the model and
    the noisy score of the best candidate. The number of candidates, the other candidates and
    their scores stay secret. Keep the time of a search secret: it reveals the number roughly.

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
        # Drawn one at a time: several from finite lists would be drawn without replacement.
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
    # Imported late, because the package imports all metrics.
    from sklearn.model_selection import ParameterSampler

    (setting,) = ParameterSampler(distributions, 1, random_state=seed)
    return setting


def _every_value(distributions):
    """Yield a setting for every value of every list; other parameters are drawn."""
    drawn = _sampled(distributions, 0)
    for name, values in distributions.items():
        if not hasattr(values, "rvs"):
            yield from ({**drawn, name: value} for value in values)
