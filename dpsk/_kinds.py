"""Table of scikit-learn's estimators: how each of them uses rows.

A class that is not in the table has no guarantee, wherever it comes from. Classes are compared by
identity: a subclass, a class with the same name, or a class with replaced methods is another one.
"""

from dpsk._origin import is_intact, is_of

__all__ = ["COUNTS", "HIDES", "KEEPS", "KINDS", "LEARNS", "MIXES", "NOTHING", "OURS", "PICKS",
           "WEIGHS", "counts_rows", "is_one_of", "kind_of"]

#: Learns nothing from the entries of rows, and maps each row by itself.
NOTHING = "learns nothing"
#: A wrapper: all its fits are kept, and each counts.
COUNTS = "counts fits"
#: A wrapper that makes fits which it does not keep.
HIDES = "hides fits"
#: A wrapper by which one row changes the weights of others.
WEIGHS = "weighs rows"
#: Chooses columns by exact scores.
PICKS = "picks columns"
#: Stores rows, or values that identify them.
KEEPS = "keeps rows"
#: Maps a row by a function of other rows as well.
MIXES = "mixes rows"
#: Learns from rows without noise.
LEARNS = "learns without noise"
#: A class of this package, whose certificate states its guarantee.
OURS = "of this package"

#: Names of classes by kind, for all supported versions of scikit-learn.
KINDS = {
    NOTHING: """
        AdditiveChi2Sampler Binarizer FeatureHasher FunctionTransformer GaussianRandomProjection
        HashingVectorizer Normalizer PolynomialCountSketch PolynomialFeatures SkewedChi2Sampler
        SparseCoder SparseRandomProjection
        """,
    COUNTS: """
        ColumnTransformer FeatureUnion FixedThresholdClassifier FrozenEstimator
        MultiOutputClassifier MultiOutputRegressor OneVsOneClassifier OneVsRestClassifier
        OutputCodeClassifier Pipeline TransformedTargetRegressor VotingClassifier VotingRegressor
        """,
    HIDES: """
        CalibratedClassifierCV ClassifierChain GridSearchCV HalvingGridSearchCV
        HalvingRandomSearchCV IterativeImputer RANSACRegressor RandomizedSearchCV RegressorChain
        SelfTrainingClassifier StackingClassifier StackingRegressor TunedThresholdClassifierCV
        """,
    WEIGHS: """
        AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor
        """,
    PICKS: """
        GenericUnivariateSelect RFE RFECV SelectFdr SelectFpr SelectFromModel SelectFwe SelectKBest
        SelectPercentile SequentialFeatureSelector VarianceThreshold
        """,
    KEEPS: """
        AffinityPropagation AgglomerativeClustering Birch ClassicalMDS DBSCAN FeatureAgglomeration
        GaussianProcessClassifier GaussianProcessRegressor HDBSCAN Isomap IsotonicRegression
        KNNImputer KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer KernelDensity
        KernelPCA KernelRidge LabelPropagation LabelSpreading LocalOutlierFactor
        LocallyLinearEmbedding MDS MeanShift NearestNeighbors NuSVC NuSVR Nystroem OPTICS
        OneClassSVM RadiusNeighborsClassifier RadiusNeighborsRegressor RadiusNeighborsTransformer
        SVC SVR SpectralBiclustering SpectralClustering SpectralCoclustering SpectralEmbedding TSNE
        """,
    MIXES: """
        KernelCenterer MiniBatchNMF NMF PatchExtractor
        """,
    LEARNS: """
        ARDRegression BayesianGaussianMixture BayesianRidge BernoulliNB BernoulliRBM
        BisectingKMeans CCA CategoricalNB ComplementNB CountVectorizer DecisionTreeClassifier
        DecisionTreeRegressor DictVectorizer DictionaryLearning DummyClassifier DummyRegressor
        ElasticNet ElasticNetCV EllipticEnvelope EmpiricalCovariance ExtraTreeClassifier
        ExtraTreeRegressor ExtraTreesClassifier ExtraTreesRegressor FactorAnalysis FastICA
        GammaRegressor GaussianMixture GaussianNB GradientBoostingClassifier
        GradientBoostingRegressor GraphicalLasso GraphicalLassoCV HistGradientBoostingClassifier
        HistGradientBoostingRegressor HuberRegressor IncrementalPCA IsolationForest
        KBinsDiscretizer KMeans LabelBinarizer LabelEncoder Lars LarsCV Lasso LassoCV LassoLars
        LassoLarsCV LassoLarsIC LatentDirichletAllocation LedoitWolf LinearDiscriminantAnalysis
        LinearRegression LinearSVC LinearSVR LogisticRegression LogisticRegressionCV MLPClassifier
        MLPRegressor MaxAbsScaler MinCovDet MinMaxScaler MiniBatchDictionaryLearning
        MiniBatchKMeans MiniBatchSparsePCA MissingIndicator MultiLabelBinarizer MultiTaskElasticNet
        MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV MultinomialNB NearestCentroid
        NeighborhoodComponentsAnalysis OAS OneHotEncoder OrdinalEncoder OrthogonalMatchingPursuit
        OrthogonalMatchingPursuitCV PCA PLSCanonical PLSRegression PLSSVD
        PassiveAggressiveClassifier PassiveAggressiveRegressor Perceptron PoissonRegressor
        PowerTransformer QuadraticDiscriminantAnalysis QuantileRegressor QuantileTransformer
        RBFSampler RandomForestClassifier RandomForestRegressor RandomTreesEmbedding Ridge RidgeCV
        RidgeClassifier RidgeClassifierCV RobustScaler SGDClassifier SGDOneClassSVM SGDRegressor
        ShrunkCovariance SimpleImputer SparsePCA SplineTransformer StandardScaler TargetEncoder
        TfidfTransformer TfidfVectorizer TheilSenRegressor TruncatedSVD TweedieRegressor
        """,
}
_KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}


def kind_of(cls):
    """Return how a class uses rows, None if that is unknown.

    Parameters
    ----------
    cls : type
        The result of ``type(fitted)``, which an object cannot fake.

    Returns
    -------
    kind : str or None
        One of `KINDS`, or `OURS`.
    """
    if is_of(cls, "dpsk"):
        return OURS if is_intact(cls) else None
    return _KIND_OF.get(cls.__name__) if is_of(cls, "sklearn") and is_intact(cls) else None


def counts_rows(step):
    """Return whether the columns that a step makes are as many as follows from how many rows.

    It learns nothing else; of rows in groups their number is private. So are random projections.
    """
    return kind_of(type(step)) == NOTHING and getattr(step, "n_components", None) == "auto"


def is_one_of(cls, known):
    """Return whether a class is one of `known`, by identity: a metaclass may redefine equality."""
    return any(cls is each for each in known)
