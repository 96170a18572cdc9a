"""Clustering."""

from dpsk.cluster._kmeans import DPKMeans

__all__ = ["DPKMeans"]
