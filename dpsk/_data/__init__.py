"""Rows on their way in: checked, encoded, and read block by block."""
