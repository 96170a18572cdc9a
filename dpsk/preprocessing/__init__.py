"""From raw tables to bounded rows."""

from dpsk.preprocessing._one_hot import DPOneHotEncoder
from dpsk.preprocessing._pca import DPPCA
from dpsk.preprocessing._spline import DPSplineTransformer
from dpsk.preprocessing._vectorizer import DPTableVectorizer

__all__ = ["DPPCA", "DPOneHotEncoder", "DPSplineTransformer", "DPTableVectorizer"]
