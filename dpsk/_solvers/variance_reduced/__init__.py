"""Noisy gradients at anchors and differences from them."""

from __future__ import annotations
