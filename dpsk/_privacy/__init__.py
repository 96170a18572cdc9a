"""Events, accounting, calibration, noise and certificates."""
