"""Solvers that train a generator against a critic."""

from __future__ import annotations
