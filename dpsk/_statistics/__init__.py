"""Noisy counts, moments, quantiles, categories and tables, each from one query."""
