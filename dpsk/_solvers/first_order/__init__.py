"""Noisy gradients and steps along them."""

from __future__ import annotations
