"""Descent in one block, ascent in the other."""

from __future__ import annotations
