"""Sums over rows, of which each adds a vector whose norm is clipped."""
