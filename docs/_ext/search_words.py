"""Further words that people type, by the page that answers: the search finds it by them too."""

from docutils import nodes

_WORDS = {
    "api/generated/dpsk.DPGaussianNB": "naive Bayes",
    "api/generated/dpsk.DPLinearSVC": "support vector machine SVM",
    "api/generated/dpsk.DPMLPClassifier": "neural network multilayer perceptron deep learning",
    "epsilon_inf": "infinity infinite non-private baseline no privacy",
    "install": "pip requirements dependencies python version",
    "limitations": "caveats side channels timing attack floating point random_state seed "
                   "not covered",
    "results/fit_speed": "how long take time fast slow benchmark performance",
    "theory/sgd": "DP-SGD dpsgd",
    "understand/certificate": "read understand explain privacy certificate officer",
    "understand/choosing_epsilon": "what does mean pick set good value small large delta",
    "understand/coming_from_diffprivlib": "migrate IBM switch",
    "understand/coming_from_dp_ebm": "migrate explainable boosting machine interpretable switch",
    "understand/coming_from_opacus": "migrate PyTorch torch DP-SGD GPU switch",
    "understand/guarantee": "what is guaranteed definition differential privacy guarantee mean "
                            "delta neighboring replace one",
    "understand/peers": "compare alternatives TensorFlow Privacy OpenDP SmartNoise PipelineDP",
    "user_guide/auditing": "attack test differential privacy audit empirical epsilon leak",
    "user_guide/budget_file": "save persist share processes",
    "user_guide/clipping_bounds": "data_norm target_bounds sensitivity scale normalize features "
                                  "outliers clip",
    "user_guide/confidence_intervals": "standard errors p-values inference significance",
    "user_guide/evaluation": "test accuracy AUC ROC curve sensitive data evaluate privately "
                             "metrics score cross-validation calibration",
    "user_guide/fairness": "group DRO worst group bias subgroups",
    "user_guide/first_model": "getting started tutorial quickstart example begin csv pandas",
    "user_guide/hyperparameter_tuning": "GridSearchCV RandomizedSearchCV cross-validation tune "
                                        "model selection search threshold",
    "user_guide/images": "image classification MNIST vision transfer learning pretrained",
    "user_guide/imbalanced_classes": "imbalanced data rare class weight AUC ranking positives",
    "user_guide/large_data": "out of core memory parquet big data files streaming distributed",
    "user_guide/networks": "neural network deep learning MLP multilayer perceptron",
    "user_guide/noise_scale": "how much noise Gaussian mechanism Laplace sigma calibrate own",
    "user_guide/parallel_fits": "joblib threads multiprocessing n_jobs workers parallel",
    "user_guide/pipelines": "StandardScaler scaler PCA preprocessing ColumnTransformer steps",
    "user_guide/privacy_budget": "composition accountant total spent remaining PrivacyBudget",
    "user_guide/reinforcement_learning": "policy evaluation temporal differences value function",
    "user_guide/reporting": "audit report GDPR compliance officer verify certificate JSON",
    "user_guide/solvers": "which solver choose algorithm optimizer",
    "user_guide/synthetic_data": "generate synthetic rows sampler GAN fake records",
    "user_guide/tabular_data": "missing values NaN categorical features strings boosting trees "
                               "data frame explainable additive GAM",
    "user_guide/user_level_privacy": "group privacy person several rows users patients per "
                                     "customer groups",
    "user_guide/wrappers": "CalibratedClassifierCV BaggingClassifier cross_val_score ensembles",
}


def _add(app, doctree):
    words = _WORDS.get(app.env.docname)
    if words is not None:
        doctree.insert(0, nodes.meta(name="keywords", content=", ".join(words.split())))


def setup(app):
    """Add the words before the index is built."""
    app.connect("doctree-read", _add)
    return {"parallel_read_safe": True}
