"""Solvers that train a generator against a critic."""
