"""Noisy gradients and steps along them."""
