"""Statistics that are released once: counts, moments, quantiles, categories, pairs, tables."""
