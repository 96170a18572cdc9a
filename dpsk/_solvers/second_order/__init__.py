"""Noisy gradients and Hessians."""

from __future__ import annotations
