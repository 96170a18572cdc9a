"""Noisy gradients and Hessians."""
