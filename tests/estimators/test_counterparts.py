"""Every estimator has what its counterpart in scikit-learn has, but for what is told here."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer
from sklearn.utils import all_estimators

import dpsk
from dpsk.testing import NoiseSeed

#: Estimators of this package alone.
OWN = {"DPAUCMaximizer", "DPAdditiveClassifier", "DPAdditiveRegressor", "DPGaussianSampler",
       "DPGroupDROClassifier", "DPTDRegressor", "DPTableVectorizer", "DPTreeSampler", "DPWGAN"}
#: Counterparts of another name.
NAMED = {"DPGradientBoostingClassifier": "HistGradientBoostingClassifier",
         "DPGradientBoostingRegressor": "HistGradientBoostingRegressor",
         "DPTunedThresholdClassifier": "TunedThresholdClassifierCV"}
#: What counterparts have and estimators here do not, and why: by estimator, "" stands for all.
LEFT_OUT = {
    "a second fit to more rows would need a budget of its own": {
        "": ("partial_fit", "set_partial_fit_request")},
    "says something of training rows that was not released": {
        "DPGradientBoostingClassifier": ("train_score_", "validation_score_"),
        "DPGradientBoostingRegressor": ("train_score_", "validation_score_"),
        "DPHuberRegressor": ("outliers_",),
        "DPKMeans": ("labels_",),
        "DPLasso": ("dual_gap_",),
        "DPLinearRegression": ("rank_", "singular_"),
        "DPMLPClassifier": ("best_loss_", "best_validation_score_", "loss_", "loss_curve_",
                            "validation_scores_"),
        "DPMLPRegressor": ("best_loss_", "best_validation_score_", "loss_", "loss_curve_",
                           "validation_scores_"),
        # These count what is not missing.
        "DPMinMaxScaler": ("n_samples_seen_",), "DPStandardScaler": ("n_samples_seen_",)},
    "times of fits depend on rows": {
        "DPGridSearchCV": ("refit_time_",), "DPRandomizedSearchCV": ("refit_time_",)},
    "noisy counts serve only to estimate the probabilities that are kept": {
        "DPBernoulliNB": ("feature_count_",), "DPCategoricalNB": ("category_count_",),
        "DPGaussianNB": ("class_count_",), "DPMultinomialNB": ("feature_count_",)},
    "each of several fits would need its share of the budget": {
        "DPDecisionTreeClassifier": ("cost_complexity_pruning_path",),
        "DPDecisionTreeRegressor": ("cost_complexity_pruning_path",),
        "DPLasso": ("path",)},
    "the trees share bins and a guarantee; trees_ has their nodes": {
        "DPRandomForestClassifier": ("estimator", "estimator_", "estimator_params", "estimators_",
                                     "estimators_samples_"),
        "DPRandomForestRegressor": ("estimator", "estimator_", "estimator_params", "estimators_",
                                    "estimators_samples_")},
    "the method of the fit has no such thing": {
        # One tree serves all classes.
        "DPGradientBoostingClassifier": ("do_early_stopping_", "n_trees_per_iteration_"),
        "DPGradientBoostingRegressor": ("do_early_stopping_", "n_trees_per_iteration_"),
        "DPGaussianNB": ("epsilon_",),
        "DPHuberRegressor": ("scale_",),
        "DPMLPClassifier": ("t_",), "DPMLPRegressor": ("t_",),
        "DPOneHotEncoder": ("drop_idx_",),
        "DPSimpleImputer": ("indicator_",),
        "DPSplineTransformer": ("bsplines_",)},
    "there is one target": dict.fromkeys((
        "DPDecisionTreeClassifier", "DPDecisionTreeRegressor", "DPRandomForestClassifier",
        "DPRandomForestRegressor"), ("n_outputs_",)),
    "dtypes of columns say it": dict.fromkeys((
        "DPGradientBoostingClassifier", "DPGradientBoostingRegressor"), ("is_categorical_",)),
    "the certificate names it": {"DPRidge": ("solver_",)},
    "coefficients are dense arrays, of which noise leaves few at 0": {
        "DPLasso": ("sparse_coef_",), "DPLinearSVC": ("densify", "sparsify"),
        "DPLogisticRegression": ("densify", "sparsify")},
    "estimators without a prediction have no private score to search by": {
        "DPGridSearchCV": ("inverse_transform", "transform"),
        "DPRandomizedSearchCV": ("inverse_transform", "transform")},
    "how many candidates a search fits is secret": {
        "DPGridSearchCV": ("set_callbacks",), "DPRandomizedSearchCV": ("set_callbacks",)},
    "a method here takes no such argument": {
        "DPStandardScaler": ("set_inverse_transform_request", "set_transform_request"),
        "DPTunedThresholdClassifier": ("set_score_request",)},
    "a parameter that scikit-learn's base class sets": {
        "DPDecisionTreeRegressor": ("class_weight",), "DPMLPClassifier": ("loss",),
        "DPRandomForestRegressor": ("class_weight",)}}

ESTIMATORS = {name: cls for name, cls in vars(dpsk).items()
              if inspect.isclass(cls) and name.startswith("DP") and hasattr(cls, "fit")}
without_noise = pytest.mark.filterwarnings("ignore:epsilon=inf:dpsk.exceptions.PrivacyWarning")
_THEIRS = dict(all_estimators())
_RNG = np.random.default_rng(0)
X = np.clip(_RNG.normal(size=(200, 4)), -3.0, 3.0)
TARGETS = np.clip(X[:, 0], -1.0, 1.0)


def fitted(cls, shape=-1, X=X, **params):
    """Return an estimator fitted to small rows, as it takes them, and targets of a shape."""
    positive = (TARGETS > 0).reshape(shape)
    name = cls.__name__.removeprefix("DP").removesuffix("CV")
    inner = dpsk.DPLogisticRegression if params else LogisticRegression
    if name.startswith(("GridSearch", "RandomizedSearch")):
        grid = {"C": [1.0]} if not params else {"alpha": [0.0]}
        return cls(inner(), grid, **params).fit(X, positive)
    if name.startswith("TunedThreshold"):
        return cls(inner(), **params).fit(X, positive)
    if name == "Pipeline":
        return cls([("last", inner())], **params).fit(X, positive)
    if name == "OneHotEncoder":
        return cls(**params).fit(pd.DataFrame({"town": ["Linz", "Graz"] * 100}))
    if "GradientBoosting" in name:
        params["max_iter"] = 1
    model = cls(**params)
    rows = np.abs(X) if name.endswith("NB") else X
    targets = positive if is_classifier(model) else (
        np.rint(TARGETS + 1.0) if name == "PoissonRegressor" else TARGETS)
    return model.fit(rows, targets.reshape(shape))


def public(model):
    """Return the names of a fitted model, those too that depend on its parts."""
    return {name for name in (*dir(type(model)), *vars(model)) if not name.startswith("_")
            and ((name in dir(type(model)) and not name.endswith("_")) or hasattr(model, name))}


def left_out(name):
    """Return what is left out of one estimator."""
    return {each for by in LEFT_OUT.values() for key in ("", name) for each in by.get(key, ())}


def test_every_estimator_has_a_counterpart_or_is_told_as_our_own():
    for name in ESTIMATORS:
        assert (name in OWN) != (NAMED.get(name, name.removeprefix("DP")) in _THEIRS), name
    told = {key for by in LEFT_OUT.values() for key in by if key}
    assert told <= set(ESTIMATORS) - OWN


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - OWN))
def test_what_scikit_learn_has_is_there_or_is_left_out_for_a_reason(name):
    theirs = fitted(_THEIRS[NAMED.get(name, name.removeprefix("DP"))])
    ours = public(fitted(ESTIMATORS[name], epsilon=100.0))
    missing = public(theirs) - ours - set(theirs.get_params(deep=False))
    assert not missing - left_out(name), "add them, or tell in LEFT_OUT why not"
    assert not ours & {each for by in LEFT_OUT.values() for each in by.get(name, ())}


#: Parameters at which rows of weight 0 count for nothing: depths and penalties depend on n.
_OF_ANY_N = {"DPDecisionTreeClassifier": {"max_depth": 3}, "DPRidge": {"alpha": 0.0},
             "DPDecisionTreeRegressor": {"max_depth": 3}}
#: Fits that scikit-learn's weights change too, by random batches, rows or starts.
_RANDOM = {"DPKMeans", "DPMLPClassifier", "DPMLPRegressor", "DPRandomForestClassifier",
           "DPRandomForestRegressor"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(
    name for name in {*ESTIMATORS} - OWN - {*NAMED} - _RANDOM
    if {"sample_weight"} & {*inspect.signature(_THEIRS[name[2:]].fit).parameters}
    and hasattr(ESTIMATORS[name], "predict")))
def test_rows_of_weight_0_count_for_nothing_without_noise(name):
    """Far ones set the bins of trees, and counted among the rows of pseudo-counts."""
    rows = np.vstack([X[:160], 4.0 * X[160:]])
    if name.endswith("NB"):
        rows = np.minimum(np.abs(rows), 2.0).astype(int if "Categorical" in name else float)
    kept = np.arange(200) < 160
    cases = (_THEIRS[name.removeprefix("DP")], {}), (
        ESTIMATORS[name], {"epsilon": np.inf, **_OF_ANY_N.get(name, {})})
    for cls, params in cases:
        one, other = cls(**params), cls(**params)
        y = TARGETS > 0 if is_classifier(one) else np.rint(TARGETS + 1.0)
        one.fit(rows, y, sample_weight=kept.astype(float))
        other.fit(rows[kept], y[kept])
        predict = "predict_proba" if hasattr(one, "predict_proba") else "predict"
        np.testing.assert_allclose(getattr(one, predict)(rows[kept]),
                                   getattr(other, predict)(rows[kept]), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(
    name for name, cls in ESTIMATORS.items() if name not in {*OWN, "DPKMeans", "DPPipeline"}
    and "y" in inspect.signature(cls.fit).parameters and hasattr(cls, "predict")))
def test_a_column_of_targets_is_predicted_as_in_scikit_learn(name):
    # Of scikit-learn's, this one alone takes a column for several targets.
    shape = (200, 1) if name == "DPLinearRegression" else (200,)
    theirs = fitted(_THEIRS[NAMED.get(name, name.removeprefix("DP"))], (200, 1))
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        ours = fitted(ESTIMATORS[name], (200, 1), epsilon=100.0)
    rows = np.abs(X) if name.endswith("NB") else X
    assert theirs.predict(rows).shape == shape and ours.predict(rows).shape == (200,)


def same_signs(ours, theirs):
    """Return the columns of `theirs` with the signs of `ours`, which are no more than a choice."""
    return theirs * np.sign(np.sum(ours * theirs, axis=0))


@without_noise
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_directions_that_separate_classes_are_scikit_learns(load):
    X, y = load(return_X_y=True)
    ours = dpsk.DPLinearDiscriminantAnalysis(np.inf).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    count = len(ours.classes_) - 1
    scalings = same_signs(ours.scalings_, theirs.scalings_[:, :count])
    np.testing.assert_allclose(ours.scalings_, scalings, rtol=1e-2)
    assert np.all(ours.scalings_[np.abs(ours.scalings_).argmax(axis=0), range(count)] > 0)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_,
                               rtol=1e-4)
    # The other solver subtracts a mean.
    middle = LinearDiscriminantAnalysis().fit(X, y).xbar_
    np.testing.assert_allclose(ours.xbar_, middle, rtol=1e-4)
    np.testing.assert_allclose(ours.transform(X), (X - middle) @ scalings, atol=0.05)


def test_some_directions_are_kept_in_frames_and_pipelines():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = dpsk.DPLinearDiscriminantAnalysis(4.0, n_components=1, random_state=NoiseSeed(0))
    found = clone(model).set_output(transform="pandas").fit_transform(X, y)
    assert list(found.columns) == ["dplineardiscriminantanalysis0"]
    model.fit(X, y)
    assert model.explained_variance_ratio_.shape == (1,) and model.scalings_.shape == (4, 2)
    assert {"xbar_", "scalings_"}.isdisjoint(vars(model))
    # Classes are as far apart in the first direction as the model says.
    centers = (model.means_ - model.xbar_) @ model.scalings_
    np.testing.assert_allclose(np.square(centers[:, :1]).T @ model.priors_ / (
        np.square(centers).sum(axis=1) @ model.priors_), model.explained_variance_ratio_)
    steps = dpsk.DPLinearDiscriminantAnalysis(n_components=2), dpsk.DPLogisticRegression()
    pipeline = dpsk.make_dp_pipeline(*steps, epsilon=20.0, shares={
        "dplineardiscriminantanalysis": 0.5}, random_state=NoiseSeed(0)).fit(X, y)
    assert pipeline[-1].n_features_in_ == 2 and pipeline.score(X, y) > 0.6
    assert pipeline.privacy_.delta_at(20.0) <= pipeline.privacy_.delta


def test_more_directions_than_separate_classes_are_refused_first(silent):
    X, y = load_iris(return_X_y=True)
    model = dpsk.DPLinearDiscriminantAnalysis(n_components=3)
    for fit in (model.fit, dpsk.make_dp_pipeline(dpsk.DPStandardScaler(), model).fit):
        with pytest.raises(ValueError, match="n_components=3: must be at most 2"):
            fit(X, y)
    narrow = clone(model).set_params(n_components=2)
    for fit in (narrow.fit, dpsk.make_dp_pipeline(dpsk.DPStandardScaler(), narrow).fit):
        with pytest.raises(ValueError, match="n_components=2: must be at most 1"):
            fit(X[:, :1], y)


def test_a_direction_that_separates_nothing_is_0():
    model = dpsk.DPLinearDiscriminantAnalysis(4.0, classes=[0, 1, 2]).fit(X, np.arange(200) % 3)
    model.means_[:], model.coef_[:] = 1.0, 0.0
    assert not model.scalings_.any() and not model.explained_variance_ratio_.any()
    assert not model.transform(X).any()


@without_noise
@pytest.mark.parametrize("n_components", [2, None])
def test_likelihoods_of_components_are_scikit_learns(n_components):
    rows = load_iris().data
    ours = dpsk.DPPCA(np.inf, n_components=n_components).fit(rows)
    theirs = PCA(n_components).fit(rows)
    assert ours.n_samples_ == theirs.n_samples_ == 150
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-5)
    # Variances here have the divisor n.
    np.testing.assert_allclose(ours.get_covariance() * 150 / 149, theirs.get_covariance(),
                               atol=1e-5)
    np.testing.assert_allclose(ours.get_precision() * 149 / 150, theirs.get_precision(),
                               rtol=1e-3)
    np.testing.assert_allclose(ours.score_samples(rows), theirs.score_samples(rows), atol=0.1)
    assert ours.score(rows) == pytest.approx(theirs.score(rows), abs=1e-3)
    # Coordinates are another unit of the same model.
    white = dpsk.DPPCA(np.inf, n_components=n_components, whiten=True).fit(rows)
    np.testing.assert_allclose(white.get_covariance(), ours.get_covariance(), rtol=1e-6)


@pytest.mark.parametrize("epsilon, n_components", [(4.0, "auto"), (0.05, "auto"), (4.0, 5),
                                                   (0.05, 1)])
def test_variances_that_noise_hides_leave_a_likelihood(epsilon, n_components):
    model = dpsk.DPPCA(epsilon, n_components=n_components, data_norm=3.0).fit(X.repeat(3, axis=1))
    both = model.get_covariance() @ model.get_precision()
    np.testing.assert_allclose(both, np.eye(12), atol=1e-9)
    assert np.linalg.eigvalsh(model.get_covariance()).min() > 0.0
    scores = model.score_samples(X.repeat(3, axis=1))
    expected = multivariate_normal(model.mean_, model.get_covariance()).logpdf(
        X.repeat(3, axis=1))
    np.testing.assert_allclose(scores, expected)


@without_noise
def test_quantiles_are_those_of_scikit_learn():
    rows = np.random.default_rng(0).normal(size=(4097, 2))
    ours = dpsk.DPQuantileTransformer(np.inf, n_quantiles=9).fit(rows)
    theirs = QuantileTransformer(n_quantiles=9).fit(rows)
    assert ours.n_quantiles_ == theirs.n_quantiles_ == 9
    np.testing.assert_array_equal(ours.references_, theirs.references_)
    # Ends are bounds here.
    np.testing.assert_allclose(ours.quantiles_[1:-1], theirs.quantiles_[1:-1], atol=5e-3)


def test_quantiles_are_what_maps_to_the_references():
    rows = np.column_stack([X[:, 0], np.round(X[:, 1])]).repeat(5, axis=0)
    model = dpsk.DPQuantileTransformer(8.0, n_quantiles=5, columns={0: (-3, 3), 1: (-3, 3)})
    model.fit(rows)
    assert model.quantiles_.shape == (model.n_quantiles_, 2) and model.n_quantiles_ <= 5
    assert np.all(np.diff(model.quantiles_, axis=0) >= 0.0)
    steps = np.column_stack(2 * [model.references_])
    np.testing.assert_allclose(model.inverse_transform(steps), model.quantiles_)


def test_indicators_return_to_their_categories():
    table = pd.DataFrame({"town": ["Linz", "Graz", None, "Rome"] * 50, "floor": [1, 2, 3, 4] * 50})
    known = {"town": ["Linz", "Graz"], "floor": [1, 2, 3]}
    model = dpsk.DPOneHotEncoder(columns=known).fit(table)
    found = model.inverse_transform(model.transform(table))
    expected = [["Linz", 1], ["Graz", 2], [None, 3], [None, None]] * 50
    assert found.tolist() == expected and found.dtype == object
    theirs = OneHotEncoder(categories=list(known.values()), handle_unknown="ignore").fit(table)
    assert theirs.inverse_transform(theirs.transform(table)).tolist() == expected
    assert model.inverse_transform(np.zeros((1, 7))).tolist() == [[None, None]]
    with pytest.raises(ValueError, match="X has 3 features, but DPOneHotEncoder makes 7"):
        model.inverse_transform(np.zeros((1, 3)))
    hashed = dpsk.DPOneHotEncoder(n_buckets=4).fit(table)
    assert set(hashed.inverse_transform(hashed.transform(table))[:, 0]) <= {
        None, *(f"bucket {place}" for place in range(4))}


@pytest.mark.parametrize("cls", [dpsk.DPRandomForestClassifier, dpsk.DPRandomForestRegressor])
def test_forests_tell_leaves_and_paths(cls):
    targets = TARGETS > 0 if is_classifier(cls()) else TARGETS
    model = cls(8.0, n_estimators=3, max_depth=3,
                columns=dict.fromkeys(range(4), (-3.0, 3.0))).fit(X, targets)
    leaves, (paths, ends) = model.apply(X), model.decision_path(X)
    assert leaves.shape == (200, 3) and paths.shape == (200, ends[-1]) and len(ends) == 4
    for place, tree in enumerate(model.trees_):
        own = paths[:, ends[place]:ends[place + 1]]
        assert own.shape[1] == len(tree.means)
        np.testing.assert_array_equal(own.tocsr()[np.arange(200), leaves[:, place]], 1)
    if not is_classifier(model):
        means = sum(tree.means[leaves[:, place], 0] for place, tree in enumerate(model.trees_))
        low, high = model.target_bounds_
        raw = 0.5 * (low + high) + 0.5 * (high - low) * means / 3.0
        np.testing.assert_allclose(model.predict(X), np.clip(raw, low, high), atol=1e-6)


def test_small_facts_follow_from_others():
    scaler = dpsk.DPMinMaxScaler(columns=dict.fromkeys(range(4), (-3.0, 2.0))).fit(X)
    assert scaler.data_range_.tolist() == [5.0] * 4
    tree = dpsk.DPDecisionTreeClassifier(4.0).fit(X, TARGETS > 0)
    assert tree.n_classes_ == 2 and tree.max_features_ == 4


def test_pipelines_go_back_where_all_steps_do():
    scaler, table = dpsk.DPMinMaxScaler(columns=dict.fromkeys(range(4), (-3.0, 3.0))), X[:20]
    model = dpsk.make_dp_pipeline(scaler, "passthrough", dpsk.DPPCA(n_components=4), epsilon=8.0)
    back = model.fit(X).inverse_transform(model.transform(table))
    components = model[-1]
    np.testing.assert_allclose(back, model[0].inverse_transform(
        components.inverse_transform(components.transform(model[0].transform(table)))))
    assert not hasattr(dpsk.make_dp_pipeline(scaler, dpsk.DPLogisticRegression()),
                       "inverse_transform")
