"""Pipelines whose private steps share one budget."""

from dpsk.pipeline._pipeline import DPPipeline, make_dp_pipeline

__all__ = ["DPPipeline", "make_dp_pipeline"]
