"""Noisy statistics from one query each: counts, moments, quantiles, categories, tables."""
