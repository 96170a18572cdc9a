"""From raw tables to bounded rows."""

from dpsk.preprocessing._imputer import DPSimpleImputer
from dpsk.preprocessing._min_max_scaler import DPMinMaxScaler
from dpsk.preprocessing._one_hot import DPOneHotEncoder
from dpsk.preprocessing._pca import DPPCA
from dpsk.preprocessing._quantile_transformer import DPQuantileTransformer
from dpsk.preprocessing._robust_scaler import DPRobustScaler
from dpsk.preprocessing._spline import DPSplineTransformer
from dpsk.preprocessing._standard_scaler import DPStandardScaler
from dpsk.preprocessing._vectorizer import DPTableVectorizer

__all__ = ["DPPCA", "DPMinMaxScaler", "DPOneHotEncoder", "DPQuantileTransformer",
           "DPRobustScaler", "DPSimpleImputer", "DPSplineTransformer", "DPStandardScaler",
           "DPTableVectorizer"]
