"""Events, accounting, calibration, noise and certificates."""

from __future__ import annotations
