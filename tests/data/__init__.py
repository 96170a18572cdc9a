"""Rows on their way in: what is taken, what is refused, and in which words."""
