"""Input data: validated, encoded, and read block by block."""
