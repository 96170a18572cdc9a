"""One release of a result."""

from __future__ import annotations
