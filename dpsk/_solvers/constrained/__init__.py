"""Steps inside a convex set."""

from __future__ import annotations
