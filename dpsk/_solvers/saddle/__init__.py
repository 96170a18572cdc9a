"""Descent in one block, ascent in the other."""
