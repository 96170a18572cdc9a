"""Gradients checked against a hold-out."""

from __future__ import annotations
