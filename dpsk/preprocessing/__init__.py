"""From raw tables to bounded rows."""

from dpsk.preprocessing._pca import DPPCA
from dpsk.preprocessing._vectorizer import DPTableVectorizer

__all__ = ["DPPCA", "DPTableVectorizer"]
