"""Noisy gradients at anchors and differences from them."""
