"""Gradients checked against a hold-out."""
