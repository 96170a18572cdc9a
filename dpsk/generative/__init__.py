"""Samplers of synthetic data."""

from dpsk.generative._gaussian import DPGaussianSampler
from dpsk.generative._tree import DPTreeSampler
from dpsk.generative._wgan import DPWGAN

__all__ = ["DPWGAN", "DPGaussianSampler", "DPTreeSampler"]
