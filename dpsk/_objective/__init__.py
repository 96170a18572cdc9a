"""Losses and penalties: pure mathematics, which knows neither rows nor privacy."""
